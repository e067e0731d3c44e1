"""The two forms of each constraint agree: many ways at once, and one way with its pieces.

The ways are drawn at random, so most of them violate a constraint.
"""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as evolve

from roost.query import CandidateQuery
from roost.search.budget import Budget
from roost.search.constraints import (
    Constraint,
    DifferentProviders,
    JointCapacity,
    OneProviderPerTree,
    OutsideSubtree,
    Piece,
    Pieces,
    Room,
    SameSubtree,
    TraitAmongProviders,
)
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.match import GroupMatcher, Slot
from roost.search.request_constraints import RequestConstraints
from roost.search.split.slots import slots_of
from tests.property.extended import make_extended_query
from tests.property.strategies import EXAMPLE_COUNT, Choices, Drawn, Seeded, make_world, sometimes
from tests.support.world import World, rows

WAY_COUNT = 8
KINDS: tuple[type[Constraint], ...] = (
    DifferentProviders,
    OneProviderPerTree,
    JointCapacity,
    SameSubtree,
    OutsideSubtree,
    TraitAmongProviders,
)


def make_case(choices: Choices) -> tuple[World, CandidateQuery]:
    world = make_world(choices)
    query = make_extended_query(choices, world)
    return world, evolve(query, nested_aware=not sometimes(choices, 3))


def make_ways(choices: Choices, index: Index, slots: list[Slot]) -> list[list[int]] | None:
    """Ways in which each slot has any provider that could serve its amounts alone."""
    options = [[row for row in range(index.rows.count) if has_room(index, row, s)] for s in slots]
    if not all(options):
        return None
    return [[choices.one_of(rows) for rows in options] for _ in range(WAY_COUNT)]


def has_room(index: Index, row: int, slot: Slot) -> bool:
    return all(
        class_id in index.row_classes(row) and Room(index, class_id).of_row(row) >= amount
        for class_id, amount in slot.demands.items()
    )


def as_pieces(slots: list[Slot], way: list[int]) -> list[Pieces]:
    return [
        (Piece(slot.group.suffix, row, slot.demands),) for slot, row in zip(slots, way, strict=True)
    ]


def check(choices: Choices) -> Counter[tuple[type[Constraint], bool]]:
    """How often each kind of constraint was met and broken."""
    counts: Counter[tuple[type[Constraint], bool]] = Counter()
    world, query = make_case(choices)
    index = Index.build(rows(world))
    if sometimes(choices, 2):
        # As in the split search: a group may have several slots. None of them is split here.
        split = evolve(
            query,
            groups=tuple(
                evolve(group, can_split=frozenset(list(group.resources)[:1]))
                for group in query.groups
            ),
        )
        slots = [each.slot for each in slots_of(index, split, Budget())]
    else:
        slots = [slot for group in query.groups for slot in GroupMatcher(index, group).make_slots()]
    ways = make_ways(choices, index, slots)
    if ways is None:
        return counts
    constraints = RequestConstraints(index, query, slots)
    columns: list[Integers] = list(np.array(ways).T)
    verdicts = []
    for order in (list(range(len(slots))), sorted(range(len(slots)), key=lambda n: -n)):
        verdict = np.ones(WAY_COUNT, dtype=np.bool_)
        for filled, step in enumerate(constraints.steps(order), 1):
            # A step knows the slots that are filled by then, and no others.
            partial = {number: columns[number] for number in order[:filled]}
            for constraint in step:
                mask = constraint.mask(partial)
                verdict &= mask
                for way, accepted in zip(ways, mask.tolist(), strict=True):
                    pieces = as_pieces(slots, way)
                    one = {number: pieces[number] for number in order[:filled]}
                    assert constraint.allows(one) == accepted, (constraint, way, query)
                    counts[type(constraint), accepted] += 1
        verdicts.append(verdict.tolist())
    # A constraint wrongly treated as monotonic would depend on the order of filling.
    assert verdicts[0] == verdicts[1], query
    return counts


@given(st.data())
def test_both_forms_agree(data: st.DataObject) -> None:
    check(Drawn(data.draw))


def test_both_forms_agree_for_seeds() -> None:
    counts: Counter[tuple[type[Constraint], bool]] = Counter()
    for seed in range(EXAMPLE_COUNT * 2):
        counts += check(Seeded(seed))
    # Each kind was met and broken often enough for the agreement to be meaningful.
    for kind in KINDS:
        assert counts[kind, True] > EXAMPLE_COUNT / 8, (kind, counts)
        assert counts[kind, False] > EXAMPLE_COUNT / 8, (kind, counts)
