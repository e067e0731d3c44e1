"""The parameters of a search: their names, and how they are read and sent."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from roost.client.errors import InvalidRequest
from roost.quoting import quote_value
from roost.suggestions import unknown

# The parameters of a whole request, and those that a suffix may follow: one group has them.
WHOLE = (
    "group_policy",
    "root_required",
    "root_member_of",
    "same_subtree",
    "isolate",
    "order",
    "limit",
    "after",
)
SUFFIXED = ("resources", "required", "member_of", "in_tree", "in_subtree", "can_split")

_SUFFIXED = re.compile(rf"({'|'.join(SUFFIXED)})(.*)", re.DOTALL)
_SUFFIX = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)

# Of these a body has a list. The others may be given once.
_REPEATED = frozenset(
    {"required", "member_of", "root_required", "root_member_of", "same_subtree", "isolate"}
)

# How a log ends a request: `GET /allocation_candidates?resources=VCPU:1 HTTP/1.1" 200`.
_END_IN_LOG = re.compile(r"\s+HTTP/[0-9].*|[\"']\s*$", re.DOTALL)
_FOLD = re.compile(r"\s*&\s*")

# What a mapping may have for a parameter. A sequence is a parameter that is repeated.
Parameter = str | int | Sequence[str] | Mapping[str, int]


# ---------------------------------------------------------------------------------------------
# Reading


def query_part(text: str) -> str:
    """What follows the path, without what a log adds to it."""
    before, mark, after = text.strip().partition("?")
    # A mark in a value is part of the query.
    query = _END_IN_LOG.sub("", after) if mark and "=" not in before else text.strip()
    # Long queries are folded into lines.
    return _FOLD.sub("&", query)


def checked(pairs: Iterable[tuple[str, str]], also: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The parameters, if the names of all are known."""
    parameters = tuple(pairs)
    for name, _ in parameters:
        if name in WHOLE or name in also:
            continue
        match = _SUFFIXED.fullmatch(name)
        if match is None:
            raise InvalidRequest(unknown("parameter", name, [*WHOLE, *also], suffixed=SUFFIXED))
        if match[2] and not is_suffix(match[2]):
            raise bad_suffix(match[2])
    return parameters


def is_suffix(text: str) -> bool:
    """Whether a group may have this suffix."""
    return bool(_SUFFIX.fullmatch(text))


def bad_suffix(suffix: str) -> InvalidRequest:
    return InvalidRequest(
        f"{quote_value(suffix)} is no suffix of a group: expected 1 to 64 letters, digits, _ or -"
    )


def texts_of(name: str, value: Parameter) -> Sequence[str]:
    """A value of a mapping as values of a query string."""
    if isinstance(value, Mapping):
        return [",".join(f"{each}:{amount}" for each, amount in value.items())]
    if isinstance(value, str):
        return [value]
    if isinstance(value, int) and not isinstance(value, bool):
        return [str(value)]
    texts: list[Any] = list(value) if isinstance(value, Iterable) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidRequest(f"{quote_value(name)} has {value!r} where a text is expected")
    return texts


# ---------------------------------------------------------------------------------------------
# Bodies


def body_of(query: Mapping[str, list[str]]) -> dict[str, Any]:
    """The body of POST /allocation_candidates that asks for what these parameters ask for."""
    groups: dict[str, dict[str, Any]] = {}
    body: dict[str, Any] = {"groups": groups}
    for name, values in query.items():
        match = _SUFFIXED.fullmatch(name)
        if match is None or name == "can_split":
            body[name] = _field(name, name, values)
        else:
            stem, suffix = match.groups()
            groups.setdefault(suffix, {})[stem] = _field(stem, name, values)
    return body


def _field(stem: str, name: str, values: list[str]) -> Any:
    """The field of a body for the values of a parameter."""
    if stem in _REPEATED:
        return values
    if len(values) > 1:
        raise InvalidRequest(f"{quote_value(name)} is given {len(values)} times, expected once")
    if stem == "resources":
        return _amounts(name, values[0].split(","))
    return _integer(name, values[0]) if stem == "limit" else values[0]


def _amounts(name: str, entries: Sequence[str]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for entry in entries:
        resource_class, _, amount = map(str.strip, entry.partition(":"))
        if resource_class in amounts:
            raise InvalidRequest(f"{quote_value(name)} has {quote_value(resource_class)} twice")
        amounts[resource_class] = _integer(name, amount)
    return amounts


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidRequest(
            f"{quote_value(name)} has {quote_value(text)} where an integer is expected"
        ) from None
