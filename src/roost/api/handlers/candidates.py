"""/allocation_candidates and /capacity: where a request fits, and how many more of it."""

import functools
from collections.abc import Iterator
from typing import Any

import msgspec

from roost.api.http import pieces
from roost.api.http.error_wording import reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.parsing import bodies, candidate_query, query_string, tokens
from roost.api.parsing.query_extensions import is_extended
from roost.api.versions import VERSION_MAX, Version
from roost.model import Candidate, ProviderSummary
from roost.operations import candidates
from roost.operations.candidates import WrittenCandidates, count_capacity, find_candidates
from roost.query import CandidateQuery, OrderBy
from roost.service.service import Roost

# Clients ask for the same few sizes of machines again and again, in the same words. Longer query
# strings are rare, and are read each time.
QUERIES_CACHED = 256
CACHED_LENGTH_MAX = 2048

_BEGIN = b'{"allocation_requests": ['
_BETWEEN = b'], "provider_summaries": {'


def get(roost: Roost, request: Request) -> Reply:
    query, layout, extended = read_query(request.query_string, request.version)
    return _find(roost, query, layout, extended=extended)


def read_query(text: str, version: Version) -> tuple[CandidateQuery, "JsonLayout", bool]:
    """The query, how its answer is written, and whether it uses an extension."""
    if len(text) > CACHED_LENGTH_MAX:
        return _read(text, version)
    found = _read_cached(text, version)
    order = found[0].order
    if order is not None and order.by is OrderBy.RANDOM:
        # Its seed may have been drawn for another request.
        return _read(text, version)
    return found


def _read(text: str, version: Version) -> tuple[CandidateQuery, "JsonLayout", bool]:
    # The schema of the route describes the extensions too; a query without them has its own.
    parameters = query_string.split(text)
    extended = is_extended(parameters, version)
    query = candidate_query.parse_parameters(parameters, version, extended=extended)
    return query, JsonLayout(query, version), extended


_read_cached = functools.lru_cache(QUERIES_CACHED)(_read)


def post(roost: Roost, request: Request) -> Reply:
    body = bodies.read(request.body, request.body_schema)
    query = candidate_query.parse_parameters(
        candidate_query.parameters_of(body), request.version, extended=True
    )
    return _find(roost, query, JsonLayout(query, request.version), extended=True)


def get_capacity(roost: Roost, request: Request) -> Reply:
    return _count(roost, query_string.split(request.query_string))


def post_capacity(roost: Roost, request: Request) -> Reply:
    body = bodies.read(request.body, request.body_schema)
    return _count(roost, candidate_query.parameters_of(body))


def _find(roost: Roost, query: CandidateQuery, layout: "JsonLayout", *, extended: bool) -> Reply:
    wordings = candidate_query.EXTENSION_WORDINGS if extended else candidate_query.WORDINGS
    with reword_errors(wordings):
        found = find_candidates(roost, query=query, layout=layout)
    end = _end(query, found)
    length = found.candidates_length + found.summaries_length
    length += len(_BEGIN) + len(_BETWEEN) + len(end)
    rendered = render(found, end)
    if length <= candidates.SMALL_BYTES_MAX:
        return Reply(body=b"".join(rendered), shows_state=True)
    return Reply(pieces=rendered, length=length, shows_state=True)


def _count(roost: Roost, parameters: query_string.Parameters) -> Reply:
    query = candidate_query.parse_parameters(parameters, VERSION_MAX, extended=True)
    with reword_errors(candidate_query.EXTENSION_WORDINGS):
        found = count_capacity(roost, query=query)
    return Reply(body=found, shows_state=True)


def _end(query: CandidateQuery, found: WrittenCandidates) -> bytes:
    """What follows the summaries, from their closing brace on."""
    end = b"}"
    if found.complete is not None:
        end += b', "complete": ' + msgspec.json.encode(found.complete)
    if found.next is not None:
        end += b', "next": "' + tokens.encode_cursor(query, found.next).encode() + b'"'
    return end + b"}"


def render(found: WrittenCandidates, end: bytes) -> Iterator[bytes]:
    """The answer as JSON, in pieces."""
    if isinstance(found.candidates, list):
        # They are written already, and are copied once.
        yield b"".join([_BEGIN, pieces.SEPARATOR.join(found.candidates), _BETWEEN])
    else:
        yield from pieces.enclosed(_BEGIN, found.candidates, _BETWEEN)
    yield from pieces.joined(found.summaries, end)


class JsonLayout:
    """Candidates and summaries as JSON, as a version shows them."""

    def __init__(self, query: CandidateQuery, version: Version) -> None:
        self._version = version
        # Before 1.27 a summary shows only the classes that the query asks for.
        self._asked = frozenset(name for group in query.groups for name in group.resources)
        self.key = f"JSON {version}" if version >= (1, 27) else None
        # The search keeps the texts of candidates here, by their shapes.
        self.templates: dict[tuple[int, ...], tuple[list[str], list[int]]] = {}

    def candidate(self, candidate: Candidate) -> str:
        if self._version < (1, 12):
            request: dict[str, Any] = {
                "allocations": [
                    {"resource_provider": {"uuid": uuid}, "resources": resources}
                    for uuid, resources in candidate.allocations.items()
                ]
            }
        else:
            request = {
                "allocations": {
                    uuid: {"resources": resources}
                    for uuid, resources in candidate.allocations.items()
                }
            }
        if self._version >= (1, 34):
            request["mappings"] = candidate.mappings
        return msgspec.json.encode(request).decode()

    def summary(self, summary: ProviderSummary) -> bytes:
        shown: dict[str, Any] = {
            "resources": {
                name: {"capacity": capacity, "used": used}
                for name, (capacity, used) in summary.resources.items()
                if self._version >= (1, 27) or name in self._asked
            }
        }
        if self._version >= (1, 17):
            shown["traits"] = summary.traits
        if self._version >= (1, 29):
            shown["parent_provider_uuid"] = summary.parent_uuid
            shown["root_provider_uuid"] = summary.root_uuid
        return msgspec.json.encode(summary.uuid) + b": " + msgspec.json.encode(shown)
