"""Large answers in pieces, each of which is quick to make and to send."""

import bisect
import itertools
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Any

import msgspec

# About the size of a piece.
PIECE_BYTES = 2**20
# The same for texts that are gathered one by one: while a piece is made, its texts take several
# times as much memory, in each thread.
GATHERED_BYTES = 2**17

# A list with more entries is encoded in pieces, and each has so many.
ENTRIES_MAX = 500

SEPARATOR = b", "
# As msgspec has it.
COMMA = b","


def joined(texts: list[bytes], end: bytes) -> Iterator[bytes]:
    """Texts with separators between them, in pieces of so many that each is large enough.

    What follows the last text is in the last piece. Large pieces are made by one copy each.
    """
    ends = list(itertools.accumulate(map(len, texts)))
    first = sent = 0
    while ends and ends[-1] - sent > PIECE_BYTES:
        after = bisect.bisect_left(ends, sent + PIECE_BYTES) + 1
        if after >= len(texts):
            break
        yield SEPARATOR.join([*texts[first:after], b""])
        first, sent = after, ends[after - 1]
    yield SEPARATOR.join([*texts[first:-1], texts[-1] + end]) if texts else end


def gathered(texts: Iterable[str]) -> Iterator[bytes]:
    """Texts, of which there may be very many, in pieces, with `COMMA` inside of a piece."""
    gathered: list[str] = []
    length = 0
    for text in texts:
        gathered.append(text)
        length += len(text)
        if length >= GATHERED_BYTES:
            yield ",".join(gathered).encode()
            gathered, length = [], 0
    if gathered:
        yield ",".join(gathered).encode()


def whole_if_short(pieces: Generator[bytes]) -> "bytes | _Begun":
    """The only piece, or all pieces if there are several."""
    first = next(pieces)
    second = next(pieces, None)
    return first if second is None else _Begun([first, second], pieces)


class _Begun:
    """Pieces of which some were made already.

    `close` ends what makes them, even before the first one was taken: threads that read ahead must
    not be waited for wherever the last reference happens to go.
    """

    def __init__(self, made: list[bytes], rest: Generator[bytes]) -> None:
        self._made = deque(made)
        self._rest = rest

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return self._made.popleft() if self._made else next(self._rest)

    def close(self) -> None:
        self._made.clear()
        self._rest.close()


def enclosed(
    begin: bytes,
    pieces: Iterable[bytes],
    end: bytes | Callable[[], bytes],
    separator: bytes = SEPARATOR,
) -> Generator[bytes]:
    """The pieces with separators between them, `begin` before the first and `end` after the last.

    Neither is a piece of its own, unless there is no other. An end that is known only after the
    last piece is a function.
    """
    waiting, is_first = begin, True
    for piece in pieces:
        if is_first:
            waiting, is_first = waiting + piece, False
        else:
            yield waiting
            waiting = separator + piece
    yield waiting + (end() if callable(end) else end)


def encoded_list(begin: bytes, entries: Iterable[Any], end: bytes) -> Iterator[bytes]:
    """A list as JSON, between what comes before and after its brackets."""
    return _encoded(begin + b"[", _batches(entries), b"]" + end)


def encoded_object(begin: bytes, entries: Mapping[str, Any], end: bytes) -> Iterator[bytes]:
    """An object with very many names as JSON, between what comes before and after its braces."""
    return _encoded(begin + b"{", map(dict, _batches(entries.items())), b"}" + end)


def _encoded(begin: bytes, batches: Iterable[Any], end: bytes) -> Iterator[bytes]:
    # Each batch without its own brackets.
    pieces = (msgspec.json.encode(batch)[1:-1] for batch in batches)
    return enclosed(begin, pieces, end, COMMA)


def _batches(entries: Iterable[Any]) -> Iterator[list[Any]]:
    entries = iter(entries)
    while batch := list(itertools.islice(entries, ENTRIES_MAX)):
        yield batch
