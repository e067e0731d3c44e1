"""Checks values against JSON schemas.

A refusal quotes the schema and the value in the words of the jsonschema library, since these are
the words that clients of Placement know. Extensions have sentences of their own.
"""

import pprint
from collections import deque
from itertools import islice
from typing import Any, NamedTuple

# jsonschema has no type hints of its own.
import jsonschema  # type: ignore[import-untyped]
import jsonschema_rs
from jsonschema.validators import extend  # type: ignore[import-untyped]

from roost.api.http_error import HttpError
from roost.api.parsing.extension_refusals import Part, refusal
from roost.api.parsing.schema_keywords import keywords
from roost.api.schemas import ExtensionSchema, Schema
from roost.quoting import MORE, quote, quote_value
from roost.uuids import is_uuid

# The best of so many errors is told. Only a value that is wrong in every part has more.
ERRORS_MAX = 100

# Characters of a schema that is shown in lines.
_SCHEMA_LENGTH_MAX = 3000

_FORMATS = jsonschema.FormatChecker(formats=())


def _check_uuid(value: object) -> bool:
    # A value that is not a string is refused by `type`.
    return is_uuid(value) or not isinstance(value, str)


_FORMATS.checks("uuid")(_check_uuid)


def _is_integer(checker: object, value: object) -> bool:
    # JSON does not tell 1.0 from 1. A number that fits no column is not an integer of this API.
    if isinstance(value, float):
        return value.is_integer() and abs(value) < 2**63
    return isinstance(value, int) and not isinstance(value, bool)


_Validator = extend(
    jsonschema.Draft7Validator,
    keywords(lambda schema, value: validators_of(schema).fast.is_valid(value)),
    type_checker=jsonschema.Draft7Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


class Validators(NamedTuple):
    """The two validators of a schema: a fast one, and the one that words refusals."""

    schema: Schema  # held, so that no other schema gets its id
    fast: jsonschema_rs.Draft7Validator
    exact: Any


# By identity: schemas, and the schemas within them, are made once and never change.
_validators: dict[int, Validators] = {}


def validators_of(schema: Schema) -> Validators:
    found = _validators.get(id(schema))
    if found is None:
        found = _validators[id(schema)] = Validators(
            schema,
            jsonschema_rs.Draft7Validator(
                dict(schema), formats={"uuid": _check_uuid}, validate_formats=True
            ),
            _Validator(schema, format_checker=_FORMATS),
        )
    return found


def validate(value: object, schema: Schema, part: Part, *, fast: bool = True) -> None:
    """Refuse a part of a request that does not match the schema.

    Without `fast` only the exact validator decides.
    """
    validators = validators_of(schema)
    # Nearly all values are valid, so the exact validator rarely runs.
    if fast and validators.fast.is_valid(value):
        return
    errors = list(islice(validators.exact.iter_errors(value), ERRORS_MAX))
    if not errors:
        return
    if isinstance(schema, ExtensionSchema):
        raise HttpError(400, refusal(errors, part))
    error = jsonschema.exceptions.best_match(errors)
    raise HttpError(400, part.invalid.format(_told(error)))


class _Written:
    """A value that is shown as this text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _told(error: Any) -> str:
    """What the library says about an error, with what is long cut short."""
    # jsonschema gives the place within an alternative of `anyOf`; clients need the whole path.
    error.relative_schema_path = error.absolute_schema_path
    error.relative_path = deque(
        quote(part) if isinstance(part, str) else part for part in error.absolute_path
    )
    if len(pprint.pformat(error.schema, width=72, sort_dicts=False)) > _SCHEMA_LENGTH_MAX:
        # Most of a nested schema is white space that indents it.
        error.schema = _Written(repr(error.schema))
    value = quote_value(error.instance)
    if MORE in value:
        error.instance = _Written(value)
    return str(error)
