"""What roost does beyond the API of 1.39: listed on `GET /`, and there only when asked for."""

# By name, in the order in which `docs/beyond.md` tells of them.
EXTENSIONS = {
    "root_member_of": "aggregates of the root of the tree",
    "root_required_in": "root_required=in:A,B, and repeated",
    "isolate": "groups that are served by different providers",
    "same_subtree_not": "same_subtree=_A,!_B: a group that is served from elsewhere",
    "in_subtree": "a group that is served from below one provider",
    "can_split": "amounts that several providers of one tree give together",
    "group_policy_optional": "group_policy is none where an extension is used",
    "order": "candidates in an order of one's choice, a page at a time",
    "post_candidates": "POST /allocation_candidates for requests that do not fit a URL",
    "explain": "/allocation_candidates/explain: why a request does not fit",
    "capacity": "/capacity: how many more of a request fit",
    "placements": "POST /placements chooses and claims in one call",
    "events": "GET /events: what changes, as a stream",
}
