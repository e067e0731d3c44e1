"""Large answers in pieces, each of which is quick to make and to send."""

from collections.abc import Iterable, Iterator

# About the size of a piece.
PIECE_BYTES = 2**19
# An answer below this size is made at once, and sent in one piece.
SMALL_BYTES_MAX = 2**20

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


def enclosed(begin: bytes, pieces: Iterable[bytes], end: bytes) -> Iterator[bytes]:
    """The pieces with separators between them, `begin` before the first and `end` after the last.

    Neither is a piece of its own, unless there is no other.
    """
    waiting = begin
    separator = b""
    for piece in pieces:
        if separator:
            yield waiting
            waiting = b""
        waiting += separator + piece
        separator = SEPARATOR
    yield waiting + end
