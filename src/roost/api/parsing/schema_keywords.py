"""The keywords of JSON schema, as the exact validator uses them.

They refuse the same values in the same words as those of the jsonschema library. But what they
quote is cut short, and a value that is far too large is refused without being walked through.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# jsonschema has no type hints of its own.
import jsonschema  # type: ignore[import-untyped]

from roost.api.schemas import Schema
from roost.quoting import quote_names, quote_value

Errors = Iterator[jsonschema.ValidationError]
Keyword = Callable[[Any, Any, Any, Schema], Errors]
IsValid = Callable[[Schema, object], bool]

# In a container of more members than this, those that are valid are skipped without a walk.
_WALKED_MAX = 64


# ---------------------------------------------------------------------------------------------
# Values that show themselves cut short. Keywords of the library write `repr(instance)`.


class _Text(str):
    __slots__ = ()
    __repr__ = quote_value


class _Object(dict[str, Any]):
    __slots__ = ()
    __repr__ = quote_value


class _Array(list[Any]):
    __slots__ = ()
    __repr__ = quote_value


_QUOTED: Mapping[type, type] = {str: _Text, dict: _Object, list: _Array}


def _with_short_message(keyword: Keyword) -> Keyword:
    def check(validator: Any, expected: Any, instance: Any, schema: Schema) -> Errors:
        quoted = _QUOTED.get(type(instance))
        shown = instance if quoted is None else quoted(instance)
        yield from keyword(validator, expected, shown, schema)

    return check


# The keywords of our schemas whose messages quote the value.
_QUOTING = (
    *("type", "enum", "format", "anyOf", "minLength", "maxLength"),
    *("minItems", "maxItems", "minProperties", "maxProperties"),
)


# ---------------------------------------------------------------------------------------------
# Keywords with bounded work


def _pattern(validator: Any, pattern: str, instance: object, schema: Schema) -> Errors:
    # `$` also matches before a newline at the very end, which no name may have.
    if isinstance(instance, str) and (instance.endswith("\n") or not re.search(pattern, instance)):
        yield jsonschema.ValidationError(f"{quote_value(instance)} does not match {pattern!r}")


def _unique_items(validator: Any, unique: bool, instance: object, schema: Schema) -> Errors:
    if not unique or not isinstance(instance, list):
        return
    if all(isinstance(item, str) for item in instance):
        is_unique = len(set(instance)) == len(instance)
    elif len(instance) > _WALKED_MAX:
        # Such items can only be compared pair by pair, and they have the wrong type in any case.
        return
    else:
        is_unique = not any(_equal(item, instance[:index]) for index, item in enumerate(instance))
    if not is_unique:
        yield jsonschema.ValidationError(f"{quote_value(instance)} has non-unique elements")


def _equal(item: object, others: list[object]) -> bool:
    # To JSON, unlike Python, `true` is not 1.
    return any(item == each and isinstance(item, bool) == isinstance(each, bool) for each in others)


def _additional_properties(
    validator: Any, allowed: bool, instance: object, schema: Schema
) -> Errors:
    if allowed or not isinstance(instance, dict) or _is_too_large(instance, schema):
        return
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    pattern = "|".join(patterns)
    extra = sorted(
        name
        for name in instance
        if name not in properties and not (pattern and re.search(pattern, name))
    )
    if not extra:
        return
    names = quote_names(map(quote_value, extra))
    if patterns:
        verb = "does" if len(extra) == 1 else "do"
        expected = ", ".join(map(repr, sorted(patterns)))
        message = f"{names} {verb} not match any of the regexes: {expected}"
    else:
        verb = "was" if len(extra) == 1 else "were"
        message = f"Additional properties are not allowed ({names} {verb} unexpected)"
    yield jsonschema.ValidationError(message)


def _is_too_large(instance: dict[str, Any] | list[Any], schema: Schema) -> bool:
    """Whether `maxProperties` or `maxItems` refuses the value: then nobody looks at its members."""
    bound = schema.get("maxProperties" if isinstance(instance, dict) else "maxItems")
    return bound is not None and len(instance) > bound


def _walks(is_valid: IsValid) -> dict[str, Keyword]:
    """The keywords that walk through the members of a value.

    The library takes some twenty microseconds for a member. `is_valid` takes one, but does not say
    what is wrong. It takes some floats for integers that are too large to be any; that is harmless,
    for `to_integer` refuses them.
    """

    def pattern_properties(
        validator: Any, patterns: Mapping[str, Schema], instance: object, schema: Schema
    ) -> Errors:
        if not isinstance(instance, dict) or _is_too_large(instance, schema):
            return
        is_large = len(instance) > _WALKED_MAX
        for pattern, expected in patterns.items():
            for name, value in instance.items():
                if re.search(pattern, name) and not (is_large and is_valid(expected, value)):
                    yield from validator.descend(value, expected, path=name, schema_path=pattern)

    def items(validator: Any, expected: Schema, instance: object, schema: Schema) -> Errors:
        if not isinstance(instance, list) or _is_too_large(instance, schema):
            return
        is_large = len(instance) > _WALKED_MAX
        for index, item in enumerate(instance):
            if not (is_large and is_valid(expected, item)):
                yield from validator.descend(item, expected, path=index)

    return {"patternProperties": pattern_properties, "items": items}


def keywords(is_valid: IsValid) -> dict[str, Keyword]:
    """The keywords that replace those of the library; `is_valid` is a quick check of a value."""
    library = jsonschema.Draft7Validator.VALIDATORS
    return {
        **{name: _with_short_message(library[name]) for name in _QUOTING},
        "pattern": _pattern,
        "uniqueItems": _unique_items,
        "additionalProperties": _additional_properties,
        **_walks(is_valid),
    }
