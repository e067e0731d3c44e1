"""Reads the body of a request as JSON, and refuses what no schema can describe."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from roost.api.http_error import HttpError
from roost.api.parsing.extension_refusals import BODY
from roost.api.parsing.validation import validate
from roost.api.schemas import Schema
from roost.api.schemas.bounds import ESCAPES_MAX, VALUES_MAX
from roost.quoting import quote_value

INVALID = BODY.invalid

# Valid bodies are less than ten levels deep.
_DEPTH_MAX = 32

INTEGER_64_MAX = 2**63 - 1

# Characters that no database stores in a text: NUL, and one half of a surrogate pair.
_UNSTORABLE_TEXT = re.compile("[\0\ud800-\udfff]")


# Values are counted in steps, between which other threads may run.
_STEP_BYTES = 1024 * 1024


def read(
    body: bytes,
    schema: Schema,
    *,
    values_max: int = VALUES_MAX,
    check_exists: Callable[[], object] | None = None,
) -> Any:
    """The body, valid by the schema.

    `check_exists` raises if the resource that the path names does not exist. Clients expect that
    error before any about the body, but the lookup only runs when the body is refused.
    """
    try:
        _refuse_many_values(body, values_max)
        value, has_only_small_floats = _decode(body)
        validate(value, schema, BODY, fast=has_only_small_floats)
    except HttpError:
        if check_exists is not None:
            check_exists()
        raise
    return value


def _refuse_many_values(body: bytes, values_max: int) -> None:
    """Refuse a body with very many values, or escapes in its strings, before they are parsed.

    Each value but the first is after a comma, a bracket or a brace. Those within strings count too,
    but no request has so many.
    """
    if len(body) <= min(values_max, ESCAPES_MAX):
        return
    values = escapes = 0
    for start in range(0, len(body), _STEP_BYTES):
        end = start + _STEP_BYTES
        values += sum(body.count(sign, start, end) for sign in (b",", b"[", b"{"))
        escapes += body.count(b"\\", start, end)
        if values > values_max or escapes > ESCAPES_MAX:
            most = (
                f"values, expected at most {values_max}"
                if values > values_max
                else f"escapes, expected at most {ESCAPES_MAX}"
            )
            raise HttpError(400, INVALID.format(f"the body has too many {most}"))


def decode(body: bytes) -> Any:
    """The JSON value in a body, or a 400 that says what is wrong with it."""
    return _decode(body)[0]


def _decode(body: bytes) -> tuple[Any, bool]:
    """The value, and whether every float in it fits into a 64-bit integer.

    The fast and the exact validator disagree on whether a larger float is an integer.
    """
    try:
        text = body.decode("utf-8")
        value, has_only_small_floats = _parse(text)
    except RecursionError:
        raise _nested_too_deeply() from None
    except _UnstorableNumber as error:
        raise _malformed(_locate_number(error, text)) from None
    except ValueError as error:  # the base class of decoding errors, both of UTF-8 and of JSON
        raise _malformed(str(error)) from None
    if text.count("{") + text.count("[") > _DEPTH_MAX:
        _refuse_depth(value)
    # Unstorable characters only come as escapes, so most bodies need no second pass.
    if "\\u" in text:
        _refuse_unstorable_text(value)
    return value, has_only_small_floats


def _parse(text: str) -> tuple[Any, bool]:
    # Without escapes no key ends in a newline. The library alone looks for a byte order mark.
    if "\\" not in text and not text.startswith("\ufeff"):
        with suppress(_LargeFloat):
            return _DECODER.decode(text), True
    large: list[float] = []

    def parse_float(digits: str) -> float:
        number = _parse_float(digits)
        if abs(number) > INTEGER_64_MAX:
            large.append(number)
        return number

    value = json.loads(
        text,
        object_pairs_hook=_well_named,
        parse_int=_parse_integer,
        parse_float=parse_float,
        parse_constant=_parse_constant,
    )
    return value, not large


def to_integer(value: float) -> int:
    """A number that JSON schema takes for an integer, as an `int`: 1.0 is 1."""
    number = int(value)
    if abs(number) > INTEGER_64_MAX:
        raise HttpError(400, INVALID.format(f"{value} is too large"))
    return number


def _malformed(reason: str) -> HttpError:
    return HttpError(400, f"Malformed JSON: {reason}")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {quote_value(twice)} is given twice")
    return value


def _well_named(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = _unique_keys(pairs)
    for key in value:
        # Patterns of the schemas end in `$`, which also matches before a newline at the very end.
        if key.endswith("\n"):
            raise ValueError(f"the key {quote_value(key)} ends in a newline")
    return value


# ---------------------------------------------------------------------------------------------
# Numbers


class _UnstorableNumber(ValueError):
    """A number that no column holds."""


def _parse_integer(digits: str) -> int:
    # The length comes first, because converting very many digits is slow.
    if len(digits) > 20 or abs(int(digits)) > INTEGER_64_MAX:
        raise _UnstorableNumber(f"the number {digits[:40]} is too large")
    return int(digits)


def _parse_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _UnstorableNumber(f"the number {digits[:40]} is too large")
    return number


class _LargeFloat(Exception):
    """A number that is no 64-bit integer, if it is one at all."""


def _parse_small_float(digits: str) -> float:
    number = _parse_float(digits)
    if abs(number) > INTEGER_64_MAX:
        raise _LargeFloat
    return number


def _parse_constant(name: str) -> float:
    raise _UnstorableNumber(f"{name} is not a number")


# For nearly all bodies. To make one takes as long as to use it.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys,
    parse_int=_parse_integer,
    parse_float=_parse_small_float,
    parse_constant=_parse_constant,
)


def _locate_number(found: _UnstorableNumber, text: str) -> str:
    """What is wrong with a number, and where it is.

    The parser does not know where it is, so the text is parsed again, with the errors as values.
    """

    def keep_error(convert: Callable[[str], float]) -> Callable[[str], object]:
        def converted(digits: str) -> object:
            try:
                return convert(digits)
            except _UnstorableNumber as error:
                return error

        return converted

    try:
        value = json.loads(
            text,
            # Without it, the last value of a repeated key would hide the others.
            object_pairs_hook=_well_named,
            parse_int=keep_error(_parse_integer),
            parse_float=keep_error(_parse_float),
            parse_constant=keep_error(_parse_constant),
        )
    except (ValueError, RecursionError):
        return str(found)  # the text has another fault as well, and no value to find a place in
    _refuse_depth(value)
    located = _find(value, lambda part: isinstance(part, _UnstorableNumber))
    if located is None:
        return str(found)
    number, path = located
    return f"{number}, on {_path_text(path)}: expected a finite number of at most 64 bits"


# ---------------------------------------------------------------------------------------------
# Texts, depth, and places in a value


def _refuse_unstorable_text(value: Any) -> None:
    located = _find(value, lambda part: isinstance(part, str) and _UNSTORABLE_TEXT.search(part))
    if located is not None:
        text, path = located
        what = "a NUL character" if "\0" in text else "half a surrogate pair"
        raise _malformed(f"a string contains {what}, on {_path_text(path)}")


# The keys that lead to a part of a value, the outermost first.
_Path = list[str | int]


def _find(value: Any, matches: Callable[[Any], object]) -> tuple[Any, _Path] | None:
    """The first part of a value that matches, keys of objects included, and the path to it."""
    if matches(value):
        return value, []
    for key, child in _children(value):
        found = (key, []) if matches(key) else _find(child, matches)
        if found is not None:
            part, path = found
            return part, [key, *path]
    return None


def _children(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _path_text(path: _Path) -> str:
    return "instance" + "".join(f"[{quote_value(key)}]" for key in path)


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
