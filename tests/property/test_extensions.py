"""The search follows the documented extensions, on worlds small enough to try everything."""

from collections import Counter

import pytest
from hypothesis import given
from msgspec.structs import replace as evolve

from roost.query import CandidateQuery
from roost.search import combine
from roost.search.find import find
from roost.search.hard import block_search
from roost.search.index.index import Index
from tests import oracle
from tests.property.extended import make_extended_query, worlds_and_extended_queries
from tests.property.strategies import EXAMPLE_COUNT, Seeded, make_world
from tests.support.world import World, rows

QUERIES_PER_WORLD = 10


def check(index: Index, world: World, query: CandidateQuery, note: object = None) -> None:
    found = [oracle.answer_of_candidate(candidate) for candidate in find(index, query).candidates]
    assert set(found) == oracle.candidates(world, query), (note, query)
    assert len(found) == len(set(found)), (note, query)


@given(worlds_and_extended_queries())
def test_the_search_finds_exactly_the_valid_candidates(case: tuple[World, CandidateQuery]) -> None:
    world, query = case
    check(Index.build(rows(world)), world, query)


@pytest.mark.parametrize(
    ("ways_few", "patience"),
    [
        (combine.WAYS_FEW, block_search.PATIENCE),
        (0, block_search.PATIENCE),
        (0, -block_search.PATIENCE),
    ],
    ids=["checked at once", "searched", "looking ahead"],
)
def test_the_search_finds_exactly_the_valid_candidates_for_seeds(
    ways_few: int, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worlds as large as the generator makes them, on all paths of `combine`."""
    monkeypatch.setattr(combine, "WAYS_FEW", ways_few)
    monkeypatch.setattr(block_search, "PATIENCE", patience)
    for seed in range(EXAMPLE_COUNT // 2):
        choices = Seeded(seed)
        world = make_world(choices)
        index = Index.build(rows(world))
        for _ in range(QUERIES_PER_WORLD):
            check(index, world, make_extended_query(choices, world), seed)


def test_every_extension_makes_a_difference() -> None:
    """The tests above say nothing about a rule that never excludes a candidate by itself."""
    decisive: Counter[str] = Counter()
    rules = (
        oracle.isolate,
        oracle.elsewhere,
        oracle.in_subtree,
        oracle.root_member_of,
    )
    for seed in range(100):
        choices = Seeded(seed)
        world = make_world(choices)
        for _ in range(QUERIES_PER_WORLD):
            query = make_extended_query(choices, world)
            for root in world.roots:
                for assignment in oracle.assignments(world, query, root):
                    violated = [rule for rule in oracle.RULES if not rule(assignment)]
                    if len(violated) == 1:
                        decisive[violated[0].__name__] += 1
            suffixed = tuple(group for group in query.groups if group.suffix)
            if any(group.anywhere for group in query.groups) and any(g.resources for g in suffixed):
                # An unsuffixed group without resources is no rule but part of an assignment.
                found = oracle.candidates(world, query)
                allowed = oracle.candidates(world, evolve(query, groups=suffixed))
                assert {one.allocations for one in found} <= {one.allocations for one in allowed}
                decisive["anywhere"] += len(found) < len(allowed)
                decisive["found"] += bool(found)
    assert all(decisive[rule.__name__] > 10 for rule in rules), decisive
    assert min(decisive["anywhere"], decisive["found"]) > 10, decisive
