"""Reads query strings, and parses the parameters that several resources share.

Messages of refusals show the expected form and what the client sent.
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

from roost.api.http_error import ErrorCode, HttpError
from roost.api.parsing.bodies import INTEGER_64_MAX
from roost.api.parsing.extension_refusals import QUERY_STRING
from roost.api.parsing.validation import validate
from roost.api.schemas import Schema
from roost.api.schemas.bounds import GROUP_CLASSES_MAX, NAMES_MAX, PARAMETERS_MAX
from roost.api.versions import Version
from roost.query import AggregateRule, TraitRule
from roost.quoting import quote, quote_value
from roost.uuids import canonical_uuid, canonical_uuids, is_uuid

INVALID = QUERY_STRING.invalid

# Every parameter with its values, in the order of the query string.
Parameters = Mapping[str, Sequence[str]]

_AMOUNT = re.compile(r"-?[0-9]+", re.ASCII)


def parse(query_string: str, schema: Schema) -> Parameters:
    """The parameters, valid by the schema."""
    parameters = split(query_string)
    check(parameters, schema)
    return parameters


def check(parameters: Parameters, schema: Schema) -> None:
    """Refuse parameters that are not valid by the schema."""
    for name in parameters:
        # Patterns end in `$`, which also matches before a newline at the very end.
        if name.endswith("\n"):
            raise HttpError(400, INVALID.format(f"{quote_value(name)} ends in a newline"))
    # Of a repeated parameter, some parsers take the first value and others the last, so both must
    # be valid.
    last = {name: values[-1] for name, values in parameters.items()}
    validate(last, schema, QUERY_STRING)
    first = {name: values[0] for name, values in parameters.items()}
    if first != last:
        validate(first, schema, QUERY_STRING)


def split(query_string: str) -> Parameters:
    """The parameters, unquoted and not yet checked."""
    if query_string.count("&") >= PARAMETERS_MAX:
        reason = f"there are too many, expected at most {PARAMETERS_MAX}"
        raise HttpError(400, INVALID.format(reason), ErrorCode.QUERY_BAD_VALUE)
    try:
        pairs = _unquote(query_string)
    except UnicodeDecodeError:
        raise HttpError(400, INVALID.format(_not_utf_8(query_string))) from None
    parameters: dict[str, list[str]] = {}
    for name, value in pairs:
        if "\0" in name or "\0" in value:
            reason = f"a NUL character is not allowed in {quote_value(name)}"
            raise HttpError(400, INVALID.format(reason))
        parameters.setdefault(name, []).append(value)
    return parameters


def _unquote(query_string: str) -> list[tuple[str, str]]:
    # WSGI hands over the bytes of a URL as latin-1.
    text = query_string.encode("latin-1").decode("utf-8")
    return parse_qsl(text, keep_blank_values=True, errors="strict")


def _not_utf_8(query_string: str) -> str:
    """Which parameter is not UTF-8, and why."""
    for parameter in query_string.split("&"):
        try:
            _unquote(parameter)
        except UnicodeDecodeError as error:
            name = parameter.partition("=")[0]
            return f"{error} in {quote_value(name)}, which is expected to be UTF-8"
    raise AssertionError("some parameter is not UTF-8")


def once(parameters: Parameters, name: str) -> str | None:
    """The value of a parameter that must not be repeated, or None."""
    values = parameters.get(name, ())
    if len(values) > 1:
        raise HttpError(
            400,
            f"Query parameter '{quote(name)}' may be specified only once.",
            ErrorCode.QUERY_DUPLICATE_KEY,
        )
    return values[0] if values else None


def refuse_many(parameter: str, values: Sequence[str], count_max: int = NAMES_MAX) -> None:
    """Refuse a parameter that lists very many names, before they are taken apart."""
    count = len(values) + sum(value.count(",") for value in values)
    if count > count_max:
        reason = f"'{parameter}' has {count} entries, expected at most {count_max}"
        raise HttpError(400, INVALID.format(reason), ErrorCode.QUERY_BAD_VALUE)


def parse_resources(text: str) -> dict[str, int]:
    """`VCPU:2,MEMORY_MB:1024` as amounts by resource class."""
    refuse_many("resources", [text], GROUP_CLASSES_MAX)
    if not text.strip():
        raise _badly_formed_resources("empty string")
    amounts: dict[str, int] = {}
    for part in text.split(","):
        name, colon, number = part.partition(":")
        if not colon or ":" in number:
            raise _badly_formed_resources(part)
        if name in amounts:
            raise HttpError(
                400, f"Badly formed resources parameter. {quote(name)} is requested more than once."
            )
        # Clients fold long query strings, which leaves white space around values.
        amounts[name] = _parse_amount(name, number.strip())
    return amounts


def _badly_formed_resources(got: str) -> HttpError:
    return HttpError(
        400,
        "Badly formed resources parameter. Expected resources query string parameter in form: "
        f"?resources=VCPU:2,MEMORY_MB:1024. Got: {quote(got)}.",
    )


def _parse_amount(name: str, number: str) -> int:
    name = quote(name)
    if not _AMOUNT.fullmatch(number):
        raise HttpError(
            400,
            f"Requested resource {name} expected positive integer amount. Got: {quote(number)}.",
        )
    if len(number) > 20 or int(number) > INTEGER_64_MAX:
        raise HttpError(400, f"Requested resource {name} is too large. Got: {number[:40]}.")
    if int(number) < 1:
        raise HttpError(400, f"Requested resource {name} requires amount >= 1. Got: {number}.")
    return int(number)


def parse_traits(values: Sequence[str], version: Version, *, may_repeat: bool = True) -> TraitRule:
    """The values of `required`, or of a parameter of the same form."""
    refuse_many("required", values)
    any_of_allowed = may_repeat and version >= (1, 39)
    if not any_of_allowed:
        # Before 1.39 the last one counts.
        values = values[-1:]
    required: list[frozenset[str]] = []
    forbidden: set[str] = set()
    for value in map(str.strip, values):
        if value.startswith("in:"):
            required.append(_parse_any_of(value, allowed=any_of_allowed))
            continue
        for name in _trait_names(value, version):
            if name.startswith("!"):
                forbidden.add(name.removeprefix("!"))
            else:
                required.append(frozenset({name}))
    return TraitRule(required=tuple(dict.fromkeys(required)), forbidden=frozenset(forbidden))


def _parse_any_of(value: str, *, allowed: bool) -> frozenset[str]:
    form = "in:HW_CPU_X86_VMX,CUSTOM_MAGIC"
    if not allowed:
        reason = f"The format '{form}' only supported since microversion 1.39. Got: {quote(value)}"
        raise HttpError(400, INVALID.format(reason))
    names = value.removeprefix("in:").split(",")
    if any(name.startswith("!") for name in names):
        reason = f"The format '{form}' does not support forbidden traits. Got: {quote(value)}"
        raise HttpError(400, INVALID.format(reason))
    if "" in names:
        raise _badly_formed_traits(form, f"Got an empty trait in: {quote(value)}")
    return frozenset(names)


def _trait_names(value: str, version: Version) -> list[str]:
    may_forbid = version >= (1, 22)
    form = "HW_CPU_X86_VMX,!CUSTOM_MAGIC" if may_forbid else "HW_CPU_X86_VMX,CUSTOM_MAGIC"
    names = value.split(",")
    if any(name in ("", "!") for name in names):
        raise _badly_formed_traits(form, f"Got an empty trait in: {quote(value)}")
    if any(name.startswith("!!" if may_forbid else "!") for name in names):
        raise _badly_formed_traits(form, f"Got: {quote(value)}")
    return names


def _badly_formed_traits(form: str, got: str) -> HttpError:
    reason = f"Expected 'required' parameter value of the form: {form}. {got}"
    return HttpError(400, INVALID.format(reason))


def conflicting_traits(rule: TraitRule) -> list[frozenset[str]]:
    """Required sets of which every trait is forbidden, so that no provider can match."""
    return [names for names in rule.required if names <= rule.forbidden]


def parse_aggregates(
    values: Sequence[str], version: Version, *, parameter: str = "member_of"
) -> AggregateRule:
    """The values of `member_of`, or of a parameter of the same form."""
    refuse_many(parameter, values)
    if len(values) > 1 and version < (1, 24):
        raise HttpError(400, "Multiple member_of parameters are not supported")
    required: list[frozenset[str]] = []
    forbidden: set[str] = set()
    for value in values:
        uuids = _aggregate_uuids(value, parameter)
        if value.startswith("!"):
            if version < (1, 32):
                raise HttpError(
                    400,
                    "Forbidden member_of parameters are not supported in the specified "
                    "microversion",
                )
            forbidden |= uuids
        else:
            required.append(uuids)
    return AggregateRule(required=tuple(dict.fromkeys(required)), forbidden=frozenset(forbidden))


def _aggregate_uuids(value: str, parameter: str) -> frozenset[str]:
    text = value.removeprefix("!")
    if text.startswith("in:"):
        uuids = text.removeprefix("in:").split(",")
    elif "," in text:
        raise HttpError(
            400,
            f"Multiple values for '{parameter}' must be prefixed with the 'in:' or '!in:' keyword "
            f"using the valid microversion. Got: {quote(value)}",
        )
    else:
        uuids = [text]
    for uuid in uuids:
        if not is_uuid(uuid):
            got = quote(uuid)
            reason = f"Expected '{parameter}' parameter to contain valid UUID(s). Got: {got}"
            raise HttpError(400, INVALID.format(reason))
    return canonical_uuids(uuids)


def parse_in_tree(text: str, *, parameter: str = "in_tree") -> str:
    """The value of `in_tree`, or of a parameter of the same form."""
    text = text.strip()
    if not is_uuid(text):
        reason = f"Expected '{parameter}' parameter to be a format of uuid. Got: {quote(text)}"
        raise HttpError(400, INVALID.format(reason))
    return canonical_uuid(text)
