"""Large answers in pieces, each of which is quick to make and to send."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

# About the size of a piece.
PIECE_BYTES = 2**19

# A list with more entries is encoded in pieces, and each has so many.
ENTRIES_MAX = 500

SEPARATOR = b", "


def joined(texts: list[bytes]) -> Iterator[bytes]:
    """Texts in pieces, with separators inside of a piece, and so many that it is large enough."""
    first = length = 0
    for number, text in enumerate(texts):
        length += len(text)
        if length >= PIECE_BYTES:
            yield SEPARATOR.join(texts[first : number + 1])
            first, length = number + 1, 0
    if first < len(texts):
        yield SEPARATOR.join(texts[first:])


def enclosed(
    begin: bytes, pieces: Iterable[bytes], end: bytes, separator: bytes = SEPARATOR
) -> Iterator[bytes]:
    """The pieces with separators between them, `begin` before the first and `end` after the last.

    Neither is a piece of its own, unless there is no other.
    """
    waiting, is_first = begin, True
    for piece in pieces:
        if is_first:
            waiting, is_first = waiting + piece, False
        else:
            yield waiting
            waiting = separator + piece
    yield waiting + end


def encoded_list(begin: bytes, entries: Iterable[Any], end: bytes) -> Iterator[bytes]:
    """A list as JSON, between what comes before and after its brackets."""
    return _encoded(begin + b"[", _batches(entries), b"]" + end)


def encoded_object(begin: bytes, entries: Mapping[str, Any], end: bytes) -> Iterator[bytes]:
    """An object with very many names as JSON, between what comes before and after its braces."""
    return _encoded(begin + b"{", map(dict, _batches(entries.items())), b"}" + end)


def _encoded(begin: bytes, batches: Iterable[Any], end: bytes) -> Iterator[bytes]:
    # Each batch without its own brackets.
    pieces = (msgspec.json.encode(batch)[1:-1] for batch in batches)
    return enclosed(begin, pieces, end, b",")


def _batches(entries: Iterable[Any]) -> Iterator[list[Any]]:
    entries = iter(entries)
    while batch := list(islice(entries, ENTRIES_MAX)):
        yield batch
