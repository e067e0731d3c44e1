"""What is known of providers, answered from the index."""

from roost.errors import ProviderNotFound
from roost.model import (
    Provider,
    ProviderAggregates,
    ProviderInventories,
    ProviderTraits,
    ProviderUsages,
)
from roost.operations.known_names import check_classes, check_traits
from roost.query import ProviderQuery
from roost.search.index import Index
from roost.search.nodes import inventory_of, moment
from roost.search.select import select
from roost.service import Roost


def read_provider(roost: Roost, *, uuid: str) -> Provider:
    with roost.view() as index:
        return _provider(index, _row(index, uuid))


def list_providers(roost: Roost, *, query: ProviderQuery) -> list[Provider]:
    with roost.view() as index:
        check_classes(index, query.resources)
        check_traits(index, [query.traits])
        return [_provider(index, row) for row in select(index, query)]


def read_inventories(roost: Roost, *, provider_uuid: str) -> ProviderInventories:
    with roost.view() as index:
        row = _row(index, provider_uuid)
        stocks = index.stocks(row)
        return ProviderInventories(
            generation=int(index.rows.generation[row]),
            inventories={
                index.classes.names[stock.class_id]: inventory_of(stock) for stock in stocks
            },
            modified=moment(max(stock.modified for stock in stocks)) if stocks else None,
        )


def read_usages(roost: Roost, *, provider_uuid: str) -> ProviderUsages:
    with roost.view() as index:
        row = _row(index, provider_uuid)
        return ProviderUsages(
            generation=int(index.rows.generation[row]),
            usages={index.classes.names[stock.class_id]: stock.used for stock in index.stocks(row)},
        )


def read_traits(roost: Roost, *, provider_uuid: str) -> ProviderTraits:
    with roost.view() as index:
        row = _row(index, provider_uuid)
        numbers = index.row_traits(row)
        newest = max((index.traits.modified[number] for number in numbers), default=None)
        return ProviderTraits(
            generation=int(index.rows.generation[row]),
            traits=index.trait_names(row),
            modified=None if newest is None else moment(newest),
        )


def read_aggregates(roost: Roost, *, provider_uuid: str) -> ProviderAggregates:
    with roost.view() as index:
        row = _row(index, provider_uuid)
        return ProviderAggregates(
            generation=int(index.rows.generation[row]), aggregates=index.row_aggregates(row)
        )


def _row(index: Index, uuid: str) -> int:
    try:
        return index.row_of_uuid[uuid]
    except KeyError:
        raise ProviderNotFound(uuid) from None


def _provider(index: Index, row: int) -> Provider:
    return Provider(
        uuid=index.uuids[row],
        name=index.names[row],
        generation=int(index.rows.generation[row]),
        parent_uuid=index.parent_uuid(row),
        root_uuid=index.root_uuid(row),
        modified=moment(float(index.rows.modified[row])),
    )
