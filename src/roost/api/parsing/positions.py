"""Positions in the change feed as texts that a client hands back, and need not understand."""

import msgspec

from roost.api.http.error_response import HttpError
from roost.api.http.error_table import QUERY_BAD_VALUE
from roost.api.parsing.tokens import read_token, write_token

FeedPosition = dict[int, int]

_DECODER = msgspec.msgpack.Decoder(list[tuple[int, int]])


def write(position: FeedPosition) -> str:
    # Who has not written yet is where everybody begins.
    pairs = sorted((writer, number) for writer, number in position.items() if number)
    return write_token(msgspec.msgpack.encode(pairs))


def read(text: str) -> FeedPosition:
    try:
        pairs = _DECODER.decode(read_token(text))
    except (ValueError, msgspec.DecodeError):
        raise _no_position(text) from None
    if any(not 0 <= number < 2**63 for pair in pairs for number in pair):
        raise _no_position(text)
    return dict(pairs)


def _no_position(text: str) -> HttpError:
    return HttpError(
        400,
        "Invalid query string parameters: 'after' is no position that GET /events gave. Got: "
        f"{text[:80]}",
        QUERY_BAD_VALUE,
    )
