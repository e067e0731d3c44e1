"""POST /placements: choose and claim in one call."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from roost.api.http.error_wording import reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.http_error import HttpError
from roost.api.parsing import bodies, candidate_query, query_string
from roost.api.parsing.allocations import check_consumer_uuid, refuse_twice
from roost.api.versions import Version
from roost.model import NewConsumer, Placed
from roost.operations.placing.candidates import IdempotencyKey, PlacementRequest
from roost.operations.placing.placements import place
from roost.query import CandidateQuery, OrderBy
from roost.service.service import Roost


def post(roost: Roost, request: Request) -> Reply:
    body = bodies.read(request.body, request.body_schema)
    placement = parse(body, request.version)
    with reword_errors(candidate_query.EXTENSION_WORDINGS):
        placed = place(roost, request=placement)
    return Reply(body={"placements": {each.consumer_uuid: render(each) for each in placed}})


def parse(body: Mapping[str, Any], version: Version) -> PlacementRequest:
    query = _parse_query(body, version)
    return PlacementRequest(
        query=query,
        consumers=_parse_consumers(body["consumers"]),
        apart="spread" in body,
        # To pack is to use a candidate as often as it fits. In any other order each candidate is
        # used once before any is used again.
        fill=query.order is not None and query.order.by is OrderBy.PACK,
        key=_key(body),
    )


def _parse_query(body: Mapping[str, Any], version: Version) -> CandidateQuery:
    """The search: as a query string, or as the body of POST /allocation_candidates."""
    given = body["query"]
    if isinstance(given, str):
        # WSGI hands over the bytes of a URL as latin-1, and `split` expects that.
        parameters = dict(query_string.split(given.encode().decode("latin-1")))
    else:
        parameters = dict(candidate_query.parameters_of(given))
    if "order" in body:
        if "order" in parameters:
            raise HttpError(400, "The order is given twice: in 'order', and in 'query'.")
        parameters["order"] = [body["order"]]
    if "after" in parameters:
        raise HttpError(400, "'after' asks for a page of candidates, which a placement has not.")
    # The call is an extension itself, so its query may use the others in either form.
    return candidate_query.parse_parameters(parameters, version, extended=True)


def _parse_consumers(consumers: Mapping[str, Any]) -> tuple[NewConsumer, ...]:
    for uuid in consumers:
        check_consumer_uuid(uuid)
    refuse_twice(consumers)
    return tuple(NewConsumer(uuid=uuid, **fields) for uuid, fields in consumers.items())


def _key(body: Mapping[str, Any]) -> IdempotencyKey | None:
    key = body.get("idempotency_key")
    if key is None:
        return None
    return IdempotencyKey(
        key_digest=_digest(key.encode()),
        # Sorted, because objects whose fields come in another order are equal.
        body_digest=_digest(msgspec.json.encode(body, order="sorted")),
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def render(placed: Placed) -> dict[str, Any]:
    allocations = placed.candidate.allocations
    return {
        "allocations": {uuid: {"resources": held} for uuid, held in allocations.items()},
        "mappings": placed.candidate.mappings,
    }
