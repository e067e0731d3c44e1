"""What is wrong with a value, in one sentence: how extensions refuse bodies and query strings.

Routes of Placement quote the schema instead, see `validation`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# jsonschema has no type hints of its own.
import jsonschema  # type: ignore[import-untyped]

from roost.api.schemas import Schema
from roost.api.schemas.allocations import TYPE_OR_UNKNOWN_PATTERN, TYPE_PATTERN, UUID_PATTERN
from roost.api.schemas.candidates import ORDER_PATTERN, SUFFIX_NAME, SUFFIX_PATTERN
from roost.api.schemas.events import WAIT_PATTERN, WAIT_SECONDS_MAX
from roost.api.schemas.inventories import CLASS_PATTERN
from roost.api.schemas.pages import LIMIT_PATTERN
from roost.api.schemas.providers import DASHED_UUID_PATTERN
from roost.api.schemas.summary import CLASSES_PATTERN
from roost.quoting import quote, quote_value
from roost.suggestions import nearest, unknown


class Part(NamedTuple):
    """A part of a request that has a schema."""

    whole: str
    member: str  # what its members are called
    invalid: str  # a refusal of Placement; `{}` is the reason


BODY = Part("the body", "field", "JSON does not validate: {}")
QUERY_STRING = Part("the query string", "parameter", "Invalid query string parameters: {}")

# Of a value that is shown. Names and numbers are shorter.
VALUE_LENGTH_MAX = 100

_SUFFIX_MEANING = "up to 64 letters, digits, _ and -"

# What a text that matches the pattern is.
PATTERN_MEANINGS: Mapping[str, str] = {
    LIMIT_PATTERN: "an integer from 1 on",
    ORDER_PATTERN: "pack, spread, root, random or random:SEED",
    WAIT_PATTERN: f"a number of seconds from 0 to {WAIT_SECONDS_MAX}",
    DASHED_UUID_PATTERN: "a UUID with dashes",
    TYPE_PATTERN: "capital letters, digits and _",
    TYPE_OR_UNKNOWN_PATTERN: "capital letters, digits and _, or unknown",
    CLASSES_PATTERN: "resource classes with commas between them",
}

# The same for keys of objects.
KEY_MEANINGS: Mapping[str, str] = {
    UUID_PATTERN: "a UUID",
    CLASS_PATTERN: "a resource class: capital letters, digits and _",
    SUFFIX_PATTERN: f"a suffix: {_SUFFIX_MEANING}",
}

_TYPE_MEANINGS: Mapping[str, str] = {
    "array": "a list",
    "integer": "an integer",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}

# The pattern of a parameter that may have the suffix of a group.
_SUFFIXED = re.compile(rf"\^(\w+)\({re.escape(SUFFIX_NAME)}\)\?\$")

# A key that needs no quotes in a path.
_PLAIN_KEY = re.compile(r"\w+", re.ASCII)


def refusal(errors: Sequence[Any], part: Part) -> str:
    """The sentence about the worst of the errors that jsonschema found."""
    worst = jsonschema.exceptions.best_match(errors)
    # A field that has a typing error in its name is missing, too. The name helps more.
    depth = len(worst.absolute_path)
    misnamed = [
        error
        for error in errors
        if error.validator == "additionalProperties" and len(error.absolute_path) <= depth
    ]
    worst = misnamed[0] if misnamed else worst
    place = path_text(list(worst.absolute_path))
    told = _told(worst, part)
    if not place and worst.validator in ("additionalProperties", "required"):
        return told
    return f"{place or part.whole}: {told}"


def path_text(path: Sequence[str | int]) -> str:
    """Where a value is: groups._A.resources, isolate[0]."""
    text = "".join(
        f".{step}"
        if isinstance(step, str) and _PLAIN_KEY.fullmatch(step)
        else f"[{quote_value(step)}]"
        for step in path
    )
    return text.removeprefix(".")


def bad_choice(value: object, choices: Sequence[str]) -> str:
    """What to say of a value that is none of those that are allowed."""
    found = nearest(value, choices) if isinstance(value, str) else None
    if found is not None:
        return f"{quote_value(value)}; did you mean {quote_value(found)}?"
    one_of = "one of " if len(choices) > 1 else ""
    return f"{_shown(value)}, expected {one_of}{', '.join(choices)}"


def _told(error: Any, part: Part) -> str:
    value, expected, schema = error.instance, error.validator_value, error.schema
    shown = _shown(value)
    match error.validator:
        case "additionalProperties":
            return _unknown_member(value, schema, part)
        case "required":
            missing = next(name for name in expected if name not in value)
            return f"the {part.member} {quote_value(missing)} is missing"
        case "type":
            kinds = [expected] if isinstance(expected, str) else expected
            return (
                f"{shown}, expected {' or '.join(_TYPE_MEANINGS.get(kind, kind) for kind in kinds)}"
            )
        case "enum":
            return bad_choice(value, expected)
        case "format":
            return f"{shown}, expected a {expected.upper()}"
        case "pattern":
            return f"{shown}, expected {PATTERN_MEANINGS.get(expected, expected)}"
        case "minimum":
            return f"{shown}, expected at least {expected}"
        case "exclusiveMinimum":
            return f"{shown}, expected more than {expected}"
        case "maximum":
            return f"{shown}, expected at most {expected}"
        case "minLength":
            return f"{shown}, expected a text that is not empty"
        case "maxLength":
            return f"{len(value)} characters, expected at most {expected}"
        case "minProperties" | "minItems":
            return f"{shown}, expected at least {expected} entry"
        case "maxProperties" | "maxItems":
            return f"{len(value)} entries, expected at most {expected}"
    return str(error.message)


def _shown(value: object) -> str:
    return quote(quote_value(value), VALUE_LENGTH_MAX)


def _unknown_member(value: Mapping[str, Any], schema: Schema, part: Part) -> str:
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    name = next(
        each
        for each in value
        if each not in known and not any(re.search(pattern, each) for pattern in patterns)
    )
    meanings = [KEY_MEANINGS[pattern] for pattern in patterns if pattern in KEY_MEANINGS]
    if meanings:
        return f"unknown key {quote_value(name)}; expected {meanings[0]}"
    suffixed = [match[1] for match in map(_SUFFIXED.fullmatch, patterns) if match]
    if name.startswith(tuple(suffixed)):
        return f"unknown {part.member} {quote_value(name)}: a suffix has {_SUFFIX_MEANING}"
    return unknown(part.member, name, known, suffixed=suffixed)
