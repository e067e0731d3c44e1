"""The columns: the cloud at one point in time.

Every provider has a row. The rows of one tree are adjacent and in depth-first order, so that the
subtree of a provider is the range of rows from its own to `last`, and "is an ancestor of" is two
comparisons. Numbers that change (usage, generations, totals) change in place. A tree whose shape
changes is appended again and its old rows are marked as removed; when removed rows outnumber the
live ones, the index is compacted.

Searches read a snapshot, which never changes (`copy_on_write.py`).
"""

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from roost.changes import NameRow, Rows
from roost.model import SHARING_TRAIT
from roost.search.index.catalog import Catalog
from roost.search.index.columns import (
    AggregateSets,
    ClassColumn,
    Integers,
    RowColumns,
    SetTable,
    bare,
)
from roost.search.index.copy_on_write import CopyOnWrite
from roost.search.index.providers import IndexedProvider, rows_from
from roost.search.index.reading import IndexReading
from roost.search.index.row_lookup import RowLookup
from roost.search.index.sharing_rows import SharingRows
from roost.search.index.tree_layout import TreeLayout
from roost.search.index.tree_orders import TreeOrders

# The index is not compacted for fewer removed rows than these.
REMOVED_FEW = 1024

# Numpy takes longer to begin with so few rows than it takes to write them one by one.
ONE_BY_ONE_MAX = 8


class Index(IndexReading):
    """Everything that searches and provider reads need, in memory."""

    # How much of the change feed the index contains. The service sets it.
    position: Mapping[int, int]
    # Whether usage may change without notice (`search/what_if.py`).
    is_what_if = False

    def __init__(self, classes: Collection[NameRow], traits: Collection[NameRow]) -> None:
        self.classes = Catalog(classes)
        self.traits = Catalog(traits)
        self.position = {}
        self._next_stamp = 0
        self.clear_rows()

    def clear_rows(self) -> None:
        self.rows = RowColumns()
        # The keys of a removed row are 0 and empty.
        self.row_of_id: RowLookup[int] = RowLookup(array("q"))
        self.row_of_uuid: RowLookup[str] = RowLookup([])
        self.row_of_name: RowLookup[str] = RowLookup([])
        self.columns: dict[int, ClassColumn] = {}
        self.class_sets: SetTable[int] = SetTable()
        self.trait_sets: SetTable[int] = SetTable()
        self.aggregate_sets = AggregateSets()
        self.sharing = SharingRows()
        # The summaries of whole trees as answers show them: layout -> stamp of the tree -> text.
        # Searches fill it, also those on an older snapshot, whose trees have other stamps.
        self.rendered_summaries: dict[str, dict[int, bytes]] = {}
        # The same of single rows, by their own stamps. Most of a tree stays the same.
        self.rendered_rows: dict[str, dict[int, bytes]] = {}
        # Searches keep orders in it, each with the version of the trees that it is for.
        self.tree_orders = TreeOrders()
        self.tree_version = 0
        self.removed_count = 0

    def snapshot(self) -> "Index":
        """The index as it is now; it never changes."""
        made = Index.__new__(Index)
        parts = made.__dict__
        parts.update(vars(self))
        # Most parts have not changed since the last snapshot, and are not even asked for one.
        for name, part in vars(self).items():
            if isinstance(part, CopyOnWrite):
                parts[name] = part.snapshot() if part.latest is None else part.latest
        made.columns = {
            number: column.snapshot() if column.latest is None else column.latest
            for number, column in self.columns.items()
        }
        return made

    @classmethod
    def build(cls, rows: Rows) -> "Index":
        index = cls(rows.resource_classes, rows.trait_names)
        index._append(TreeLayout(rows))
        return index

    @property
    def live_count(self) -> int:
        return self.rows.count - self.removed_count

    # -- writing -------------------------------------------------------------------------------

    def append_trees(self, providers: Iterable[IndexedProvider]) -> None:
        """Append whole trees."""
        self._append(TreeLayout(rows_from(providers)))

    def _append(self, layout: TreeLayout) -> None:
        first = self.rows.count
        traits = [self.trait_sets.number(members) for members in layout.trait_sets()]
        aggregates = [self.aggregate_sets.number(members) for members in layout.aggregate_sets()]
        inventories = layout.inventories()
        self.rows.extend(
            {
                "live": np.ones(layout.count, dtype=np.bool_),
                "generation": layout.generation,
                "parent": np.where(layout.parent < 0, -1, layout.parent + first),
                "root": layout.root + first,
                "last": layout.last + first,
                "traits": traits,
                "classes": [
                    self.class_sets.number(members) for members in layout.class_sets(inventories)
                ],
                "aggregates": aggregates,
                "tree_aggregates": self._tree_aggregates(layout, aggregates),
                "stamp": np.arange(self._next_stamp, self._next_stamp + layout.count),
                "checksum": layout.checksums(),
                "modified": layout.modified,
            }
        )
        self._next_stamp += layout.count
        self.row_of_id.extend(bare(layout.ids))
        self.row_of_uuid.extend(layout.uuids)
        self.row_of_name.extend(layout.names)
        roots = np.flatnonzero(layout.parent < 0).tolist()
        self._note_changed([first + root for root in roots], [layout.uuids[n] for n in roots])
        for class_id, columns in inventories.by_class(first):
            self.columns.setdefault(class_id, ClassColumn()).extend(columns)
        sharing = self.trait_sets.holding_any([self.traits.ids.get(SHARING_TRAIT, -1)])
        added: dict[str, list[int]] = {}
        for position in np.flatnonzero(sharing[traits]).tolist():
            for aggregate in self.aggregate_sets.members[aggregates[position]]:
                added.setdefault(aggregate, []).append(first + position)
        if added:
            self.sharing.add(added)

    def _tree_aggregates(self, layout: TreeLayout, aggregates: Sequence[int]) -> Integers:
        """For each root the number of the set of all aggregates in its tree."""
        found: dict[int, set[str]] = {}
        for root, number in zip(bare(layout.root), aggregates, strict=True):
            if self.aggregate_sets.members[number]:
                found.setdefault(root, set()).update(self.aggregate_sets.members[number])
        numbers = np.full(layout.count, self.aggregate_sets.number(()))
        for root, members in found.items():
            numbers[root] = self.aggregate_sets.number(sorted(members))
        return numbers

    def remove_tree(self, root: int) -> None:
        """Mark every row of the tree with this root as removed."""
        last = int(self.rows.last[root])
        self.tree_changed(root)
        ids, uuids, names = (
            lookup.own("keys") for lookup in (self.row_of_id, self.row_of_uuid, self.row_of_name)
        )
        for row in range(root, last + 1):
            if self.shares(self.row_traits(row)):
                self.sharing.remove(row, self.row_aggregates(row))
            ids[row], uuids[row], names[row] = 0, "", ""
            for class_id in self.row_classes(row):
                column = self.columns[class_id]
                # Nothing fits into a negative capacity, so searches need no test for removed rows.
                column.own("capacity")[column.position(row)] = -1
        self.rows.own("classes")[root : last + 1] = self.class_sets.number(())
        self.rows.own("live")[root : last + 1] = False
        self.removed_count += last + 1 - root

    def set_traits(self, row: int, traits: tuple[int, ...]) -> None:
        """Replace the traits of a provider that shares neither before nor after."""
        self.rows.own("traits")[row] = self.trait_sets.number(traits)

    def set_aggregates(self, row: int, aggregates: tuple[str, ...]) -> None:
        """Replace the aggregates of a provider that shares neither before nor after.

        They are in the spelling in which they are stored.
        """
        number = self.aggregate_sets.number(aggregates)
        if number == self.rows.aggregates[row]:
            return
        self.rows.own("aggregates")[row] = number
        root = int(self.rows.root[row])
        together = {name for each in self.tree_rows(row) for name in self.row_aggregates(each)}
        self.rows.own("tree_aggregates")[root] = self.aggregate_sets.number(sorted(together))

    def shares(self, traits: tuple[int, ...]) -> bool:
        """Whether a provider with these traits shares what it has with other trees."""
        return self.traits.ids.get(SHARING_TRAIT) in traits

    def tree_changed(self, row: int) -> None:
        """Say that something in this row's tree changes, so that nobody takes the old for the new.

        Its rendered summaries are dropped, and orders will move it.
        """
        self.trees_changed([int(self.rows.root[row])], [row])

    def trees_changed(self, roots: Sequence[int], rows: Sequence[int] | Integers) -> None:
        """Say that something changes in these rows, of trees with these roots, each named once."""
        self._note_changed(roots, [self.uuids[root] for root in roots])
        stamps = self.rows.own("stamp")
        # A list, because searches may add a layout meanwhile.
        for by_stamp in list(self.rendered_summaries.values()):
            for root in roots:
                by_stamp.pop(int(stamps[root]), None)
        # Last those of the roots, which may be among the rows.
        for some in (rows, roots):
            if len(some) <= ONE_BY_ONE_MAX:
                for number, row in enumerate(some, self._next_stamp):
                    stamps[row] = number
            else:
                stamps[some] = range(self._next_stamp, self._next_stamp + len(some))
            self._next_stamp += len(some)

    def _note_changed(self, roots: Collection[int], uuids: Collection[str]) -> None:
        self.tree_orders.note(roots, uuids)
        self.tree_version += len(roots)

    def drop_all_summaries(self) -> None:
        """Drop the rendered summaries of all trees, because a name that they show changed."""
        # Snapshots have the old name, and fill the old dictionary.
        self.rendered_summaries = {}
        self.rendered_rows = {}

    def is_sparse(self, removed: int = 0) -> bool:
        """Whether removed rows outnumber the live ones, once so many more are removed."""
        removed_count = self.removed_count + removed
        return removed_count > max(REMOVED_FEW, self.rows.count - removed_count)

    def compact(self) -> None:
        """Drop the removed rows when they outnumber the live ones."""
        if self.is_sparse():
            providers = [self.provider(int(row)) for row in np.flatnonzero(self.live_rows())]
            self.clear_rows()
            self.append_trees(providers)
