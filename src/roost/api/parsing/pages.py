"""Orders of candidates, and the texts by which a client asks for the next page of them."""

import hashlib
import math
import secrets

import msgspec
from msgspec.structs import replace as evolve

from roost.api.http.error_response import HttpError
from roost.api.http.error_table import QUERY_BAD_VALUE
from roost.api.parsing.query_string import Parameters, once
from roost.api.parsing.tokens import read_token, write_token
from roost.api.schemas import is_uuid
from roost.query import CandidateQuery, Cursor, Order, OrderBy

# A seed is a number of this many bits at most; one that the server draws has fewer.
SEED_MAX = 2**63 - 1
_SEED_BITS = 32


def with_order(parameters: Parameters, query: CandidateQuery) -> CandidateQuery:
    """The query with `order` and `after`, as far as they are given."""
    text, token = once(parameters, "order"), once(parameters, "after")
    if text is None:
        if token is not None:
            raise _bad("'after' goes on with an ordered answer: repeat the 'order' of the request.")
        return query
    by, _, seed = text.partition(":")
    if seed and int(seed) > SEED_MAX:
        raise _bad(f"The seed in 'order' is larger than {SEED_MAX}. Got: {text}")
    if token is None:
        drawn = secrets.randbits(_SEED_BITS) if by == OrderBy.RANDOM and not seed else 0
        return evolve(query, order=Order(by=OrderBy(by), seed=int(seed) if seed else drawn))
    known, position = _read(token, query, by)
    if seed and int(seed) != known:
        raise _other_request()
    return evolve(query, order=Order(by=OrderBy(by), seed=known), after=position)


def next_page(query: CandidateQuery, position: Cursor) -> str:
    """The `after` of the page behind this place."""
    assert query.order is not None
    fields = [
        _fingerprint(query, query.order.by),
        query.order.seed,
        position.pieces,
        position.turn,
        position.rank,
        position.root,
    ]
    return write_token(msgspec.json.encode(fields))


def _read(token: str, query: CandidateQuery, by: str) -> tuple[int, Cursor]:
    try:
        fingerprint, seed, pieces, turn, rank, root = msgspec.json.decode(
            read_token(token), type=tuple[str, int, int, int, float, str]
        )
    except (ValueError, msgspec.DecodeError):
        raise _not_a_page(token) from None
    small = all(0 <= number <= SEED_MAX for number in (seed, pieces, turn))
    if not small or not math.isfinite(rank) or not is_uuid(root):
        raise _not_a_page(token)
    if fingerprint != _fingerprint(query, by):
        raise _other_request()
    return seed, Cursor(pieces=pieces, turn=turn, rank=rank, root=root)


def _fingerprint(query: CandidateQuery, by: str) -> str:
    """The same for every page of one answer: how long a page is may change."""
    bare = evolve(query, order=None, after=None, limit=None)
    data = msgspec.json.encode([by, bare], order="deterministic")
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _not_a_page(token: str) -> HttpError:
    return _bad(f"'after' is not what an answer gave as 'next'. Got: {token[:80]}")


def _other_request() -> HttpError:
    return _bad("'after' was given for another request: repeat all but 'limit'.")


def _bad(message: str) -> HttpError:
    return HttpError(400, message, QUERY_BAD_VALUE)
