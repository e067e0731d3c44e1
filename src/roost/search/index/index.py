"""The columns: the cloud at one point in time.

Every provider has a row. The rows of one tree are adjacent and in depth-first order, so that the
subtree of a provider is the range of rows from its own to `last`, and "is an ancestor of" is two
comparisons. A tree whose shape changes is written anew at the end and its old rows die; numbers
that change (usage, generations, totals) change in place. Dead rows are swept out when they
outnumber the living.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from roost.changes import NameRow, Rows
from roost.errors import ProviderNotFound
from roost.model import SHARING_TRAIT, NamedValue
from roost.search.index.columns import ClassColumn, Columns, Integers, Mask, SetTable, bare
from roost.search.index.nodes import IndexedInventory, Node, moment, rows_from
from roost.search.index.row_lookup import RowTable
from roost.search.index.tree_layout import Forest


class RowColumns(Columns):
    """What the index knows of each row in numbers."""

    live: Mask
    generation: Integers
    parent: Integers  # row, -1 for a root
    root: Integers  # row
    last: Integers  # the last row of the provider's subtree
    traits: Integers  # number of a set in Index.trait_sets
    aggregates: Integers  # number of a set in Index.aggregate_sets
    tree_aggregates: Integers  # for a root: those of its whole tree
    modified: npt.NDArray[np.float64]

    def __init__(self) -> None:
        # Rows and numbers of sets fit into 32 bits, and there are many of them.
        small = ("parent", "root", "last", "traits", "aggregates", "tree_aggregates")
        super().__init__(
            {
                "live": bool,
                "generation": int,
                **dict.fromkeys(small, np.int32),
                "modified": float,
            }
        )


class Catalog:
    """Names by id and ids by name, with the time at which each was made."""

    def __init__(self, rows: Iterable[NameRow]) -> None:
        self.ids: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.modified: dict[int, float] = {}
        self.update(rows)

    def update(self, rows: Iterable[NameRow], gone: Iterable[int] = ()) -> None:
        for number in gone:
            name = self.names.pop(number, None)
            if name is not None:
                del self.ids[name]
        for number, name, modified in rows:
            self.ids[name] = number
            self.names[number] = name
            self.modified[number] = modified

    def entry(self, number: int) -> NamedValue:
        return NamedValue(name=self.names[number], modified=moment(self.modified[number]))


class Index:
    """Everything that searches and provider reads need, in memory."""

    def __init__(self, classes: Iterable[NameRow], traits: Iterable[NameRow]) -> None:
        self.classes = Catalog(classes)
        self.traits = Catalog(traits)
        self.clear_rows()

    def clear_rows(self) -> None:
        self.rows = RowColumns()
        # Of a row that died: 0 and empty.
        self.ids: array[int] = array("q")
        self.uuids: list[str] = []
        self.names: list[str] = []
        self.row_classes: list[tuple[int, ...]] = []  # class ids of each row, ascending
        self._class_sets: dict[tuple[int, ...], tuple[int, ...]] = {}  # each of them once
        self.row_of_id: RowTable[int] = RowTable(self.ids)
        self.row_of_uuid: RowTable[str] = RowTable(self.uuids)
        self.row_of_name: RowTable[str] = RowTable(self.names)
        self.columns: dict[int, ClassColumn] = {}
        self.trait_sets: SetTable[int] = SetTable()
        self.aggregate_sets: SetTable[str] = SetTable()
        # Aggregate -> the rows of the providers that share through it.
        self.sharing: dict[str, set[int]] = {}
        self._sharing_rows: Integers | None = None  # all of them; None: to be made
        self.lending: object = None  # what `lend` keeps with the index
        # Text about whole trees that answers are made of: layout -> root row -> text.
        self.fragments: dict[str, dict[int, bytes]] = {}
        self.dead_count = 0

    @classmethod
    def build(cls, rows: Rows) -> "Index":
        index = cls(rows.resource_classes, rows.trait_names)
        index._append(Forest(rows))
        return index

    @property
    def live_count(self) -> int:
        return self.rows.count - self.dead_count

    # -- writing -------------------------------------------------------------------------------

    def append_trees(self, nodes: Iterable[Node]) -> None:
        """Write whole trees at the end."""
        self._append(Forest(rows_from(nodes)))

    def _append(self, forest: Forest) -> None:
        first = self.rows.count
        traits = [self.trait_sets.number(members) for members in forest.trait_sets()]
        aggregates = [self.aggregate_sets.number(members) for members in forest.aggregate_sets()]
        self.rows.extend(
            {
                "live": np.ones(forest.count, dtype=np.bool_),
                "generation": forest.generation,
                "parent": np.where(forest.parent < 0, -1, forest.parent + first),
                "root": forest.root + first,
                "last": forest.last + first,
                "traits": traits,
                "aggregates": aggregates,
                "tree_aggregates": self._tree_aggregates(forest, aggregates),
                "modified": forest.modified,
            }
        )
        self.ids.extend(bare(forest.ids))
        self.uuids.extend(forest.uuids)
        self.names.extend(forest.names)
        for table in (self.row_of_id, self.row_of_uuid, self.row_of_name):
            table.catch_up()
        stocks = forest.stocks()
        self.row_classes.extend(map(self.class_set, forest.class_sets(stocks)))
        for class_id, columns in stocks.by_class(first):
            self.columns.setdefault(class_id, ClassColumn()).extend(columns)
        sharing = self.trait_sets.holding_any([self.traits.ids.get(SHARING_TRAIT, -1)])
        for place in np.flatnonzero(sharing[traits]).tolist():
            self.add_sharing(first + place, self.aggregate_sets.members[aggregates[place]])

    def _tree_aggregates(self, forest: Forest, aggregates: Sequence[int]) -> Integers:
        """For each root the number of the set of all aggregates in its tree."""
        found: dict[int, set[str]] = {}
        for root, number in zip(bare(forest.root), aggregates, strict=True):
            if self.aggregate_sets.members[number]:
                found.setdefault(root, set()).update(self.aggregate_sets.members[number])
        numbers = np.full(forest.count, self.aggregate_sets.number(()))
        for root, members in found.items():
            numbers[root] = self.aggregate_sets.number(sorted(members))
        return numbers

    def kill_tree(self, root: int) -> None:
        """Let every row of the tree with this root die."""
        last = int(self.rows.last[root])
        for row in range(root, last + 1):
            if self.shares(self.row_traits(row)):
                self._sharing_rows = None
                for aggregate in self.row_aggregates(row):
                    self.sharing[aggregate].discard(row)
            self.ids[row] = 0
            self.uuids[row] = self.names[row] = ""
            for class_id in self.row_classes[row]:
                column = self.columns[class_id]
                position = column.position(row)
                # Nothing fits into a negative capacity, so dead rows need no test of their own.
                column.capacity[position] = -1
            self.row_classes[row] = ()
        self.rows.live[root : last + 1] = False
        self.forget_fragments(root)
        self.dead_count += last + 1 - root

    def set_traits(self, row: int, traits: tuple[int, ...]) -> None:
        """Other traits for a provider that shares neither before nor after."""
        self.rows.traits[row] = self.trait_sets.number(traits)

    def set_aggregates(self, row: int, aggregates: tuple[str, ...]) -> None:
        """Other aggregates for a provider that shares neither before nor after."""
        number = self.aggregate_sets.number(aggregates)
        if number == self.rows.aggregates[row]:
            return
        self.rows.aggregates[row] = number
        root = int(self.rows.root[row])
        together = {name for each in self.tree_rows(row) for name in self.row_aggregates(each)}
        self.rows.tree_aggregates[root] = self.aggregate_sets.number(sorted(together))

    def shares(self, traits: tuple[int, ...]) -> bool:
        """Whether a provider with these traits lends what it has to other trees."""
        return self.traits.ids.get(SHARING_TRAIT) in traits

    def forget_fragments(self, row: int) -> None:
        """What was written of the tree in which this row stands is no longer true."""
        root = int(self.rows.root[row])
        for kept in self.fragments.values():
            kept.pop(root, None)

    def sweep(self) -> None:
        """Drop the dead rows when they outnumber the living ones."""
        if self.dead_count <= 1024 or self.dead_count <= self.live_count:
            return
        nodes = [self.node(int(row)) for row in np.flatnonzero(self.live_rows())]
        self.clear_rows()
        self.append_trees(nodes)

    # -- reading -------------------------------------------------------------------------------

    def class_set(self, class_ids: Iterable[int]) -> tuple[int, ...]:
        members = tuple(class_ids)
        return self._class_sets.setdefault(members, members)

    def add_sharing(self, row: int, aggregates: Iterable[str]) -> None:
        self._sharing_rows = None
        for aggregate in aggregates:
            self.sharing.setdefault(aggregate, set()).add(row)

    def sharing_rows(self) -> Integers:
        """The rows of every provider that shares, in order."""
        if self._sharing_rows is None:
            rows = sorted(set().union(*self.sharing.values()))
            self._sharing_rows = np.array(rows, dtype=np.int64)
        return self._sharing_rows

    def live_rows(self) -> Mask:
        return self.rows.live[: self.rows.count]

    def root_rows(self) -> Integers:
        """The rows of all roots, in order."""
        rows: Integers = np.flatnonzero(
            self.live_rows() & (self.rows.parent[: self.rows.count] < 0)
        )
        return rows

    def row(self, uuid: str) -> int:
        """The row of a provider; refuses a UUID that no provider has."""
        found = self.row_of_uuid.get(uuid)
        if found is None:
            raise ProviderNotFound(uuid)
        return found

    def row_traits(self, row: int) -> tuple[int, ...]:
        return self.trait_sets.members[int(self.rows.traits[row])]

    def row_aggregates(self, row: int) -> tuple[str, ...]:
        return self.aggregate_sets.members[int(self.rows.aggregates[row])]

    def trait_names(self, row: int) -> tuple[str, ...]:
        return tuple(self.traits.names[number] for number in self.row_traits(row))

    def parent_uuid(self, row: int) -> str | None:
        parent = int(self.rows.parent[row])
        return None if parent < 0 else self.uuids[parent]

    def root_uuid(self, row: int) -> str:
        return self.uuids[int(self.rows.root[row])]

    def tree_rows(self, row: int) -> range:
        """The rows of the tree in which this row stands."""
        root = int(self.rows.root[row])
        return range(root, int(self.rows.last[root]) + 1)

    def subtree_rows(self, row: int) -> range:
        """The rows of a provider and of all below it."""
        return range(row, int(self.rows.last[row]) + 1)

    def inventory(self, class_id: int, row: int) -> IndexedInventory | None:
        column = self.columns.get(class_id)
        position = None if column is None else column.position(row)
        if column is None or position is None or column.capacity[position] < 0:
            return None
        return IndexedInventory(
            class_id=class_id,
            total=int(column.total[position]),
            reserved=int(column.reserved[position]),
            min_unit=int(column.min_unit[position]),
            max_unit=int(column.max_unit[position]),
            step_size=int(column.step_size[position]),
            allocation_ratio=float(column.allocation_ratio[position]),
            modified=float(column.modified[position]),
            used=int(column.used[position]),
        )

    def free(self, class_id: int, row: int) -> int:
        """What is free of an inventory that is there; less than nothing if it was cut since."""
        column = self.columns[class_id]
        position = column.position(row)
        return int(column.capacity[position] - column.used[position])

    def inventories(self, row: int) -> list[IndexedInventory]:
        found = (self.inventory(class_id, row) for class_id in self.row_classes[row])
        return [stock for stock in found if stock is not None]

    def node(self, row: int) -> Node:
        parent = int(self.rows.parent[row])
        return Node(
            id=self.ids[row],
            uuid=self.uuids[row],
            name=self.names[row],
            generation=int(self.rows.generation[row]),
            parent_id=None if parent < 0 else self.ids[parent],
            modified=float(self.rows.modified[row]),
            traits=self.row_traits(row),
            aggregates=self.row_aggregates(row),
            stocks=tuple(self.inventories(row)),
        )

    def contents(self) -> dict[str, Any]:
        """All that the index holds, by UUID and name: two indexes of one world compare equal."""
        living = np.flatnonzero(self.live_rows()).tolist()
        return {
            "resource classes": dict(self.classes.ids),
            "traits": dict(self.traits.ids),
            "providers": {self.uuids[row]: (self.node(row), self.root_uuid(row)) for row in living},
            # Pages go on in the order of rows, in whichever process.
            "trees": {
                self.uuids[row]: [self.uuids[each] for each in self.tree_rows(row)]
                for row in living
                if self.rows.parent[row] < 0
            },
            "tree aggregates": {
                self.uuids[row]: set(
                    self.aggregate_sets.members[int(self.rows.tree_aggregates[row])]
                )
                for row in living
                if self.rows.parent[row] < 0
            },
            "sharing": {
                aggregate: {self.uuids[row] for row in rows}
                for aggregate, rows in self.sharing.items()
                if rows
            },
        }
