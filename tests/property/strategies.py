"""Small worlds in which rules interact often, and queries to them.

One generator serves two callers: hypothesis, which shrinks what fails, and a seeded random
generator, for tests that must load each world into a server and so cannot afford shrinking.
"""

import os
from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

from hypothesis import strategies as st

from roost.model import INTEGER_MAX, SHARING_TRAIT, Inventory
from roost.query import AggregateRule, CandidateQuery, ProviderQuery, RequestGroup, TraitRule
from tests.support.names import uid
from tests.support.world import World, build, provider

CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")
TRAITS = ("HW_CPU_X86_AVX", "HW_CPU_X86_MMX", "HW_CPU_X86_SSE")
AGGREGATES = ("A", "B", "C")
SUFFIXES = ("1", "2", "3")

# How many cases a test tries; raise it to search longer.
EXAMPLE_COUNT = int(os.environ.get("ROOST_EXAMPLES", "150"))

# Slots of a request; the oracle tries each provider for each of them.
SLOT_COUNT_MAX = 4

Item = TypeVar("Item")


# ---------------------------------------------------------------------------------------------
# Where choices come from


class Choices(Protocol):
    def one_of(self, items: Sequence[Item]) -> Item: ...


class Drawn:
    """Choices by hypothesis, which shrinks towards the first item."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def one_of(self, items: Sequence[Item]) -> Item:
        return self._draw(st.sampled_from(items))


class Seeded:
    """Choices that depend on a seed only."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def one_of(self, items: Sequence[Item]) -> Item:
        return self._random.choice(items)


def sometimes(choices: Choices, one_in: int) -> bool:
    return choices.one_of([False] * (one_in - 1) + [True])


def some_of(choices: Choices, items: Sequence[Item], one_in: int = 2) -> list[Item]:
    return [item for item in items if sometimes(choices, one_in)]


def most_of(choices: Choices, items: Sequence[Item]) -> list[Item]:
    return [item for item in items if not sometimes(choices, 4)]


# ---------------------------------------------------------------------------------------------
# Worlds


def make_world(choices: Choices) -> World:
    names = [f"p{number}" for number in range(choices.one_of([2, 3, 4, 4, 5, 5]))]
    plans = []
    for number, name in enumerate(names):
        # One provider in three is a root, so that most worlds have two trees or more.
        root = number == 0 or sometimes(choices, 3)
        parent = None if root else choices.one_of(names[:number])
        inventories = {each: make_inventory(choices) for each in most_of(choices, CLASSES)}
        plans.append(
            provider(
                name,
                inventories,
                parent=parent,
                used={each: make_used(choices, inventories[each]) for each in inventories},
                traits=[
                    *some_of(choices, TRAITS),
                    *([SHARING_TRAIT] if sometimes(choices, 3) else []),
                ],
                aggregates=some_of(choices, AGGREGATES),
            )
        )
    return build(*plans, resource_classes=CLASSES, traits=[*TRAITS, SHARING_TRAIT])


def make_inventory(choices: Choices) -> Inventory:
    total = choices.one_of([4, 4, 8, 1, 2, 3])
    if not sometimes(choices, 5):
        return Inventory(total=total)
    minimum = choices.one_of([1, 1, 2])
    return Inventory(
        total=total,
        reserved=choices.one_of([0, 0, 1, total]),
        min_unit=minimum,
        max_unit=choices.one_of([INTEGER_MAX, minimum, minimum + 1, 4]),
        step_size=choices.one_of([1, 1, 2, 3]),
        allocation_ratio=choices.one_of([1.0, 1.0, 0.5, 0.29, 1.5, 2.0]),
    )


def make_used(choices: Choices, inventory: Inventory) -> int:
    """Mostly less than the capacity, and sometimes more, as after an inventory was shrunk."""
    some = [1, 2, max(0, inventory.capacity - 1), inventory.capacity + 1]
    return choices.one_of([0] * 12 + some)


# ---------------------------------------------------------------------------------------------
# Queries


def make_query(choices: Choices, world: World) -> CandidateQuery:
    count = choices.one_of([0, 0, 1, 1, 2, 2, 3])
    suffixed = [make_group(choices, world, suffix) for suffix in SUFFIXES[:count]]
    resourceless = [group.suffix for group in suffixed if not group.resources]
    has_resources = len(suffixed) > len(resourceless)
    unsuffixed = []
    if not has_resources or sometimes(choices, 2):
        unsuffixed = [make_group(choices, world, "", SLOT_COUNT_MAX - len(suffixed))]
    return CandidateQuery(
        groups=(*unsuffixed, *suffixed),
        isolate=sometimes(choices, 3),
        same_subtree=make_subtrees(choices, [group.suffix for group in suffixed], resourceless),
        root_traits=make_traits(choices, alternatives=False),
        nested_aware=not sometimes(choices, 5),
    )


def make_group(
    choices: Choices, world: World, suffix: str, class_count_max: int = len(CLASSES)
) -> RequestGroup:
    resources = {}
    if not suffix or not sometimes(choices, 5):
        names = some_of(choices, CLASSES, 3) or [choices.one_of(CLASSES)]
        resources = {
            name: choices.one_of([1, 1, 1, 1, 2, 2, 3]) for name in names[:class_count_max]
        }
    traits, aggregates = make_traits(choices), make_aggregates(choices)
    in_tree = make_tree(choices, world)
    if not (resources or traits or aggregates or in_tree):
        traits = TraitRule(required=(frozenset([choices.one_of(TRAITS)]),))
    return RequestGroup(
        suffix=suffix, resources=resources, traits=traits, aggregates=aggregates, in_tree=in_tree
    )


def make_traits(choices: Choices, *, alternatives: bool = True) -> TraitRule:
    if not sometimes(choices, 6):
        return TraitRule()
    names = [*TRAITS, SHARING_TRAIT]
    required = [frozenset([name]) for name in some_of(choices, names, 5)]
    if alternatives and sometimes(choices, 3):
        required.append(frozenset(some_of(choices, TRAITS) or TRAITS[:1]))
    forbidden = frozenset(some_of(choices, names, 5))
    # Required and forbidden at once is refused before any search.
    possible = tuple(each for each in required if not each <= forbidden)
    return TraitRule(required=possible, forbidden=forbidden)


def make_aggregates(choices: Choices) -> AggregateRule:
    if not sometimes(choices, 6):
        return AggregateRule()
    required = [
        frozenset(map(uid, some_of(choices, AGGREGATES) or AGGREGATES[:1]))
        for _ in range(choices.one_of([1, 0, 2]))
    ]
    forbidden = frozenset(map(uid, some_of(choices, AGGREGATES, 5)))
    return AggregateRule(required=tuple(required), forbidden=forbidden)


def make_tree(choices: Choices, world: World) -> str | None:
    if not sometimes(choices, 10):
        return None
    return choices.one_of([*world.providers, uid("nobody")])


def make_subtrees(
    choices: Choices, suffixes: list[str], resourceless: list[str]
) -> tuple[frozenset[str], ...]:
    """Every resourceless group must be named, or the request is refused before any search."""
    named = []
    if suffixes and sometimes(choices, 3):
        named.append(frozenset(some_of(choices, suffixes) or suffixes[:1]))
    missing = [suffix for suffix in resourceless if not any(suffix in each for each in named)]
    if missing:
        named.append(frozenset([*missing, *some_of(choices, suffixes)]))
    return tuple(named)


def make_provider_query(choices: Choices, world: World) -> ProviderQuery:
    chosen = choices.one_of([*world.providers.values()])
    return ProviderQuery(
        uuid=choices.one_of([None, None, None, chosen.uuid, uid("nobody")]),
        name=choices.one_of([None, None, None, chosen.name]),
        in_tree=make_tree(choices, world),
        resources={name: choices.one_of([1, 2, 3]) for name in some_of(choices, CLASSES, 4)},
        traits=make_traits(choices),
        aggregates=make_aggregates(choices),
    )


# ---------------------------------------------------------------------------------------------
# For hypothesis


@st.composite
def worlds(draw: st.DrawFn) -> World:
    return make_world(Drawn(draw))


@st.composite
def worlds_and_queries(draw: st.DrawFn) -> tuple[World, CandidateQuery]:
    choices = Drawn(draw)
    world = make_world(choices)
    return world, make_query(choices, world)


@st.composite
def worlds_and_provider_queries(draw: st.DrawFn) -> tuple[World, ProviderQuery]:
    choices = Drawn(draw)
    world = make_world(choices)
    return world, make_provider_query(choices, world)
