"""Routes that answer where a request fits; all but the first are extensions of roost."""

from roost.api.handlers import candidates, events, explain, placements
from roost.api.handlers.root import Extension
from roost.api.routes.route import PolicyRule, Route
from roost.api.schemas import candidates as candidate_schemas
from roost.api.schemas import events as event_schemas
from roost.api.schemas import explain as explain_schemas
from roost.api.schemas import in_all_versions
from roost.api.schemas import placements as placement_schemas

_CANDIDATES = "/allocation_candidates"
_EXPLAIN = "/allocation_candidates/explain"

_LIST = PolicyRule(
    "placement:allocation_candidates:list", "Find where a request fits, how often, or why not."
)

ROUTES = (
    Route(
        "GET",
        _CANDIDATES,
        candidates.get,
        _LIST,
        "Find where a request fits.",
        "Parameters without a suffix are one group, which any providers of a tree may serve "
        "together. From 1.25 on, parameters with the same suffix are another group each, which one "
        "provider serves. Each candidate of the answer can be sent as the allocations of a "
        "consumer.",
        since=(1, 10),
        query=candidate_schemas.documented,
        answer=candidate_schemas.answer,
        may_take_long=True,
    ),
    Route(
        "POST",
        _CANDIDATES,
        candidates.post,
        _LIST,
        "Find where a request fits that is too long for a URL.",
        "The fields have the names of the query parameters. Groups are keyed by their suffixes, "
        "the one without a suffix by the empty string.",
        since=(1, 39),
        status_before=405,
        body=in_all_versions(candidate_schemas.POST),
        answer=candidate_schemas.answer,
        extension=Extension.POST_CANDIDATES,
        may_take_long=True,
    ),
    Route(
        "GET",
        _EXPLAIN,
        explain.get,
        _LIST,
        "Explain why a request does not fit.",
        "How many trees and providers each rule leaves, which trees come nearest, and which single "
        "change of the request would give a candidate. With `tree`, why it does not fit that tree.",
        since=(1, 39),
        query=in_all_versions(explain_schemas.QUERY),
        answer=in_all_versions(explain_schemas.EXPLANATION),
        extension=Extension.EXPLAIN,
        may_take_long=True,
    ),
    Route(
        "POST",
        _EXPLAIN,
        explain.post,
        _LIST,
        "Explain why a request does not fit that is too long for a URL.",
        "The body is that of `POST /allocation_candidates`, with `tree` as a further field.",
        since=(1, 39),
        body=in_all_versions(explain_schemas.POST),
        answer=in_all_versions(explain_schemas.EXPLANATION),
        extension=Extension.EXPLAIN,
        may_take_long=True,
    ),
    Route(
        "GET",
        "/capacity",
        candidates.get_capacity,
        _LIST,
        "Count how many more of a request fit.",
        "In all and by tree. Nothing is claimed. The count stops at `limit`.",
        since=(1, 39),
        query=in_all_versions(candidate_schemas.EXTENDED),
        answer=in_all_versions(candidate_schemas.CAPACITY),
        extension=Extension.CAPACITY,
        operation_id="capacity.get",
        may_take_long=True,
    ),
    Route(
        "POST",
        "/capacity",
        candidates.post_capacity,
        _LIST,
        "Count how many more fit of a request that is too long for a URL.",
        "The body is that of `POST /allocation_candidates`.",
        since=(1, 39),
        body=in_all_versions(candidate_schemas.POST),
        answer=in_all_versions(candidate_schemas.CAPACITY),
        extension=Extension.CAPACITY,
        operation_id="capacity.post",
        may_take_long=True,
    ),
    Route(
        "POST",
        "/placements",
        placements.post,
        PolicyRule("placement:placements:create"),
        "Choose candidates for consumers and claim them.",
        "All consumers are placed, or none. With an idempotency key, a repeated request gets the "
        "answer of the first.",
        since=(1, 39),
        body=in_all_versions(placement_schemas.POST),
        answer=in_all_versions(placement_schemas.PLACEMENTS),
        shows_state=False,
        extension=Extension.PLACEMENTS,
        may_be_large=True,
        may_take_long=True,
    ),
    Route(
        "GET",
        "/events",
        events.get,
        PolicyRule("placement:events:list"),
        "Watch what changes.",
        "The events after a position, as JSON, or as a stream of server-sent events for a client "
        "that prefers text/event-stream. Without `after`, the current position and no events.",
        since=(1, 39),
        query=in_all_versions(event_schemas.QUERY),
        answer=in_all_versions(event_schemas.EVENTS),
        streams_events=True,
        extension=Extension.EVENTS,
    ),
)
