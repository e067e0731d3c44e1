"""Positions in the change feed as texts that a client hands back, and need not understand."""

import base64

import msgspec

from roost.api.error_table import QUERY_BAD_VALUE
from roost.api.errors import HttpError

Position = dict[int, int]

_DECODER = msgspec.msgpack.Decoder(list[tuple[int, int]])


def write(position: Position) -> str:
    # Who has not written yet is where everybody begins.
    pairs = sorted((writer, number) for writer, number in position.items() if number)
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(pairs)).decode().rstrip("=")


def read(text: str) -> Position:
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        pairs = _DECODER.decode(data)
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
