"""POST /placements: choose and claim in one call."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from roost.api.handlers import candidates
from roost.api.http.error_response import HttpError
from roost.api.http.error_wording import worded
from roost.api.http.messages import Reply, Request
from roost.api.parsing import bodies, query_string
from roost.api.parsing.candidates_body import parameters_of
from roost.api.parsing.query_extensions import is_extended
from roost.api.schemas import canonical_uuid, is_uuid
from roost.api.schemas.placements import POST
from roost.api.versions import Version
from roost.model import NewConsumer, Placed
from roost.operations.placement_candidates import Key, PlacementRequest
from roost.operations.placements import place
from roost.query import CandidateQuery, OrderBy
from roost.service.service import Roost


def post(roost: Roost, request: Request) -> Reply:
    wish = parse(bodies.read(request.body, POST), request.version)
    with worded(candidates.WORDINGS):
        placed = place(roost, wish=wish)
    return Reply(body={"placements": {each.consumer_uuid: render(each) for each in placed}})


def parse(body: Mapping[str, Any], version: Version) -> PlacementRequest:
    query = _parse_query(body, version)
    return PlacementRequest(
        query=query,
        consumers=_parse_consumers(body["consumers"]),
        apart="spread" in body,
        # Who packs takes a candidate as often as it fits; in other orders all have a turn first.
        fill=query.order is not None and query.order.by == OrderBy.PACK,
        key=_key(body),
    )


def _parse_query(body: Mapping[str, Any], version: Version) -> CandidateQuery:
    """What a search is asked: as it stands in a URL, or as it is posted."""
    given = body["query"]
    if isinstance(given, str):
        # In the form in which WSGI hands over what stands in a URL.
        parameters = dict(query_string.split(given.encode().decode("latin-1")))
    else:
        parameters = dict(parameters_of(given))
    if "order" in body:
        if "order" in parameters:
            raise HttpError(400, "The order is given twice: in 'order', and in 'query'.")
        parameters["order"] = [body["order"]]
    if "after" in parameters:
        raise HttpError(400, "'after' asks for a page of candidates, which a placement has not.")
    extended = not isinstance(given, str) or is_extended(parameters, version)
    return candidates.parse_parameters(parameters, version, extended=extended)


def _parse_consumers(consumers: Mapping[str, Any]) -> tuple[NewConsumer, ...]:
    found = {}
    for uuid, fields in consumers.items():
        if not is_uuid(uuid):
            raise HttpError(400, f"Malformed consumer_uuid: {uuid} is not a UUID")
        consumer = NewConsumer(uuid=canonical_uuid(uuid), **fields)
        if consumer.uuid in found:
            raise HttpError(400, f"The consumer {consumer.uuid} is given twice")
        found[consumer.uuid] = consumer
    return tuple(found.values())


def _key(body: Mapping[str, Any]) -> Key | None:
    key = body.get("idempotency_key")
    if key is None:
        return None
    return Key(
        key_digest=_digest(key.encode()),
        # The order in which the fields of an object come does not make it another one.
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
