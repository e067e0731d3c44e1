"""Reading the body of a request as JSON, and refusing what no schema can describe."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from roost.api import schemas
from roost.api.http.error_response import HttpError
from roost.api.schemas import Schema

# Valid bodies are less than ten levels deep.
_DEPTH_MAX = 32

INTEGER_64_MAX = 2**63 - 1

# What no database takes in a text: NUL, and half a surrogate pair.
_STRANGE = re.compile("[\0\ud800-\udfff]")


def read(body: bytes, schema: Schema, *, missing: Callable[[], object] | None = None) -> Any:
    """The body, valid by the schema.

    `missing` raises if what the path names does not exist: that is said before anything about the
    body, and is only looked up when there is something to say about the body.
    """
    try:
        value, is_plain = _decode(body)
        schemas.validate(value, schema, "JSON does not validate: {}", quick=is_plain)
    except HttpError:
        if missing is not None:
            missing()
        raise
    return value


def decode(body: bytes) -> Any:
    """The JSON value in a body, or a 400 that says what is wrong with it."""
    return _decode(body)[0]


def _decode(body: bytes) -> tuple[Any, bool]:
    """The value, and whether it is free of floats too large for an integer.

    Such a float is one of which quick and exact checks think differently.
    """
    huge: list[float] = []

    def parse_float(digits: str) -> float:
        number = _number(digits)
        if abs(number) > INTEGER_64_MAX:
            huge.append(number)
        return number

    try:
        text = body.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_int=_integer,
            parse_float=parse_float,
            parse_constant=_constant,
        )
    except RecursionError:
        raise _nested_too_deeply() from None
    except _StrangeNumber as error:
        raise _malformed(_placed(error, text)) from None
    except ValueError as error:  # which errors of encoding and of JSON are, too
        raise _malformed(str(error)) from None
    if text.count("{") + text.count("[") > _DEPTH_MAX:
        _refuse_depth(value)
    # Strange text cannot be without an escape, so most bodies need no second look.
    if "\\u" in text:
        _refuse_strange_text(value)
    return value, not huge


def whole(value: float) -> int:
    """A number that JSON schema takes for an integer, as one: 1.0 is 1."""
    number = int(value)
    if abs(number) > INTEGER_64_MAX:
        raise HttpError(400, f"JSON does not validate: {value} is too large")
    return number


def _malformed(reason: str) -> HttpError:
    return HttpError(400, f"Malformed JSON: {reason}")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} is given twice")
    for key in value:
        # Patterns end in `$`, which a newline at the very end passes unseen.
        if key.endswith("\n"):
            raise ValueError(f"the key {key!r} ends in a newline")
    return value


class _StrangeNumber(ValueError):
    """A number that no column holds."""


def _integer(digits: str) -> int:
    # Checked before the conversion, which is slow for very many digits.
    if len(digits) > 20 or abs(int(digits)) > INTEGER_64_MAX:
        raise _StrangeNumber(f"the number {digits[:40]} is too large")
    return int(digits)


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _StrangeNumber(f"the number {digits[:40]} is too large")
    return number


def _constant(name: str) -> float:
    raise _StrangeNumber(f"{name} is not a number")


def _placed(found: _StrangeNumber, text: str) -> str:
    """What is wrong with a number, and where: only a second reading, which keeps it, can tell."""

    def keep(convert: Callable[[str], float]) -> Callable[[str], object]:
        def converted(digits: str) -> object:
            try:
                return convert(digits)
            except _StrangeNumber as error:
                return error

        return converted

    try:
        value = json.loads(
            text,
            # Of a key that is given twice only the last value would be kept.
            object_pairs_hook=_unique_keys,
            parse_int=keep(_integer),
            parse_float=keep(_number),
            parse_constant=keep(_constant),
        )
    except (ValueError, RecursionError):
        return str(found)  # there is more that is wrong, and no value in which it has a place
    _refuse_depth(value)
    strange = _find(value, lambda part: isinstance(part, _StrangeNumber))
    if strange is None:
        return str(found)
    number, way = strange
    return f"{number}, on {_place(way)}: expected a finite number of at most 64 bits"


def _refuse_strange_text(value: Any) -> None:
    strange = _find(value, lambda part: isinstance(part, str) and _STRANGE.search(part))
    if strange is not None:
        text, way = strange
        what = "a NUL character" if "\0" in text else "half a surrogate pair"
        raise _malformed(f"a string contains {what}, on {_place(way)}")


# The keys that lead to a part of a value, the outermost first.
_Way = list[str | int]


def _find(value: Any, is_strange: Callable[[Any], object]) -> tuple[Any, _Way] | None:
    """The first part of a value, its keys included, that is strange, and the way to it."""
    if is_strange(value):
        return value, []
    for key, child in _children(value):
        found = (key, []) if is_strange(key) else _find(child, is_strange)
        if found is not None:
            part, way = found
            return part, [key, *way]
    return None


def _children(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _place(way: _Way) -> str:
    return "instance" + "".join(f"[{key!r}]" for key in way)


def _refuse_depth(value: Any) -> None:
    level = [value]
    for _ in range(_DEPTH_MAX):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    if level:
        raise _nested_too_deeply()


def _nested_too_deeply() -> HttpError:
    return _malformed(f"nested too deeply, expected at most {_DEPTH_MAX} levels")
