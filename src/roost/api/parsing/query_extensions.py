"""Parameters of a candidate query that roost has beyond 1.39; see docs/reference/beyond.md."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace as evolve

from roost.api.http_error import ErrorCode, HttpError
from roost.api.parsing.query_string import Parameters, once, refuse_many
from roost.api.parsing.request_groups import parse_same_subtree, refuse_many_rules
from roost.api.schemas.bounds import SPLITS_MAX
from roost.api.versions import VERSION_MAX, Version
from roost.query import Elsewhere, RequestGroup
from roost.quoting import quote, quote_value

_EXTENSION_NAME = re.compile(
    r"root_member_of|isolate|order|after|(in_subtree|can_split).*", re.DOTALL
)


def is_extended(parameters: Parameters, version: Version) -> bool:
    """Whether a request uses an extension."""
    return version == VERSION_MAX and (
        any(map(_EXTENSION_NAME.fullmatch, parameters))
        or has_alternatives(parameters.get("root_required", ()))
        or any("!" in value for value in parameters.get("same_subtree", ()))
    )


def has_alternatives(values: Iterable[str]) -> bool:
    """Whether `root_required` has the form `in:A,B`, which an extension allows."""
    return any(value.strip().startswith("in:") for value in values)


def parse_isolated(
    parameters: Parameters, groups: Sequence[RequestGroup]
) -> tuple[frozenset[str], ...]:
    """The values of `isolate`: no two groups of a set may have the same provider."""
    values = parameters.get("isolate", ())
    if values and "group_policy" in parameters:
        raise _bad("`isolate` and `group_policy` can not be specified together.")
    refuse_many_rules("isolate", values)
    sets = []
    for value in values:
        names = _suffixes(value)
        _refuse_unknown("isolate", names, groups)
        if len(set(names)) < 2:
            raise _bad(f"`isolate` should name at least two groups. Got: {quote(value)}")
        sets.append(frozenset(names))
    return tuple(dict.fromkeys(sets))


def with_splits(parameters: Parameters, groups: Sequence[RequestGroup]) -> tuple[RequestGroup, ...]:
    """The groups with `can_split`, which is for all groups, and `can_split_A`, which is for one."""
    for name in parameters:
        suffix = name.removeprefix("can_split")
        if suffix and suffix != name:
            _refuse_unknown("can_split", [suffix], groups)
    for_all = _classes(parameters, "can_split", groups)
    split = []
    for group in groups:
        own = _classes(parameters, f"can_split{group.suffix}", [group]) if group.suffix else for_all
        classes = (own | for_all).intersection(group.resources)
        split.append(evolve(group, can_split=classes) if classes else group)
    count = sum(len(group.can_split) for group in split)
    if count > SPLITS_MAX:
        raise _bad(f"`can_split` applies to {count} amounts, expected at most {SPLITS_MAX}.")
    return tuple(split)


def _classes(parameters: Parameters, name: str, groups: Sequence[RequestGroup]) -> frozenset[str]:
    text = once(parameters, name)
    if text is None:
        return frozenset()
    refuse_many(name, [text])
    classes = _suffixes(text)
    asked = {each for group in groups for each in group.resources}
    stray = sorted(set(classes) - asked)
    if stray:
        raise _bad(
            f"`{name}` should name resource classes that are asked for. Got: {quote_value(stray)}"
        )
    return frozenset(classes)


class Subtrees(NamedTuple):
    """What `same_subtree` asks: groups that share a subtree, and groups outside of one."""

    same: tuple[frozenset[str], ...]
    elsewhere: tuple[Elsewhere, ...] = ()


def parse_subtrees(
    values: Sequence[str], groups: Sequence[RequestGroup], *, extended: bool
) -> Subtrees:
    if not extended:
        return Subtrees(parse_same_subtree(values, groups))
    refuse_many_rules("same_subtree", values)
    inside_texts, elsewhere = [], []
    for value in values:
        names = _suffixes(value)
        outside = [name.removeprefix("!") for name in names if name.startswith("!")]
        inside = [name for name in names if not name.startswith("!")]
        inside_texts.append(",".join(inside))
        if not outside:
            continue
        _refuse_unknown("same_subtree", outside, groups)
        if not inside:
            raise _bad(
                "`same_subtree` should name a group without `!`, from whose subtree the others "
                f"stay away. Got: {quote(value)}"
            )
        both = sorted(set(inside).intersection(outside))
        if both:
            raise _bad(
                f"`same_subtree` names {quote_value(both)} both with and without `!`. "
                f"Got: {quote(value)}"
            )
        elsewhere.append(Elsewhere(inside=frozenset(inside), outside=frozenset(outside)))
    same = parse_same_subtree(inside_texts, groups, extended=True)
    return Subtrees(same, tuple(dict.fromkeys(elsewhere)))


def _suffixes(value: str) -> list[str]:
    return [name.strip() for name in value.split(",")]


def _refuse_unknown(name: str, named: Sequence[str], groups: Sequence[RequestGroup]) -> None:
    if "" in named:
        raise _bad(f"Empty string (unsuffixed group) can not be specified in `{name}`.")
    suffixes = [group.suffix for group in groups]
    unknown = sorted(set(named).difference(suffixes))
    if unknown:
        raise _bad(
            f"Real suffixes should be specified in `{name}`: {quote_value(unknown)} not found in "
            f"{quote_value(suffixes)}."
        )


def _bad(message: str) -> HttpError:
    return HttpError(400, message, ErrorCode.QUERY_BAD_VALUE)
