"""What an error repeats of a request, cut short.

A client may send a name of many megabytes. Without a limit the error that quotes it would be as
large, or twice as large. Whatever has an ordinary size is quoted in full, because clients match on
these sentences.
"""

from collections.abc import Iterable, Iterator
from typing import Any

# Of one name, or another text. No name that can be stored has more characters.
TEXT_LENGTH_MAX = 255
# Of a value that has parts: a JSON object or array, or a list of names.
VALUE_LENGTH_MAX = 1000

MORE = "..."


def quote(text: str, length_max: int = TEXT_LENGTH_MAX) -> str:
    """The text; of a long one, its beginning."""
    return text if len(text) <= length_max else text[:length_max] + MORE


def quote_names(names: Iterable[str]) -> str:
    """The names with commas between them; of many, the first ones."""
    quoted: list[str] = []
    length = 0
    for name in map(quote, names):
        length += len(name)
        if length > VALUE_LENGTH_MAX:
            quoted.append(MORE)
            break
        quoted.append(name)
    return ", ".join(quoted)


def quote_value(value: object) -> str:
    """The value as `repr` shows it; of a large one, the beginning of that.

    It costs as much as what is shown, however large the value is.
    """
    quoted: list[str] = []
    length = 0
    for piece in _pieces(value):
        length += len(piece)
        if length > VALUE_LENGTH_MAX:
            quoted.append(MORE)
            break
        quoted.append(piece)
    return "".join(quoted)


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        # Not `repr`, because a subclass may show itself with `quote_value`.
        yield str.__repr__(quote(value))
    elif isinstance(value, dict):
        before = "{"
        for key, member in value.items():
            yield before
            yield from _pieces(key)
            yield ": "
            yield from _pieces(member)
            before = ", "
        yield "}" if value else "{}"
    elif isinstance(value, list):
        before = "["
        for member in value:
            yield before
            yield from _pieces(member)
            before = ", "
        yield "]" if value else "[]"
    else:
        yield repr(value)
