"""Providers in the order of their creation, with everything they have, a batch at a time.

A batch is made of whole columns. The work for one provider is a few lookups, so that the whole
cloud can be read in one answer.
"""

from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from roost.model import InventoryColumn, ProviderColumns
from roost.query import Page
from roost.search.index.columns import ClassColumn, Integers
from roost.search.index.index import Index

# How many providers a batch has, and how many inventories, unless one provider has more.
PROVIDERS_PER_BATCH = 500
INVENTORIES_PER_BATCH = 8192

# The ids of fewer rows than these are looked up one by one, rather than in a copy of all ids.
FEW_ROWS = 512


class Selection(NamedTuple):
    """A page of rows."""

    rows: Integers  # in the order of creation
    last_id: int | None  # of the last of them, if another page follows


def select_page(index: Index, rows: Integers, page: Page) -> Selection:
    """Those of the rows that are on a page."""
    ids = _ids(index, rows)
    found = np.flatnonzero(ids > page.after) if page.limit is None else _first(ids, page)
    order = found[np.argsort(ids[found])]
    if page.limit is None or len(order) <= page.limit:
        return Selection(rows[order], None)
    order = order[: page.limit]
    return Selection(rows[order], int(ids[order[-1]]))


def _first(ids: Integers, page: Page) -> Integers:
    """Where the smallest ids of a page are, and one more if there is one; perhaps others besides.

    Ids have few gaps, so a page is looked for in a narrow range of ids first. Nothing but masks is
    made for all rows, and only what is found is sorted.
    """
    assert page.limit is not None
    newest = int(ids.max(initial=0))
    width = 2 * page.limit
    while True:
        found: Integers = np.flatnonzero(
            (ids > page.after) & (ids <= min(page.after + width, newest))
        )
        if len(found) > page.limit or page.after + width >= newest:
            return found
        width *= 4


def _ids(index: Index, rows: Integers) -> Integers:
    if len(rows) < FEW_ROWS:
        return np.array([index.ids[row] for row in rows.tolist()], dtype=np.int64)
    # A copy: nobody can add ids to an array while another one shares its memory.
    assert isinstance(index.ids, array)
    ids: Integers = np.frombuffer(index.ids.tobytes(), dtype=np.int64)[rows]
    return ids


def read_batches(index: Index, rows: Integers, *, inventories: bool) -> Iterator[ProviderColumns]:
    """What the rows have, in their order; inventories and usage only if they are asked for."""
    begin = 0
    while begin < len(rows):
        batch = rows[begin : begin + PROVIDERS_PER_BATCH]
        if inventories:
            batch = batch[: _count_within_bound(index, batch)]
        yield _read(index, batch, inventories=inventories)
        begin += len(batch)


def _count_within_bound(index: Index, rows: Integers) -> int:
    """How many of the rows have no more inventories than a batch; at least one."""
    members = index.class_sets.members
    counts = np.cumsum([len(members[number]) for number in index.rows.classes[rows].tolist()])
    return max(1, int(np.searchsorted(counts, INVENTORIES_PER_BATCH, side="right")))


def _read(index: Index, rows: Integers, *, inventories: bool) -> ProviderColumns:
    uuids, names, columns = index.uuids, index.names, index.rows
    row_list = rows.tolist()
    return ProviderColumns(
        uuids=[uuids[row] for row in row_list],
        names=[names[row] for row in row_list],
        generations=columns.generation[rows].tolist(),
        parents=[None if row < 0 else uuids[row] for row in columns.parent[rows].tolist()],
        roots=[uuids[row] for row in columns.root[rows].tolist()],
        trait_sets=columns.traits[rows].tolist(),
        aggregate_sets=columns.aggregates[rows].tolist(),
        inventories=tuple(_inventories(index, rows)) if inventories else (),
    )


def _inventories(index: Index, rows: Integers) -> Iterator[InventoryColumn]:
    """The inventories of the rows, by class in the order of class ids."""
    sets = np.unique(index.rows.classes[rows]).tolist()
    class_ids = {class_id for number in sets for class_id in index.class_sets.members[number]}
    for class_id in sorted(class_ids):
        column = index.columns[class_id]
        at, positions = _find(column, rows)
        yield InventoryColumn(
            resource_class=index.classes.names[class_id],
            providers=positions.tolist(),
            inventories=zip(
                column.total[at].tolist(),
                column.reserved[at].tolist(),
                column.min_unit[at].tolist(),
                column.max_unit[at].tolist(),
                column.step_size[at].tolist(),
                column.allocation_ratio[at].tolist(),
                strict=True,
            ),
            used=column.used[at].tolist(),
        )


def _find(column: ClassColumn, rows: Integers) -> tuple[Integers, Integers]:
    """Where a column has the inventories of these rows, and which of the rows have one."""
    known = column.row[: column.count]
    # With numbers of another type, numpy would convert the whole column first.
    at = np.minimum(known.searchsorted(rows.astype(np.int32)), column.count - 1)
    positions: Integers = np.flatnonzero((known[at] == rows) & (column.capacity[at] >= 0))
    return at[positions], positions
