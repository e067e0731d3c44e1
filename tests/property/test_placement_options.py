"""The candidates of a search as arrays say the same as the candidates as values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as evolve

from roost.operations.placing.options import options_of
from roost.query import CandidateQuery
from roost.search.budget import Budget
from roost.search.find import find
from roost.search.index.index import Index
from tests.property.extended import worlds_and_split_queries
from tests.property.strategies import worlds_and_queries
from tests.support.world import World, rows


@given(worlds_and_queries() | worlds_and_split_queries())
def test_arrays_say_what_candidates_say(world_and_query: tuple[World, CandidateQuery]) -> None:
    world, query = world_and_query
    index = Index.build(rows(world))
    answer = find(index, query)
    candidates = list(answer.each_candidate())
    assert list(answer.candidates_of(np.arange(answer.count))) == candidates
    options = options_of(index, answer, Budget())
    taken = answer.taken(Budget())
    sharing = set(index.sharing_rows().tolist())
    for number, candidate in enumerate(candidates):
        wanted = {
            (index.row_of_uuid[uuid], index.classes.ids[name]): amount
            for uuid, resources in candidate.allocations.items()
            for name, amount in resources.items()
        }
        lines = [each[number].tolist() for each in taken]
        found = {(row, name): amount for row, name, amount in zip(*lines, strict=True) if amount}
        assert found == wanted
        serving = {index.row_of_uuid[uuid] for some in candidate.mappings.values() for uuid in some}
        hosts = {int(index.rows.root[row]) for row in serving - sharing}
        assert hosts - {-1} == {int(options.hosts[number])} - {-1}
        free = options.free[options.takes[number]].tolist()
        for row, name, amount, left in zip(*lines, free, strict=True):
            if amount:
                assert left == index.free(name, row)


@given(worlds_and_queries(), st.integers(0, 100))
def test_a_search_that_begins_anywhere_finds_the_same(
    world_and_query: tuple[World, CandidateQuery], begin: int
) -> None:
    world, query = world_and_query
    index = Index.build(rows(world))
    query = evolve(query, limit=10_000)
    found = find(index, query, begin=begin % max(index.rows.count, 1))
    expected = find(index, query)
    assert found.count == expected.count
    assert all(candidate in expected.candidates for candidate in found.candidates)
