"""What readers ask the index: rows by name, trees, inventories."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from roost.errors import ProviderNotFound
from roost.model import Inventory, ProviderSummary, capacity
from roost.search.index.catalog import Catalog
from roost.search.index.columns import (
    CAPACITY_MAX,
    AggregateSets,
    ClassColumn,
    Integers,
    Mask,
    RowColumns,
    SetTable,
)
from roost.search.index.providers import IndexedInventory, IndexedProvider
from roost.search.index.row_lookup import RowLookup
from roost.search.index.sharing_rows import SharingRows


class IndexReading:
    """The columns of an index, and how they are read. `Index` writes them."""

    classes: Catalog
    traits: Catalog
    rows: RowColumns
    row_of_id: RowLookup[int]
    row_of_uuid: RowLookup[str]
    row_of_name: RowLookup[str]
    columns: dict[int, ClassColumn]
    class_sets: SetTable[int]
    trait_sets: SetTable[int]
    aggregate_sets: AggregateSets
    sharing: SharingRows

    @property
    def ids(self) -> Sequence[int]:
        """The id of each row; 0 for a removed one."""
        return self.row_of_id.keys

    @property
    def uuids(self) -> Sequence[str]:
        """The UUID of each row; empty for a removed one."""
        return self.row_of_uuid.keys

    @property
    def names(self) -> Sequence[str]:
        """The name of each row; empty for a removed one."""
        return self.row_of_name.keys

    def sharing_rows(self) -> Integers:
        """The rows of every provider that shares, in order."""
        return self.sharing.all()

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

    def row_classes(self, row: int) -> tuple[int, ...]:
        """The ids of the classes that a provider has an inventory of, ascending."""
        return self.class_sets.members[int(self.rows.classes[row])]

    def row_traits(self, row: int) -> tuple[int, ...]:
        return self.trait_sets.members[int(self.rows.traits[row])]

    def row_aggregates(self, row: int) -> tuple[str, ...]:
        """The aggregates of a provider as searches compare them: in canonical spelling."""
        return self.aggregate_sets.members[int(self.rows.aggregates[row])]

    def stored_aggregates(self, row: int) -> tuple[str, ...]:
        """The aggregates of a provider in the spelling in which they are stored."""
        return self.aggregate_sets.stored[int(self.rows.aggregates[row])]

    def trait_names(self, row: int) -> tuple[str, ...]:
        return tuple(self.traits.names[number] for number in self.row_traits(row))

    def parent_uuid(self, row: int) -> str | None:
        parent = int(self.rows.parent[row])
        return None if parent < 0 else self.uuids[parent]

    def root_uuid(self, row: int) -> str:
        return self.uuids[int(self.rows.root[row])]

    def tree_rows(self, row: int) -> range:
        """The rows of the tree that this row belongs to."""
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
            class_id,
            column.total.item(position),
            column.reserved.item(position),
            column.min_unit.item(position),
            column.max_unit.item(position),
            column.step_size.item(position),
            column.allocation_ratio.item(position),
            column.modified.item(position),
            column.used.item(position),
        )

    def inventory_and_usage(self, class_id: int, row: int) -> tuple[Inventory, int] | None:
        """An inventory as a value, and how much of it is used."""
        column = self.columns.get(class_id)
        position = None if column is None else column.position(row)
        if column is None or position is None or column.capacity[position] < 0:
            return None
        inventory = Inventory(
            total=column.total.item(position),
            reserved=column.reserved.item(position),
            min_unit=column.min_unit.item(position),
            max_unit=column.max_unit.item(position),
            step_size=column.step_size.item(position),
            allocation_ratio=column.allocation_ratio.item(position),
        )
        return inventory, column.used.item(position)

    def capacity_and_usage(self, class_id: int, row: int) -> tuple[int, int] | None:
        """The capacity of an inventory, and how much of it is used."""
        column = self.columns.get(class_id)
        position = None if column is None else column.position(row)
        if column is None or position is None:
            return None
        clipped: int = column.capacity.item(position)
        if clipped < 0:
            return None
        exact = clipped
        if not 0 < clipped < CAPACITY_MAX:
            exact = capacity(
                column.total.item(position),
                column.reserved.item(position),
                column.allocation_ratio.item(position),
            )
        return exact, column.used.item(position)

    def summary(self, row: int) -> ProviderSummary:
        return ProviderSummary(
            uuid=self.uuids[row],
            parent_uuid=self.parent_uuid(row),
            root_uuid=self.root_uuid(row),
            traits=self.trait_names(row),
            resources={
                self.classes.names[class_id]: amounts
                for class_id in self.row_classes(row)
                if (amounts := self.capacity_and_usage(class_id, row)) is not None
            },
        )

    def inventories_of_class(
        self, class_id: int, rows: Sequence[int]
    ) -> list[IndexedInventory | None]:
        """What the providers in these rows have of one class; for many of them."""
        column = self.columns.get(class_id)
        if column is None:
            return [None] * len(rows)
        positions, has = column.positions(rows)
        has &= column.capacity[positions] >= 0
        fields = zip(
            *(getattr(column, name)[positions].tolist() for name in IndexedInventory._fields[1:]),
            strict=True,
        )
        return [
            IndexedInventory(class_id, *each) if exists else None
            for exists, each in zip(has.tolist(), fields, strict=True)
        ]

    def free(self, class_id: int, row: int) -> int:
        """What is free of an inventory that exists; negative if it shrank below its usage."""
        column = self.columns[class_id]
        position = column.position(row)
        return int(column.capacity[position] - column.used[position])

    def inventories(self, row: int) -> list[IndexedInventory]:
        found = (self.inventory(class_id, row) for class_id in self.row_classes(row))
        return [inventory for inventory in found if inventory is not None]

    def provider(self, row: int) -> IndexedProvider:
        parent = int(self.rows.parent[row])
        return IndexedProvider(
            id=self.ids[row],
            uuid=self.uuids[row],
            name=self.names[row],
            generation=int(self.rows.generation[row]),
            parent_id=None if parent < 0 else self.ids[parent],
            modified=float(self.rows.modified[row]),
            traits=self.row_traits(row),
            aggregates=self.stored_aggregates(row),
            inventories=tuple(self.inventories(row)),
        )

    def contents(self) -> dict[str, Any]:
        """All that the index holds, by UUID and name; equal for two indexes of the same cloud."""
        live = np.flatnonzero(self.live_rows()).tolist()
        return {
            "resource classes": dict(self.classes.ids),
            "traits": dict(self.traits.ids),
            "providers": {
                self.uuids[row]: (self.provider(row), self.root_uuid(row)) for row in live
            },
            # In the order of rows, because pages depend on it in every process.
            "trees": {
                self.uuids[row]: [self.uuids[each] for each in self.tree_rows(row)]
                for row in live
                if self.rows.parent[row] < 0
            },
            "tree aggregates": {
                self.uuids[row]: set(
                    self.aggregate_sets.members[int(self.rows.tree_aggregates[row])]
                )
                for row in live
                if self.rows.parent[row] < 0
            },
            "sharing": {
                aggregate: {self.uuids[row] for row in rows}
                for aggregate, rows in self.sharing.by_aggregate.items()
                if rows
            },
        }
