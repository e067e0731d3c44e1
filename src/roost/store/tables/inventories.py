"""Inventories and their usage."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    BindParameter,
    and_,
    bindparam,
    cast,
    delete,
    func,
    select,
)

from roost.changes import InventoryNumbers
from roost.claims import InventoryState
from roost.model import EventKind, Inventory
from roost.store.connection.statements import PreparedDelete, PreparedInsert, chunks
from roost.store.schema import allocations, inventories, resource_classes
from roost.store.tables.session import Session

_table = inventories


class Inventories:
    """Rows of `inventories`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def states(self, provider_ids: Collection[int]) -> dict[int, dict[str, InventoryState]]:
        """The inventories of each provider with their usage, by resource class, ordered by its id.

        The caller reads the generation before this, or in the same statement. If the usage is
        newer than the generation, the guard fails; if it were older, the guard would pass.
        """
        found: dict[int, dict[str, InventoryState]] = {id: {} for id in provider_ids}
        for ids in chunks(provider_ids):
            for row in self._execute(_STATES, {"ids": ids}):
                found[row.resource_provider_id][row.name] = InventoryState(
                    class_id=row.resource_class_id, inventory=_inventory(row), used=row.used
                )
        return found

    def delete(self, provider_id: int, class_ids: Iterable[int]) -> None:
        self._session.defer(_DELETE.writes(self._session.dialect, provider_id, class_ids))
        self._session.changes.reread_providers([provider_id], EventKind.INVENTORIES)

    def clear(self, provider_ids: Collection[int]) -> None:
        """Delete every inventory of these providers."""
        for ids in chunks(provider_ids):
            self._execute(delete(_table).where(_table.c.resource_provider_id.in_(ids)))
        self._session.changes.reread_providers(provider_ids, EventKind.INVENTORIES)

    def insert(self, added: Mapping[int, Mapping[int, Inventory]]) -> None:
        """Add rows, by provider id and class id."""
        rows = self._rows(added)
        self._session.insert(_INSERT, rows)
        self._session.changes.reread_providers(added, EventKind.INVENTORIES)

    def put(self, provider_id: int, inventories: Mapping[int, Inventory]) -> None:
        """Add rows by class id, replacing those that the provider has of these classes."""
        rows = self._rows({provider_id: inventories})
        self._session.insert(_PUT, rows)
        self._session.changes.reread_providers([provider_id], EventKind.INVENTORIES)

    def _rows(self, inventories: Mapping[int, Mapping[int, Inventory]]) -> list[dict[str, Any]]:
        return [
            {
                "resource_provider_id": provider_id,
                "resource_class_id": class_id,
                "created_at": self._session.now,
                "updated_at": None,
                **{name: getattr(inventory, name) for name in _NUMBERS},
            }
            for provider_id, by_class in inventories.items()
            for class_id, inventory in by_class.items()
        ]

    def as_stored(self, inventory: Inventory) -> Inventory:
        """The inventory as this database will return it.

        MySQL's FLOAT has about six digits. A decision must rest on the value that is read later.
        """
        if not self._session.is_mysql:
            return inventory
        ratio = float(f"{inventory.allocation_ratio:.6g}")
        return msgspec.structs.replace(inventory, allocation_ratio=ratio)


def numbers_of(inventories: Mapping[int, Inventory]) -> list[InventoryNumbers]:
    """What readers need to know of inventories, which are given by class id."""
    return [
        (
            class_id,
            each.total,
            each.reserved,
            each.min_unit,
            each.max_unit,
            each.step_size,
            each.allocation_ratio,
        )
        for class_id, each in inventories.items()
    ]


_NUMBERS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")

# Built once: building a statement costs as much as running it.
_DELETE = PreparedDelete(_table, "resource_provider_id", "resource_class_id")
_KEY = ("resource_provider_id", "resource_class_id")
_COLUMNS = (*_KEY, *_NUMBERS, "created_at", "updated_at")
_INSERT = PreparedInsert(_table, _COLUMNS)
_PUT = PreparedInsert(_table, _COLUMNS, replacing=_KEY)

_IDS: BindParameter[int] = bindparam("ids", expanding=True)

_USED = (
    select(
        allocations.c.resource_provider_id,
        allocations.c.resource_class_id,
        cast(func.sum(allocations.c.used), BigInteger).label("used"),
    )
    .where(allocations.c.resource_provider_id.in_(_IDS))
    .group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)
    .subquery()
)

_STATES = (
    select(
        _table.c.resource_provider_id,
        _table.c.resource_class_id,
        _table.c.total,
        _table.c.reserved,
        _table.c.min_unit,
        _table.c.max_unit,
        _table.c.step_size,
        _table.c.allocation_ratio,
        resource_classes.c.name,
        func.coalesce(_USED.c.used, 0).label("used"),
    )
    .join(resource_classes, resource_classes.c.id == _table.c.resource_class_id)
    .outerjoin(
        _USED,
        and_(
            _USED.c.resource_provider_id == _table.c.resource_provider_id,
            _USED.c.resource_class_id == _table.c.resource_class_id,
        ),
    )
    .where(_table.c.resource_provider_id.in_(_IDS))
    .order_by(_table.c.resource_class_id)
)


def _inventory(row: Any) -> Inventory:
    return Inventory(
        total=row.total,
        reserved=row.reserved,
        min_unit=row.min_unit,
        max_unit=row.max_unit,
        step_size=row.step_size,
        allocation_ratio=row.allocation_ratio,
    )
