"""Orders that are brought up to date equal orders that are made from nothing."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as evolve

from roost.changes import Changes
from roost.query import CandidateQuery, Order, OrderBy, RequestGroup
from roost.search.budget import Budget
from roost.search.find import Search, find
from roost.search.index import index as index_module
from roost.search.index import sorted_trees, tree_orders
from roost.search.index.advance import advance
from roost.search.index.index import Index
from roost.search.index.sorted_trees import SortedTrees
from roost.search.ordered import kept_order, pages
from roost.search.ordered.order import trees_in_order
from roost.search.what_if import what_if_copy
from roost.service.shared_index import SharedIndex
from tests.property.extended import make_extended_query
from tests.property.strategies import EXAMPLE_COUNT, Seeded, make_world
from tests.property.test_advance import Tables
from tests.support.world import build, provider, rows

ORDERS = [*(Order(by=by) for by in OrderBy), Order(by=OrderBy.RANDOM, seed=2**40)]
CLASS_NAMES = [("CLASS0",), ("CLASS0", "CLASS1"), ("CLASS2",)]


def query_for(names, order, limit=None, amount=1):
    group = RequestGroup(resources=dict.fromkeys(names, amount))
    return CandidateQuery(groups=(group,), order=order, limit=limit)


def in_order(index, query):
    """All trees, as (rank, UUID); from the first one, and from each other one."""
    trees = trees_in_order(index, query.order, Search(index, query).slots, Budget())

    def after(key):
        return [
            (rank, index.uuids[root])
            for roots, ranks in trees.after(key, {})
            for root, rank in zip(roots.tolist(), ranks.tolist(), strict=True)
        ]

    found = after(None)
    roots = index.root_rows()
    numbers, ranks = trees.among(roots)
    uuids = [index.uuids[root] for root in roots[numbers].tolist()]
    assert list(zip(ranks.tolist(), uuids, strict=True)) == found
    for place, key in enumerate(found[:3]):
        assert after(key) == found[place + 1 :]
        assert after((key[0], key[1] + "!")) == found[place + 1 :]
    assert after((float("-inf"), "")) == found
    assert after((float("inf"), "")) == []
    return found


def from_nothing(index, query):
    """The same, from the values of each inventory."""
    found = []
    for root in index.root_rows().tolist():
        fractions = []
        for name in query.groups[0].resources:
            class_id = index.classes.ids[name]
            column = index.columns.get(class_id)
            here = [row for row in index.tree_rows(root) if class_id in index.row_classes(row)]
            capacity = sum(int(column.capacity[column.position(row)]) for row in here)
            free = sum(max(0, index.free(class_id, row)) for row in here)
            if capacity:
                fractions.append(free / capacity)
        fraction = min(fractions, default=0.0)
        rank = {OrderBy.PACK: fraction, OrderBy.SPREAD: -fraction, OrderBy.ROOT: 0.0}
        found.append((rank[query.order.by], index.uuids[root]))
    return sorted(found)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(sorted_trees, "PART_MADE", 3)
    monkeypatch.setattr(sorted_trees, "PART_MAX", 4)
    monkeypatch.setattr(sorted_trees, "PART_MIN", 2)
    monkeypatch.setattr(sorted_trees, "BLOCK_BITS", 2)
    monkeypatch.setattr(sorted_trees, "BLOCK_ROWS", 4)


@pytest.mark.parametrize("forgetful", [False, True], ids=["moved", "some made again"])
@pytest.mark.parametrize("seed", range(12))
def test_a_kept_order_follows_every_change(seed, forgetful, small_parts, monkeypatch):
    if forgetful:
        monkeypatch.setattr(kept_order, "CHANGED_FEW", 2)
        monkeypatch.setattr(tree_orders, "CHANGES_MIN", 4)
        monkeypatch.setattr(tree_orders, "ORDERS_MAX", 3)
        monkeypatch.setattr(index_module, "REMOVED_FEW", 8)
    monkeypatch.setattr(kept_order, "ROOTS_FEW", seed % 2 * 100)
    tables = Tables(seed)
    index = Index.build(tables.rows())
    snapshots = []
    for _ in range(60):
        for _ in range(tables.random.randrange(1, 6)):
            tables.write()
        advance(index, tables.take_changes())
        query = query_for(tables.random.choice(CLASS_NAMES), tables.random.choice(ORDERS[:2]))
        expected = from_nothing(index, query)
        assert in_order(index, query) == expected
        rebuilt = Index.build(tables.rows())
        for order in ORDERS:
            other = evolve(query, order=order)
            assert in_order(index, other) == in_order(rebuilt, other)
        snapshots.append((index.snapshot(), query, expected))
        if tables.random.random() < 0.3:
            # A search that began long ago goes on, while others have newer orders.
            old, query, expected = tables.random.choice(snapshots)
            assert in_order(old, query) == expected
    for old, query, expected in snapshots:
        assert in_order(old, query) == expected


@pytest.mark.parametrize("seed", range(12))
def test_pages_follow_every_change(seed, small_parts, monkeypatch):
    """Also where a search passes over parts in which another search found too little."""
    monkeypatch.setattr(pages, "BLOCK_MIN", 1)
    monkeypatch.setattr(pages, "BLOCK_GROWTH", 1)
    monkeypatch.setattr(pages, "ROWS_PER_WAY", 0)
    tables = Tables(seed)
    for _ in range(20):
        tables.create()
    index = Index.build(tables.rows())
    snapshots = []
    for _ in range(60):
        for _ in range(tables.random.randrange(1, 6)):
            tables.write()
        advance(index, tables.take_changes())
        amount = tables.random.choice([1, 10, 30])
        order = tables.random.choice(ORDERS)
        query = query_for(tables.random.choice(CLASS_NAMES), order, limit=2, amount=amount)
        expected = list(all_pages(Index.build(tables.rows()), query))
        assert list(all_pages(index, query)) == expected
        snapshots.append((index.snapshot(), query, expected))
        old, query, expected = tables.random.choice(snapshots)
        assert list(all_pages(old, query)) == expected


Trees = st.dictionaries(st.integers(0, 40), st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0]))
Moves = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from([None, 0.0, 0.25, 0.5, 0.75, 1.0])), max_size=40
)


@given(trees=Trees, moves=Moves, step=st.integers(1, 5))
def test_trees_are_moved_where_sorting_puts_them(trees, moves, step):
    # UUIDs in another order than rows.
    uuids = [f"{(row * 37) % 61:02}" for row in range(61)]

    def expected():
        return sorted((rank, uuids[row], row) for row, rank in trees.items())

    def found(made):
        roots, ranks = made.whole()
        pairs = zip(ranks.tolist(), roots.tolist(), strict=True)
        return [(rank, uuids[row], row) for rank, row in pairs]

    at_first = expected()
    made = SortedTrees.of(
        np.array([row for _, _, row in at_first], dtype=np.int64),
        np.array([rank for rank, _, _ in at_first], dtype=float),
        uuids,
        41,
    )
    for first in range(0, len(moves), step):
        some = list(dict(moves[first : first + step]).items())
        before, was = made, found(made)
        made = made.moved((row, uuids[row], rank) for row, rank in some)
        for row, rank in some:
            trees.pop(row, None)
            if rank is not None:
                trees[row] = rank
        assert found(made) == expected()
        assert made.count == len(trees)
        assert found(before) == was


def all_pages(index, query):
    while True:
        answer = find(index, query)
        yield answer.candidates, answer.next
        if answer.next is None:
            return
        query = evolve(query, after=answer.next)


@pytest.mark.parametrize("blocks_max", [3, 1000], ids=["then all", "only blocks"])
def test_pages_are_the_same_whether_trees_are_examined_in_blocks(blocks_max, monkeypatch):
    monkeypatch.setattr(pages, "BLOCK_MIN", 1)
    monkeypatch.setattr(pages, "BLOCK_GROWTH", 2)
    monkeypatch.setattr(pages, "BLOCKS_MAX", blocks_max)
    several = 0
    for seed in range(EXAMPLE_COUNT // 2):
        choices = Seeded(seed)
        world = make_world(choices)
        index = Index.build(rows(world))
        for _ in range(3):
            query = make_extended_query(choices, world)
            query = evolve(query, order=choices.one_of(ORDERS), limit=choices.one_of([1, 2, 3]))
            if query.may_split:
                continue
            monkeypatch.setattr(pages, "ROWS_PER_WAY", 10**9)
            expected = list(all_pages(index, query))
            monkeypatch.setattr(pages, "ROWS_PER_WAY", 0)
            assert list(all_pages(index, query)) == expected, query
            several += len(expected) > 2
    assert several > EXAMPLE_COUNT // 20


def test_an_order_of_a_what_if_copy_sees_what_is_written_to_it():
    hosts = [provider(f"h{n}", {"VCPU": 8}, used={"VCPU": n}) for n in range(4)]
    index = Index.build(rows(build(*hosts)))
    query = query_for(["VCPU"], Order(by=OrderBy.SPREAD))
    before = in_order(index, query)
    other = what_if_copy(index, query)
    assert in_order(other, query) == before
    class_id = index.classes.ids["VCPU"]
    other.columns[class_id].used[0] = 8
    assert in_order(other, query) == from_nothing(other, query) != before
    assert in_order(index, query) == before


@pytest.mark.parametrize("by", OrderBy)
def test_a_full_what_if_copy_hides_nothing_from_the_index(by):
    index = Index.build(rows(build(*(provider(f"h{n}", {"VCPU": 8}) for n in range(50)))))
    query = query_for(["VCPU"], Order(by=by), limit=1)
    other = what_if_copy(index, query)
    used = other.columns[index.classes.ids["VCPU"]].used
    used[:] = 8
    assert find(other, query).count == 0
    assert find(index, query).count == 1
    used[:] = 0
    assert find(other, query).count == 1


def test_searches_beside_a_writer_see_the_order_of_their_snapshot():
    shared, count = SharedIndex(), 300
    hosts = [provider(f"h{n}", {"VCPU": 1000}) for n in range(count)]
    shared.replace(Index.build(rows(build(*hosts))))
    query = query_for(["VCPU"], Order(by=OrderBy.SPREAD), limit=3)
    class_id = shared.live.classes.ids["VCPU"]
    failures, done = [], threading.Event()

    def search():
        while not done.is_set():
            snapshot = shared.snapshot()
            expected = from_nothing(snapshot, query)
            answer = find(snapshot, query)
            found = [next(iter(each.allocations)) for each in answer.candidates]
            if found != [uuid for _, uuid in expected[:3]] or in_order(snapshot, query) != expected:
                failures.append((found, expected))

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(400):
        provider_id = shared.live.ids[number * 7 % count]
        changes = Changes(usage={(provider_id, class_id): 1 + number % 5})
        shared.advance(changes, {})
    done.set()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("by", [OrderBy.PACK, OrderBy.SPREAD, OrderBy.ROOT])
def test_a_tree_that_changes_where_it_stands_is_found(by):
    inventories, used = {"VCPU": 10, "DISK_GB": 10}, {"VCPU": 8, "DISK_GB": 5}
    index = Index.build(
        rows(build(*(provider(f"h{n}", inventories, used=used) for n in range(50))))
    )
    group = RequestGroup(resources={"VCPU": 1, "DISK_GB": 6})
    query = CandidateQuery(groups=(group,), order=Order(by=by), limit=1)
    before = index.snapshot()
    assert find(index, query).count == find(before, query).count == 0
    # What is free of the other class still decides about its rank.
    advance(index, Changes(usage={(index.ids[30], index.classes.ids["DISK_GB"]): -3}))
    assert find(index, query).count == 1
    assert find(before, query).count == 0
    advance(index, Changes(usage={(index.ids[30], index.classes.ids["DISK_GB"]): 3}))
    assert find(index, query).count == find(before, query).count == 0
