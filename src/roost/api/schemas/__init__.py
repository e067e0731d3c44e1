"""JSON schemas of bodies and query strings, one module for each resource.

A refusal quotes the schema and the value, in the words of the jsonschema library: clients see it.
So the schemas are written out as the API has always shown them.
"""

import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

# jsonschema has no type hints of its own.
import jsonschema  # type: ignore[import-untyped]
import jsonschema_rs
from jsonschema.validators import extend  # type: ignore[import-untyped]

from roost.api.http.error_response import HttpError

Schema = Mapping[str, Any]

_FORMATS = jsonschema.FormatChecker(formats=())

_UUID_CHARACTERS = re.compile(r"[0-9a-fA-F-]+")


def is_uuid(value: object) -> bool:
    """Whether a text is a UUID, with or without dashes."""
    if not isinstance(value, str) or not _UUID_CHARACTERS.fullmatch(value):
        return False
    try:
        uuid.UUID(value)
    except ValueError:
        return False
    return True


def canonical_uuid(value: str) -> str:
    """A UUID in the one form in which it is stored; other texts stay as they are."""
    return str(uuid.UUID(value)) if is_uuid(value) else value


def _check_uuid(value: object) -> bool:
    # What is no string is the business of `type`.
    return not isinstance(value, str) or is_uuid(value)


_FORMATS.checks("uuid")(_check_uuid)


def _pattern(
    validator: Any, pattern: str, instance: object, schema: Schema
) -> Iterator[jsonschema.ValidationError]:
    # `$` also matches before a newline at the very end, which no name may have.
    if isinstance(instance, str) and (instance.endswith("\n") or not re.search(pattern, instance)):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _is_integer(checker: object, value: object) -> bool:
    # JSON does not tell 1.0 from 1, but what no column holds is no integer of this API.
    if isinstance(value, float):
        return value.is_integer() and abs(value) < 2**63
    return isinstance(value, int) and not isinstance(value, bool)


_Validator = extend(
    jsonschema.Draft7Validator,
    {"pattern": _pattern},
    type_checker=jsonschema.Draft7Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


class _Checks(NamedTuple):
    """The two validators of a schema: one is quick, the other one knows the words."""

    schema: Schema
    quick: jsonschema_rs.Draft7Validator
    exact: Any


# By identity: schemas are made once and never change.
_checks: dict[int, _Checks] = {}


def checks_of(schema: Schema) -> _Checks:
    found = _checks.get(id(schema))
    if found is None:
        found = _checks[id(schema)] = _Checks(
            schema,
            jsonschema_rs.Draft7Validator(
                dict(schema), formats={"uuid": _check_uuid}, validate_formats=True
            ),
            _Validator(schema, format_checker=_FORMATS),
        )
    return found


def validate(value: object, schema: Schema, sentence: str, *, quick: bool = True) -> None:
    """Refuse a value that is not as the schema says; `{}` in the sentence is the reason.

    Without `quick` only the exact validator is asked.
    """
    checks = checks_of(schema)
    # Nearly all values are fine, and to find that out must cost next to nothing.
    if quick and checks.quick.is_valid(value):
        return
    error = jsonschema.exceptions.best_match(checks.exact.iter_errors(value))
    if error is not None:
        # Where it is, from the outermost value on, also if it is one of several alternatives.
        error.relative_path, error.relative_schema_path = (
            error.absolute_path,
            error.absolute_schema_path,
        )
        raise HttpError(400, sentence.format(error))
