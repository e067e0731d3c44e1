"""A decision on a partial way is right: it can be completed if and only if some way has it."""

from random import Random

import pytest
from msgspec.structs import replace as evolve

from roost.query import CandidateQuery
from roost.search import combine
from roost.search.find import Search
from roost.search.hard.feasibility import Feasibility
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
