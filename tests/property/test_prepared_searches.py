"""What the index prepares for searches changes no answer, whatever happens to the index."""

import copy

import numpy as np
import pytest

from roost.query import CandidateQuery, RequestGroup
from roost.search import match, sharing
from roost.search.find import Search, find
from roost.search.index.advance import advance
from roost.search.index.index import Index
from roost.search.index.sharing_rows import SharingCache
from roost.search.match import fits_mask
from tests.property.test_advance import AGGREGATES, Tables

GROUPS = [
    (RequestGroup(resources={"CLASS0": 1, "CLASS1": 2}),),
    (RequestGroup(resources={"CLASS0": 2, "CLASS1": 1, "CLASS2": 1}),),
    (RequestGroup(suffix="_A", resources={"CLASS1": 1, "CLASS2": 2}),),
    (RequestGroup(resources={"CLASS2": 3}), RequestGroup(suffix="_A", resources={"CLASS0": 1})),
]
QUERIES = [CandidateQuery(groups=groups, limit=limit) for groups in GROUPS for limit in (1, 4, 64)]


def without_preparation(index):
    """The same cloud, of which nothing is known but what its columns say."""
    other = copy.copy(index)
    other.sharing = copy.copy(index.sharing)
    other.sharing.cache = SharingCache()
    return other


def begin_to_share(tables):
    """Chance alone makes too few providers share that have anything."""
    number = tables.any_provider()
    tables.traits[number] = [1]
    tables.inventories[number, 1] = (50, 0, 1, 50, 1, 1.5)
    for each in (number, tables.any_provider()):
        tables.aggregates[each] = AGGREGATES[:1]
        tables.changed.add(each)


def worlds(seed, rounds=30):
    """An index after each of some random changes, with what earlier searches left in it."""
    tables = Tables(seed)
    index = Index.build(tables.rows())
    for _ in range(rounds):
        for _ in range(tables.random.randrange(1, 5)):
            tables.write()
        if tables.random.random() < 0.3:
            begin_to_share(tables)
        advance(index, tables.take_changes())
        yield index


@pytest.mark.parametrize("seed", range(12))
def test_a_prepared_search_finds_what_an_unprepared_one_finds(seed):
    snapshots = []
    for index in worlds(seed):
        snapshots = [*snapshots[-3:], index.snapshot()]
        # Older snapshots too, because they share what is prepared.
        for each in snapshots:
            for query in QUERIES:
                assert (
                    find(each, query).candidates
                    == find(without_preparation(each), query).candidates
                )


@pytest.mark.parametrize("seed", range(12))
def test_the_first_ways_are_those_of_all_options(seed):
    compared = 0
    for index in worlds(seed):
        for query in QUERIES:
            search = Search(index, query, limit=query.limit)
            for trees in search.options.trees():
                if search.options.is_simple(trees):
                    accepted, ways = search._combination(search.options.options(trees)).first_ways()
                    assert accepted.all()
                    assert search.options.first_ways(trees).tolist() == ways.tolist()
                    compared += len(ways)
    assert compared


@pytest.mark.parametrize("seed", range(12))
def test_what_the_limits_of_a_column_allow_each_inventory_allows(seed):
    for index in worlds(seed):
        for column in index.columns.values():
            filled = slice(0, column.count)
            for amount in filter(column.units.allow, range(1, 24)):
                exact = copy.copy(column)
                # Allows nothing at a glance, so that each inventory is asked.
                exact.units = column.units._replace(min_unit=2**31)
                assert np.array_equal(
                    fits_mask(column, filled, amount), fits_mask(exact, filled, amount)
                )


def test_what_is_prepared_is_bounded(monkeypatch):
    monkeypatch.setattr(match, "HOLDERS_CACHED", 2)
    monkeypatch.setattr(sharing, "FIRSTS_CACHED", 2)
    most = 0
    for seed in range(4):
        for index in worlds(seed):
            for query in QUERIES:
                find(index, query)
                cache = index.sharing.cache
                assert max(len(cache.holders), len(cache.firsts)) <= 2
                most = max(most, len(cache.holders) + len(cache.firsts))
    assert most > 2
