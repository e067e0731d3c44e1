"""POST /placements: choose and claim in one call."""

import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from roost.api.handlers.candidates import CACHED_LENGTH_MAX, QUERIES_CACHED
from roost.api.http.error_wording import reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.http_error import HttpError
from roost.api.parsing import candidate_query, placements, query_string
from roost.api.schemas.bounds import PLACED_AMOUNTS_MAX
from roost.api.versions import Version
from roost.model import Candidate, Placed
from roost.operations.placing.candidates import IdempotencyKey, PlacementRequest
from roost.operations.placing.placements import place
from roost.query import CandidateQuery, OrderBy
from roost.service.service import Roost


def post(roost: Roost, request: Request) -> Reply:
    placement = read(request)
    with reword_errors(candidate_query.EXTENSION_WORDINGS):
        placed = place(roost, request=placement)
    return Reply(body=written(placed))


def read(request: Request) -> PlacementRequest:
    body, consumers = placements.read(request.body, request.body_schema)
    query = _parse_query(body, request.version)
    _refuse_too_much(query, len(consumers))
    return PlacementRequest(
        query=query,
        consumers=consumers,
        apart="spread" in body,
        # To pack is to use a candidate as often as it fits. In any other order each candidate is
        # used once before any is used again.
        fill=query.order is not None and query.order.by is OrderBy.PACK,
        key=_key(body),
    )


def _parse_query(body: Mapping[str, Any], version: Version) -> CandidateQuery:
    """The search: as a query string, or as the body of POST /allocation_candidates."""
    given, order = body["query"], body.get("order")
    if not isinstance(given, str):
        return _parse_parameters(dict(candidate_query.parameters_of(given)), order, version)
    if len(given) > CACHED_LENGTH_MAX:
        return _parse_text(given, order, version)
    found = _parse_cached(given, order, version)
    if found.order is not None and found.order.by is OrderBy.RANDOM:
        # Its seed may have been drawn for another request.
        return _parse_text(given, order, version)
    return found


def _parse_text(given: str, order: str | None, version: Version) -> CandidateQuery:
    # WSGI hands over the bytes of a URL as latin-1, and `split` expects that.
    parameters = query_string.split(given.encode().decode("latin-1"))
    return _parse_parameters(dict(parameters), order, version)


_parse_cached = functools.lru_cache(QUERIES_CACHED)(_parse_text)


def _parse_parameters(
    parameters: dict[str, Sequence[str]], order: str | None, version: Version
) -> CandidateQuery:
    if order is not None:
        if "order" in parameters:
            raise HttpError(400, "The order is given twice: in 'order', and in 'query'.")
        parameters["order"] = [order]
    if "after" in parameters:
        raise HttpError(400, "'after' asks for a page of candidates, which a placement has not.")
    # The call is an extension itself, so its query may use the others in either form.
    return candidate_query.parse_parameters(parameters, version, extended=True)


def _refuse_too_much(query: CandidateQuery, consumer_count: int) -> None:
    """All of it is claimed in one transaction, and stored in one row under an idempotency key."""
    each = len(query.groups) + sum(len(group.resources) for group in query.groups)
    if each * consumer_count > PLACED_AMOUNTS_MAX:
        raise HttpError(
            400,
            f"{consumer_count} consumers with {each} groups and amounts each are too much for one "
            f"request: {each * consumer_count}, expected at most {PLACED_AMOUNTS_MAX}.",
        )


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


def written(placed: Sequence[Placed]) -> bytes:
    """The answer. Many consumers may have the same candidate, which is encoded once."""
    texts: dict[int, str] = {}
    parts = []
    for each in placed:
        # Objects rather than values: all of them live until this is done.
        text = texts.get(id(each.candidate))
        if text is None:
            text = texts[id(each.candidate)] = msgspec.json.encode(_render(each.candidate)).decode()
        # The schema allows hexadecimal digits and dashes, so there is nothing to escape.
        parts.append(f'"{each.consumer_uuid}":{text}')
    return f'{{"placements":{{{",".join(parts)}}}}}'.encode()


def _render(candidate: Candidate) -> dict[str, Any]:
    allocations = candidate.allocations
    return {
        "allocations": {uuid: {"resources": held} for uuid, held in allocations.items()},
        "mappings": candidate.mappings,
    }
