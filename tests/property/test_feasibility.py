"""A decision on a partial way is right: it can be completed if and only if some way has it."""

from functools import reduce
from operator import or_
from random import Random

import pytest
from msgspec.structs import replace as evolve

from roost.query import CandidateQuery
from roost.search import combine
from roost.search.budget import Budget
from roost.search.find import Search
from roost.search.hard.feasibility import Feasibility
from roost.search.hard.matching import can_match
from roost.search.index.index import Index
from tests.hostile.test_hard_requests import make_devices, make_hard_query
from tests.property.strategies import EXAMPLE_COUNT, Seeded, make_world, sometimes
from tests.support.world import rows

PARTIAL_WAYS = 12


def check(index: Index, query: CandidateQuery, random: Random) -> list[bool]:
    """The decisions that were made."""
    search = Search(index, query)
    # One memory for all trees and partial ways, so that what is equal must be.
    feasibility, decisions = Feasibility(search.constraints, search.budget), []
    for batch in search.batches():
        for tree in batch.easy.tolist():
            options = [own.tolist() for own in batch.options.of_tree(tree)]
            (ways,) = batch.ways_of_few([tree])
            feasible = feasibility.of_tree(batch.options.of_tree(tree))
            assert feasible is not None
            for _ in range(PARTIAL_WAYS):
                slots = random.sample(range(len(options)), random.randrange(len(options) + 1))
                partial = {number: random.choice(options[number]) for number in slots}
                exists = any(
                    all(way[number] == row for number, row in partial.items())
                    for way in ways.tolist()
                )
                assert feasible.can_be_completed(partial) == exists, (query, partial)
                decisions.append(exists)
    return decisions


@pytest.mark.parametrize("seeds_from", [0, 100_000])
def test_decisions_are_right(seeds_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combine, "WAYS_FEW", 10**6)
    monkeypatch.setattr(combine, "within_bounds", lambda bounds, options, trees, budget: trees)
    decisions = []
    for seed in range(seeds_from, seeds_from + EXAMPLE_COUNT):
        choices = Seeded(seed)
        world = make_world(choices) if sometimes(choices, 3) else make_devices(choices)
        query = make_hard_query(choices)
        query = evolve(query, groups=query.groups[:5])
        decisions += check(Index.build(rows(world)), query, Random(seed))
    # Both happen often.
    assert min(decisions.count(True), decisions.count(False)) > EXAMPLE_COUNT / 2


def has_matching(slots: list[int]) -> bool:
    """Hall's theorem: any slots together have as many options as they are."""
    for some in range(1, 1 << len(slots)):
        together = reduce(or_, (slots[n] for n in range(len(slots)) if some >> n & 1))
        if together.bit_count() < some.bit_count():
            return False
    return True


@pytest.mark.parametrize("seed", range(20))
def test_slots_find_rows_of_their_own_if_and_only_if_hall_says_so(seed):
    random = Random(seed)
    found = []
    for _ in range(20):
        count = random.randrange(1, 8)
        slots = [
            random.randrange(1, 1 << count) & random.randrange(1 << count) for _ in range(count)
        ]
        found.append(can_match(slots, Budget()))
        assert found[-1] == has_matching(slots), slots
    assert len(set(found)) == 2


def test_one_row_too_few_is_seen_at_once():
    """And every step is one of the budget: 256 groups took half a second without a question."""
    budget = Budget()
    assert not can_match([2**255 - 1] * 256, budget)
    assert budget.steps <= 256
