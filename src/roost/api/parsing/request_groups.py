"""The groups of a candidate query: parameters with the same suffix belong together."""

import re
from collections.abc import Iterable, Sequence

from roost.api.http_error import ErrorCode, HttpError
from roost.api.parsing.query_string import (
    INVALID,
    Parameters,
    conflicting_traits,
    once,
    parse_aggregates,
    parse_in_tree,
    parse_resources,
    parse_traits,
    refuse_many,
)
from roost.api.schemas.bounds import GROUPS_MAX, RULES_MAX
from roost.api.versions import Version
from roost.query import RequestGroup
from roost.quoting import quote_names, quote_value

_KEY = re.compile(r"(resources|required|member_of|in_tree|in_subtree)(.*)", re.DOTALL)


def parse_groups(parameters: Parameters, version: Version) -> tuple[RequestGroup, ...]:
    """All groups that parameters name, the one without a suffix first."""
    keys = [match for match in map(_KEY.fullmatch, parameters) if match]
    # The sort is stable: the others stay in the order of the query string.
    suffixes = sorted(dict.fromkeys(match[2] for match in keys), key=bool)
    if len(suffixes) > GROUPS_MAX:
        reason = f"{len(suffixes)} request groups, expected at most {GROUPS_MAX}"
        raise HttpError(400, INVALID.format(reason), ErrorCode.QUERY_BAD_VALUE)
    groups = tuple(_parse_group(parameters, suffix, version) for suffix in suffixes)
    _refuse_missing_resources(groups, version)
    _refuse_conflicting_traits(groups)
    return groups


def _parse_group(parameters: Parameters, suffix: str, version: Version) -> RequestGroup:
    resources = once(parameters, f"resources{suffix}")
    in_tree = once(parameters, f"in_tree{suffix}")
    in_subtree = once(parameters, f"in_subtree{suffix}")
    return RequestGroup(
        suffix=suffix,
        resources={} if resources is None else parse_resources(resources),
        traits=parse_traits(parameters.get(f"required{suffix}", ()), version),
        aggregates=parse_aggregates(parameters.get(f"member_of{suffix}", ()), version),
        in_tree=None if in_tree is None else parse_in_tree(in_tree),
        in_subtree=(
            None if in_subtree is None else parse_in_tree(in_subtree, parameter="in_subtree")
        ),
    )


def _refuse_missing_resources(groups: Sequence[RequestGroup], version: Version) -> None:
    """Before 1.36 every group needs resources; from 1.36 on, one of them does."""
    without = [group for group in groups if not group.resources]
    if version >= (1, 36):
        if len(without) == len(groups):
            raise HttpError(
                400,
                "There must be at least one resources or resources[$S] parameter.",
                ErrorCode.QUERY_MISSING_VALUE,
            )
        return
    # As in Placement, forbidden traits alone are not orphaned, and the first sentence of the
    # message is followed by two spaces.
    traits = sorted(f"required{group.suffix}" for group in without if group.traits.required)
    if traits:
        raise HttpError(
            400,
            "All traits parameters must be associated with resources.  Found the following "
            f"orphaned traits keys: {quote_names(traits)}",
        )
    aggregates = sorted(f"member_of{group.suffix}" for group in without if group.aggregates)
    if aggregates:
        raise HttpError(
            400,
            "All member_of parameters must be associated with resources. Found the following "
            f"orphaned member_of keys: {quote_names(aggregates)}",
        )
    if without:
        raise HttpError(400, "All request groups must specify resources.")
    if not groups:
        raise HttpError(
            400, "At least one request group (`resources` or `resources{$S}`) is required."
        )


def _refuse_conflicting_traits(groups: Iterable[RequestGroup]) -> None:
    conflicts = sorted(
        f"required{group.suffix}: ({quote_names(sorted(names))})"
        for group in groups
        for names in conflicting_traits(group.traits)
    )
    if conflicts:
        raise HttpError(
            400,
            "Conflicting required and forbidden traits found in the following traits keys: "
            + quote_names(conflicts),
        )


def refuse_many_rules(parameter: str, values: Sequence[str]) -> None:
    """Refuse very many values of a parameter that each name groups, and values of very many."""
    if len(values) > RULES_MAX:
        reason = f"'{parameter}' is given {len(values)} times, expected at most {RULES_MAX}"
        raise HttpError(400, INVALID.format(reason), ErrorCode.QUERY_BAD_VALUE)
    for value in values:
        refuse_many(parameter, [value], GROUPS_MAX)


def parse_same_subtree(
    values: Sequence[str], groups: Sequence[RequestGroup], *, extended: bool = False
) -> tuple[frozenset[str], ...]:
    """The groups that must share a subtree; every group without resources must be in one.

    An extension lets any provider of the tree meet the unsuffixed group, if it has no resources.
    """
    refuse_many_rules("same_subtree", values)
    subtrees = [frozenset(name.strip() for name in value.split(",")) for value in values]
    named = frozenset[str]().union(*subtrees)
    if "" in named:
        raise _bad_subtree(
            "Empty string (unsuffixed group) can not be specified in `same_subtree` "
        )
    stray = [
        group.suffix
        for group in groups
        if not group.resources and group.suffix not in named and not (extended and group.anywhere)
    ]
    if stray:
        raise _bad_subtree(
            "Resourceless suffixed group request should be specified in `same_subtree` query "
            f"param: bad group(s) - {quote_value(stray)}."
        )
    suffixes = [group.suffix for group in groups]
    unknown = sorted(named.difference(suffixes))
    if unknown:
        raise _bad_subtree(
            f"Real suffixes should be specified in `same_subtree`: {quote_value(unknown)} not "
            f"found in {quote_value(suffixes)}."
        )
    return tuple(dict.fromkeys(subtrees))


def _bad_subtree(message: str) -> HttpError:
    return HttpError(400, message, ErrorCode.QUERY_BAD_VALUE)
