"""Queries with roost's extensions of 1.39, for the worlds of `strategies`."""

from collections.abc import Iterable

from hypothesis import strategies as st
from msgspec.structs import replace as evolve

from roost.query import CandidateQuery, Elsewhere, RequestGroup
from tests.property.strategies import (
    Choices,
    Drawn,
    make_aggregates,
    make_group,
    make_query,
    make_traits,
    make_world,
    some_of,
    sometimes,
)
from tests.support.names import uid
from tests.support.world import World


def make_extended_query(choices: Choices, world: World) -> CandidateQuery:
    """A query of a client of 1.39, in most cases with extensions that only roost has."""
    query = make_query(choices, world)
    groups = query.groups
    if any(group.suffix and group.resources for group in groups) and sometimes(choices, 4):
        # Instead of the unsuffixed group, if there is one.
        suffixed = [group for group in groups if group.suffix]
        groups = (make_group(choices, world, "", class_count_max=0), *suffixed)
    suffixes = [group.suffix for group in query.groups if group.suffix]
    elsewhere = make_elsewhere(choices, suffixes)
    isolated = make_isolated(choices, suffixes)
    return evolve(
        query,
        groups=tuple(with_subtree(choices, world, group) for group in groups),
        # A query has only one of the two.
        isolate=query.isolate and not isolated,
        isolated=isolated,
        same_subtree=(*query.same_subtree, *(rule.inside for rule in elsewhere)),
        elsewhere=elsewhere,
        root_traits=make_traits(choices),
        root_aggregates=make_aggregates(choices),
        nested_aware=True,
    )


def make_split_query(choices: Choices, world: World) -> CandidateQuery:
    """An extended query in which amounts are larger, and may be split."""
    query = make_extended_query(choices, world)
    # Two groups, since the oracle tries every split. They are enough for rules to interact.
    chosen = sorted(query.groups, key=lambda group: not group.resources)[:2]
    groups = [with_split(choices, group) for group in query.groups if group in chosen]
    if sum(len(group.can_split) for group in groups) > 2:
        groups = [evolve(group, can_split=frozenset(list(group.resources)[:1])) for group in groups]
    suffixes_left = {group.suffix for group in groups if group.suffix}

    def with_suffixes_left(sets: Iterable[frozenset[str]]) -> tuple[frozenset[str], ...]:
        return tuple(each for each in sets if each <= suffixes_left)

    return evolve(
        query,
        groups=tuple(groups),
        isolated=with_suffixes_left(query.isolated),
        same_subtree=with_suffixes_left(query.same_subtree),
        elsewhere=tuple(
            each for each in query.elsewhere if each.inside | each.outside <= suffixes_left
        ),
    )


def with_split(choices: Choices, group: RequestGroup) -> RequestGroup:
    names = list(group.resources)[:2]
    return evolve(
        group,
        resources={name: choices.one_of([2, 3, 4, 5, 6]) for name in names},
        can_split=frozenset(some_of(choices, names) or names[:1]),
    )


def with_subtree(choices: Choices, world: World, group: RequestGroup) -> RequestGroup:
    if not sometimes(choices, 8):
        return group
    return evolve(group, in_subtree=choices.one_of([*world.providers, uid("nobody")]))


def make_isolated(choices: Choices, suffixes: list[str]) -> tuple[frozenset[str], ...]:
    if len(suffixes) < 2 or sometimes(choices, 2):
        return ()
    sets = [frozenset(some_of(choices, suffixes)) for _ in range(choices.one_of([1, 2]))]
    return tuple(each if len(each) > 1 else frozenset(suffixes[:2]) for each in sets)


def make_elsewhere(choices: Choices, suffixes: list[str]) -> tuple[Elsewhere, ...]:
    if len(suffixes) < 2 or sometimes(choices, 2):
        return ()
    inside = some_of(choices, suffixes)[:-1] or [choices.one_of(suffixes)]
    outside = [suffix for suffix in suffixes if suffix not in inside]
    outside = some_of(choices, outside) or outside[:1]
    return (Elsewhere(inside=frozenset(inside), outside=frozenset(outside)),)


@st.composite
def worlds_and_extended_queries(draw: st.DrawFn) -> tuple[World, CandidateQuery]:
    choices = Drawn(draw)
    world = make_world(choices)
    return world, make_extended_query(choices, world)


@st.composite
def worlds_and_split_queries(draw: st.DrawFn) -> tuple[World, CandidateQuery]:
    choices = Drawn(draw)
    world = make_world(choices)
    return world, make_split_query(choices, world)
