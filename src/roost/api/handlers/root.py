"""GET /: the versions of the API, and the extensions that roost has beyond them."""

from enum import StrEnum

from roost.api.http.messages import Reply, Request
from roost.api.versions import VERSION_MAX, VERSION_MIN
from roost.service.service import Roost


class Extension(StrEnum):
    """What roost can do beyond 1.39, all of it opt-in, as ordered in `docs/reference/beyond.md`."""

    ROOT_MEMBER_OF = "root_member_of"  # aggregates of the root of the tree
    ROOT_REQUIRED_IN = "root_required_in"  # root_required=in:A,B, and repeated
    ISOLATE = "isolate"  # groups that are served by different providers
    SAME_SUBTREE_NOT = "same_subtree_not"  # same_subtree=_A,!_B: _B is served from elsewhere
    IN_SUBTREE = "in_subtree"  # a group that is served from at or below one provider
    CAN_SPLIT = "can_split"  # an amount that several providers of one tree serve together
    RESOURCELESS_UNSUFFIXED = "resourceless_unsuffixed"  # what any provider of the tree may meet
    GROUP_POLICY_OPTIONAL = "group_policy_optional"  # it is `none` where an extension is used
    ORDER = "order"  # candidates in an order that the client chooses, a page at a time
    POST_CANDIDATES = "post_candidates"  # for requests that are too long for a URL
    EXPLAIN = "explain"  # why a request does not fit
    CAPACITY = "capacity"  # how many more of a request fit
    PLACEMENTS = "placements"  # choose and claim in one call
    EVENTS = "events"  # the change feed, as a stream
    INCLUDE = "include"  # a list of providers with everything they have, a page at a time
    LIST_ALLOCATIONS = "list_allocations"  # consumers with what they hold, a page at a time
    SUMMARY = "summary"  # what all providers have together
    HOLDS = "holds"  # claims in a tree wait for a reshape


def get(roost: Roost, request: Request) -> Reply:
    version = {
        "id": "v1.0",
        "max_version": str(VERSION_MAX),
        "min_version": str(VERSION_MIN),
        "status": "CURRENT",
        "links": [{"rel": "self", "href": ""}],
    }
    return Reply(body={"versions": [version], "extensions": list(Extension)}, shows_state=True)
