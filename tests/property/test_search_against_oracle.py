"""The search follows the documents, on worlds small enough to try everything."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as evolve

from roost.model import ProviderSummary
from roost.query import CandidateQuery
from roost.search.answer import Answer
from roost.search.find import find
from roost.search.index.index import Index
from tests import oracle
from tests.property.strategies import (
    EXAMPLE_COUNT,
    Seeded,
    make_query,
    make_world,
    worlds_and_queries,
)
from tests.support.world import World, WorldProvider, rows

QUERIES_PER_WORLD = 10


def search(world: World, query: CandidateQuery, *, limit: int | None = None) -> Answer:
    return find(Index.build(rows(world)), evolve(query, limit=limit))


def answers(query: CandidateQuery, found: Answer) -> list[oracle.Answer]:
    return [oracle.answer_of_candidate(candidate) for candidate in found.candidates]


@given(worlds_and_queries())
def test_the_search_finds_exactly_the_valid_candidates(case: tuple[World, CandidateQuery]) -> None:
    world, query = case
    found = answers(query, search(world, query))
    assert set(found) == oracle.candidates(world, query)
    assert len(found) == len(set(found))


def test_the_search_finds_exactly_the_valid_candidates_for_seeds() -> None:
    """Hypothesis prefers small worlds; these are as large as the generator makes them."""
    for seed in range(EXAMPLE_COUNT):
        choices = Seeded(seed)
        world = make_world(choices)
        index = Index.build(rows(world))
        for _ in range(QUERIES_PER_WORLD):
            query = make_query(choices, world)
            found = answers(query, find(index, query))
            assert set(found) == oracle.candidates(world, query), (seed, query)
            assert len(found) == len(set(found)), (seed, query)


@given(worlds_and_queries(), st.integers(min_value=1, max_value=8))
def test_a_limit_bounds_the_candidates(case: tuple[World, CandidateQuery], limit: int) -> None:
    world, query = case
    expected = oracle.candidates(world, query)
    found = answers(query, search(world, query, limit=limit))
    assert set(found) <= expected
    assert len(found) == len(set(found)) == min(limit, len(expected))


@given(worlds_and_queries(), st.none() | st.integers(min_value=1, max_value=3))
def test_summaries_show_the_trees_that_serve(
    case: tuple[World, CandidateQuery], limit: int | None
) -> None:
    """Whole trees of the providers that serve; before 1.29 only these providers."""
    world, query = case
    found = search(world, query, limit=limit)
    serving = {uuid for candidate in found.candidates for uuid in candidate.allocations}
    trees = {world.providers[uuid].root_uuid for uuid in serving}
    shown = [
        one
        for one in world.providers.values()
        if one.uuid in serving or (query.nested_aware and one.root_uuid in trees)
    ]
    assert len(found.summaries) == len(shown)
    summaries = {summary.uuid: summary for summary in found.summaries}
    assert summaries.keys() == {one.uuid for one in shown}
    for one in shown:
        check_summary(summaries[one.uuid], one)


def check_summary(summary: ProviderSummary, one: WorldProvider) -> None:
    assert summary.parent_uuid == one.parent_uuid
    assert summary.root_uuid == one.root_uuid
    assert set(summary.traits) == one.traits
    assert len(summary.traits) == len(one.traits)
    assert summary.resources == {
        name: (inventory.capacity, one.used[name]) for name, inventory in one.inventories.items()
    }
