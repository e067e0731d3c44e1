"""Texts that a client gets from one answer and sends with the next request.

Clients need not understand them: a position in the change feed (`after` of GET /events), the cursor
behind a page of candidates (`after` of /allocation_candidates), and the last entry of a page of a
list (`after` of /resource_providers, for example). They fit into a URL.
"""

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace as evolve

from roost.api.http_error import ErrorCode, HttpError
from roost.api.schemas.events import POSITION_LENGTH_MAX
from roost.query import CandidateQuery, Cursor
from roost.uuids import is_uuid

FeedPosition = Mapping[int, int]  # the number of the last change seen, by writer

_POSITION_DECODER = msgspec.msgpack.Decoder(list[tuple[int, int]])
_CURSOR_DECODER = msgspec.json.Decoder(tuple[str, int, int, int, float, str])

_PAGE_DECODER = msgspec.json.Decoder(tuple[str, int])

_NUMBER_MAX = 2**63 - 1

# The parameters that may differ between two pages of one list.
_PAGE_PARAMETERS = ("limit", "after")


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(token: str) -> bytes:
    """The data of a token; a `ValueError` if the text is not one."""
    return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)


# ---------------------------------------------------------------------------------------------
# Positions in the change feed


def encode_position(position: FeedPosition) -> str:
    # Zero is where every writer begins, so it needs no entry.
    pairs = sorted((writer, number) for writer, number in position.items() if number)
    return _encode(msgspec.msgpack.encode(pairs))


def decode_position(token: str) -> FeedPosition:
    # The header with the position of a stream is checked by no schema.
    if len(token) > POSITION_LENGTH_MAX:
        raise _not_a_position(token)
    try:
        pairs = _POSITION_DECODER.decode(_decode(token))
    except (ValueError, msgspec.DecodeError):
        raise _not_a_position(token) from None
    if any(not 0 <= number <= _NUMBER_MAX for pair in pairs for number in pair):
        raise _not_a_position(token)
    return dict(pairs)


def _not_a_position(token: str) -> HttpError:
    return HttpError(
        400,
        "Invalid query string parameters: 'after' is no position that GET /events gave. Got: "
        f"{token[:80]}",
        ErrorCode.QUERY_BAD_VALUE,
    )


# ---------------------------------------------------------------------------------------------
# Cursors behind a page of candidates


def encode_cursor(query: CandidateQuery, cursor: Cursor) -> str:
    """The `after` of the page that begins behind this cursor."""
    assert query.order is not None
    fields = [
        _fingerprint(query, query.order.by),
        query.order.seed,
        cursor.pieces,
        cursor.turn,
        cursor.rank,
        cursor.root,
    ]
    return _encode(msgspec.json.encode(fields))


def decode_cursor(token: str, query: CandidateQuery, by: str) -> tuple[int, Cursor]:
    """The seed of the order, and the cursor; `by` is the order that the request names."""
    try:
        fingerprint, seed, pieces, turn, rank, root = _CURSOR_DECODER.decode(_decode(token))
    except (ValueError, msgspec.DecodeError):
        raise _not_a_cursor(token) from None
    in_range = all(0 <= number <= _NUMBER_MAX for number in (seed, pieces, turn))
    if not in_range or not math.isfinite(rank) or not is_uuid(root):
        raise _not_a_cursor(token)
    if fingerprint != _fingerprint(query, by):
        raise cursor_of_another_request()
    return seed, Cursor(pieces=pieces, turn=turn, rank=rank, root=root)


def _fingerprint(query: CandidateQuery, by: str) -> str:
    """A digest that all pages of one answer share; their limits may differ."""
    return _digest([by, evolve(query, order=None, after=None, limit=None)])


# ---------------------------------------------------------------------------------------------
# Pages of a list in the order of ids


def page_token(name: str, parameters: Mapping[str, Sequence[str]], last_id: int) -> str:
    """The `after` of the page of the list `name` that begins behind the entry with this id."""
    return _encode(msgspec.json.encode([_page_fingerprint(name, parameters), last_id]))


def parse_page_token(token: str, name: str, parameters: Mapping[str, Sequence[str]]) -> int:
    """The id of the last entry that the client has; the parameters are those it sends now."""
    try:
        fingerprint, last_id = _PAGE_DECODER.decode(_decode(token))
    except (ValueError, msgspec.DecodeError):
        raise _not_a_cursor(token) from None
    if not 0 <= last_id <= _NUMBER_MAX:
        raise _not_a_cursor(token)
    if fingerprint != _page_fingerprint(name, parameters):
        raise cursor_of_another_request()
    return last_id


def _page_fingerprint(name: str, parameters: Mapping[str, Sequence[str]]) -> str:
    bare = {key: values for key, values in parameters.items() if key not in _PAGE_PARAMETERS}
    return _digest([name, bare])


# ---------------------------------------------------------------------------------------------
# What cursors and pages share


def _digest(request: object) -> str:
    data = msgspec.json.encode(request, order="deterministic")
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _not_a_cursor(token: str) -> HttpError:
    return HttpError(
        400,
        f"'after' is not what an answer gave as 'next'. Got: {token[:80]}",
        ErrorCode.QUERY_BAD_VALUE,
    )


def cursor_of_another_request() -> HttpError:
    return HttpError(
        400,
        "'after' was given for another request: repeat all but 'limit'.",
        ErrorCode.QUERY_BAD_VALUE,
    )
