"""Providers on their way from the tables into the index."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from roost.changes import Rows
from roost.model import Inventory, capacity
from roost.search.index.columns import CAPACITY_MAX


class IndexedInventory(NamedTuple):
    """An inventory as it enters the index: of one provider and class."""

    class_id: int
    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float
    modified: float
    used: int


class Node(NamedTuple):
    """A provider as it enters the index."""

    id: int
    uuid: str
    name: str
    generation: int
    parent_id: int | None
    modified: float
    traits: tuple[int, ...]  # trait ids, ascending
    aggregates: tuple[str, ...]  # UUIDs, in the order in which they became known
    stocks: tuple[IndexedInventory, ...]  # by class id, ascending


def column_capacity(stock: IndexedInventory) -> int:
    exact = capacity(stock.total, stock.reserved, stock.allocation_ratio)
    # A living inventory is never negative in the column: that is the mark of the dead.
    return min(max(exact, 0), CAPACITY_MAX)


def inventory_of(stock: IndexedInventory) -> Inventory:
    return Inventory(
        total=stock.total,
        reserved=stock.reserved,
        min_unit=stock.min_unit,
        max_unit=stock.max_unit,
        step_size=stock.step_size,
        allocation_ratio=stock.allocation_ratio,
    )


def nodes_from(rows: Rows) -> dict[int, Node]:
    """The providers among `rows`, by id."""
    traits: dict[int, list[int]] = {}
    for provider_id, trait_id in rows.traits:
        traits.setdefault(provider_id, []).append(trait_id)
    aggregates: dict[int, list[str]] = {}
    for provider_id, aggregate in rows.aggregates:
        aggregates.setdefault(provider_id, []).append(aggregate)
    used = {(provider_id, class_id): amount for provider_id, class_id, amount in rows.usages}
    stocks: dict[int, list[IndexedInventory]] = {}
    for (
        provider_id,
        class_id,
        total,
        reserved,
        low,
        high,
        step,
        ratio,
        modified,
    ) in rows.inventories:
        taken = used.get((provider_id, class_id), 0)
        stock = IndexedInventory(class_id, total, reserved, low, high, step, ratio, modified, taken)
        stocks.setdefault(provider_id, []).append(stock)
    return {
        number: Node(
            id=number,
            uuid=uuid,
            name=name,
            generation=generation,
            parent_id=parent_id,
            modified=modified,
            traits=tuple(sorted(traits.get(number, ()))),
            aggregates=tuple(aggregates.get(number, ())),
            stocks=tuple(sorted(stocks.get(number, ()))),
        )
        for number, uuid, name, generation, _root_id, parent_id, modified in rows.providers
    }


def rows_from(nodes: Iterable[Node]) -> Rows:
    """The way back: rows of which `nodes_from` would make these providers."""
    nodes = list(nodes)
    stocks = [(node.id, stock) for node in nodes for stock in node.stocks]
    return Rows(
        providers=[
            (node.id, node.uuid, node.name, node.generation, 0, node.parent_id, node.modified)
            for node in nodes
        ],
        inventories=[
            (
                provider_id,
                stock.class_id,
                stock.total,
                stock.reserved,
                stock.min_unit,
                stock.max_unit,
                stock.step_size,
                stock.allocation_ratio,
                stock.modified,
            )
            for provider_id, stock in stocks
        ],
        usages=[(provider_id, stock.class_id, stock.used) for provider_id, stock in stocks],
        traits=[(node.id, trait) for node in nodes for trait in node.traits],
        aggregates=[(node.id, aggregate) for node in nodes for aggregate in node.aggregates],
    )


def moment(number: float) -> datetime:
    """A time of the index as the tables hold it: UTC without a zone."""
    return datetime.fromtimestamp(number, UTC).replace(tzinfo=None)
