"""Building the index of a whole cloud, and finding its providers."""

import random

import numpy as np
import pytest

from roost.changes import (
    AGGREGATE_TYPECODES,
    INVENTORY_TYPECODES,
    PROVIDER_TYPECODES,
    TRAIT_TYPECODES,
    USAGE_TYPECODES,
    Rows,
    TableColumns,
)
from roost.model import capacity
from roost.search.index.columns import CAPACITY_MAX
from roost.search.index.index import Index
from roost.search.index.providers import providers_from, rows_from
from roost.search.index.row_lookup import RowLookup

CLASSES = [(number, f"CLASS{number}", 0.0) for number in range(3)]
TRAITS = [(1, "MISC_SHARES_VIA_AGGREGATE", 0.0), (300, "CUSTOM_A", 0.0), (301, "CUSTOM_B", 0.0)]


def cloud(seed, count=40):
    """Rows in any order: children before their parents, inventories and usage of no provider."""
    chance = random.Random(seed)
    ids = chance.sample(range(1, 10 * count), count)
    parents = [chance.choice([None, *ids[:place]]) for place in range(count)]
    owners = [*ids, 10 * count]
    inventories = [(owner, number) for owner in owners for number in range(3)]
    inventories = chance.sample(inventories, count)
    usages = [(owner, number) for owner in owners for number in range(3)]
    providers = [
        (number, f"uuid{number}", f"name{number}", chance.randrange(9), 0, parent, 1.5 * number)
        for number, parent in zip(ids, parents, strict=True)
    ]
    chance.shuffle(providers)
    return Rows(
        providers=providers,
        inventories=[(*key, 1000, 5, 1, 100, 1, 1.5, 2.5) for key in inventories],
        usages=[(*key, chance.randrange(1, 99)) for key in chance.sample(usages, count)],
        traits=[(owner, trait) for owner in owners for trait in chance.sample([301, 300, 1], 2)],
        aggregates=[(owner, f"aggregate{owner % 3}") for owner in owners[::2]],
        resource_classes=CLASSES,
        trait_names=TRAITS,
    )


def by_column(rows):
    return Rows(
        providers=TableColumns(PROVIDER_TYPECODES, rows.providers),
        inventories=TableColumns(INVENTORY_TYPECODES, rows.inventories),
        usages=TableColumns(USAGE_TYPECODES, rows.usages),
        traits=TableColumns(TRAIT_TYPECODES, rows.traits),
        aggregates=TableColumns(AGGREGATE_TYPECODES, rows.aggregates),
        resource_classes=rows.resource_classes,
        trait_names=rows.trait_names,
    )


def parent_of(index, row):
    return None if index.rows.parent[row] < 0 else int(index.rows.parent[row])


def test_a_table_returns_its_rows():
    rows = cloud(1)
    for name, kinds in (("providers", PROVIDER_TYPECODES), ("inventories", INVENTORY_TYPECODES)):
        table = TableColumns(kinds, getattr(rows, name))
        assert list(table) == getattr(rows, name)
        assert table[3] == getattr(rows, name)[3]
        assert len(table) == len(getattr(rows, name))
    assert not TableColumns(TRAIT_TYPECODES)


@pytest.mark.parametrize("seed", range(20))
def test_the_index_has_every_provider_of_the_rows(seed):
    rows = cloud(seed)
    index = Index.build(by_column(rows))
    nodes = providers_from(rows)
    found = {node.uuid: node for node, _ in index.contents()["providers"].values()}
    assert found == {node.uuid: node for node in nodes.values()}
    for number, node in nodes.items():
        row = index.row_of_id[number]
        assert index.row_of_uuid[node.uuid] == index.row_of_name[node.name] == row
        assert index.row_classes(row) == tuple(each.class_id for each in node.inventories)


@pytest.mark.parametrize("seed", range(20))
def test_building_in_parts_equals_building_at_once(seed):
    rows = cloud(seed)
    whole = Index.build(rows)
    parts = Index(rows.resource_classes, rows.trait_names)
    for root in np.flatnonzero(whole.rows.parent[: whole.rows.count] < 0).tolist():
        parts.append_trees([whole.provider(row) for row in whole.tree_rows(root)])
    assert parts.contents() == whole.contents()
    # The trees are in the same order, so even the columns are equal.
    for name in ("parent", "root", "last", "generation", "modified"):
        np.testing.assert_array_equal(
            getattr(parts.rows, name)[: parts.rows.count],
            getattr(whole.rows, name)[: whole.rows.count],
        )
    for class_id, column in whole.columns.items():
        for name in column.FIELDS:
            np.testing.assert_array_equal(
                getattr(parts.columns[class_id], name)[: column.count],
                getattr(column, name)[: column.count],
            )


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_in_depth_first_order(seed):
    index = Index.build(cloud(seed))
    for row in range(index.rows.count):
        ancestors = []
        above = parent_of(index, row)
        while above is not None:
            ancestors.append(above)
            above = parent_of(index, above)
        assert index.rows.root[row] == (ancestors[-1] if ancestors else row)
        enclosing = [other for other in range(row) if index.rows.last[other] >= row]
        assert enclosing == ancestors[::-1]


def test_a_tree_may_be_deeper_than_the_stack():
    chain = [(n, f"uuid{n}", f"name{n}", 0, 1, n - 1 or None, 0.0) for n in range(1, 5001)]
    index = Index.build(Rows(providers=chain))
    assert index.tree_rows(4999) == range(5000)
    assert index.rows.parent[:3].tolist() == [-1, 0, 1]


def test_an_index_may_be_empty():
    index = Index.build(Rows())
    assert index.rows.count == 0
    assert index.row_of_uuid.get("uuid") is None
    assert rows_from([]) == Rows(providers=[], inventories=[], usages=[], traits=[], aggregates=[])


INVENTORIES = [(8, 0, 16.0), (8, 9, 1.0), (10, 1, 0.1), (3, 0, 1.1), (2**31 - 1, 0, 9999.9999)]


@pytest.mark.parametrize(("total", "reserved", "ratio"), [*INVENTORIES, (2**31 - 1, 0, 1e30)])
def test_capacity_is_that_of_the_model(total, reserved, ratio):
    rows = Rows(
        providers=[(1, "uuid", "name", 0, 1, None, 0.0)],
        inventories=[(1, 0, total, reserved, 1, total, 1, ratio, 0.0)],
        resource_classes=CLASSES,
    )
    expected = min(max(capacity(total, reserved, ratio), 0), CAPACITY_MAX)
    assert Index.build(rows).columns[0].capacity[0] == expected


class CountingList(list):
    """Counts how often an element is read."""

    reads = 0

    def __getitem__(self, place):
        self.reads += 1
        return super().__getitem__(place)


# Consecutive ids, ids of one node among many in a cluster, and ids that are allotted in blocks.
@pytest.mark.parametrize("step", [1, 7, 1024, 2**20])
def test_a_row_is_found_in_a_few_steps(step):
    keys = CountingList()
    table = RowLookup(keys)
    table.extend(range(step, 10_001 * step, step))
    keys.reads = 0
    assert [table.get(key) for key in list(keys)] == list(range(10_000))
    assert keys.reads < 3 * 10_000
    assert step + 1 not in table or step == 1
    with pytest.raises(KeyError):
        table[10_002 * step]


def test_a_row_that_lost_its_key_is_not_found():
    table = RowLookup([])
    table.extend(["a", "b", "c"])
    table.own("keys")[1] = ""
    assert [table.get(key) for key in ("a", "b", "c", "", None)] == [0, None, 2, None, None]
    table.extend(["b", *map(str, range(1000))])
    assert [table.get(key) for key in ("a", "b", "c", "", "999")] == [0, 3, 2, None, 1003]


def test_a_snapshot_of_a_lookup_finds_what_it_had():
    table = RowLookup([])
    table.extend(["a", "b", "c"])
    before = table.snapshot()
    table.own("keys")[1] = ""
    table.extend(["b", "d", *map(str, range(1000))])
    assert [table.get(key) for key in ("a", "b", "c", "d", "999")] == [0, 3, 2, 4, 1004]
    assert [before.get(key) for key in ("a", "b", "c", "d", "999")] == [0, 1, 2, None, None]
