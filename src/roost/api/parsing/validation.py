"""Checks values against JSON schemas.

A refusal quotes the schema and the value in the words of the jsonschema library, since these are
the words that clients of Placement know.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

# jsonschema has no type hints of its own.
import jsonschema  # type: ignore[import-untyped]
import jsonschema_rs
from jsonschema.validators import extend  # type: ignore[import-untyped]

from roost.api.http_error import HttpError
from roost.api.schemas import Schema
from roost.uuids import is_uuid

_FORMATS = jsonschema.FormatChecker(formats=())


def _check_uuid(value: object) -> bool:
    # A value that is not a string is refused by `type`.
    return not isinstance(value, str) or is_uuid(value)


_FORMATS.checks("uuid")(_check_uuid)


def _pattern(
    validator: Any, pattern: str, instance: object, schema: Schema
) -> Iterator[jsonschema.ValidationError]:
    # `$` also matches before a newline at the very end, which no name may have.
    if isinstance(instance, str) and (instance.endswith("\n") or not re.search(pattern, instance)):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _is_integer(checker: object, value: object) -> bool:
    # JSON does not tell 1.0 from 1. A number that fits no column is not an integer of this API.
    if isinstance(value, float):
        return value.is_integer() and abs(value) < 2**63
    return isinstance(value, int) and not isinstance(value, bool)


_Validator = extend(
    jsonschema.Draft7Validator,
    {"pattern": _pattern},
    type_checker=jsonschema.Draft7Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


class Validators(NamedTuple):
    """The two validators of a schema: a fast one, and the one that words refusals."""

    schema: Schema  # held, so that no other schema gets its id
    fast: jsonschema_rs.Draft7Validator
    exact: Any


# By identity: schemas are made once and never change.
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


def validate(value: object, schema: Schema, sentence: str, *, fast: bool = True) -> None:
    """Refuse a value that does not match the schema; `{}` in the sentence is the reason.

    Without `fast` only the exact validator decides.
    """
    validators = validators_of(schema)
    # Nearly all values are valid, so the exact validator rarely runs.
    if fast and validators.fast.is_valid(value):
        return
    error = jsonschema.exceptions.best_match(validators.exact.iter_errors(value))
    if error is not None:
        # jsonschema gives the place within an alternative of `anyOf`; clients need the whole path.
        error.relative_path, error.relative_schema_path = (
            error.absolute_path,
            error.absolute_schema_path,
        )
        raise HttpError(400, sentence.format(error))
