"""The aggregates that a provider is a member of."""

from collections.abc import Sequence

from roost.model import (
    ProviderAggregates,
)
from roost.operations.optimistic import Sight, TableSight, decide
from roost.service.service import Roost
from roost.store.transaction import Transaction


def read_aggregates(roost: Roost, *, provider_uuid: str) -> ProviderAggregates:
    with roost.view() as index:
        row = index.row(provider_uuid)
        return ProviderAggregates(
            generation=int(index.rows.generation[row]), aggregates=index.row_aggregates(row)
        )


def replace_aggregates(
    roost: Roost,
    *,
    provider_uuid: str,
    aggregates: Sequence[str],
    expected_generation: int | None,
) -> ProviderAggregates:
    """The aggregates of a provider, anew.

    A writer that gives no generation (None, before 1.19) neither checks nor moves it.
    """

    def unit(tx: Transaction, sight: Sight) -> ProviderAggregates:
        provider = sight.provider(provider_uuid)
        provider.check_generation(expected_generation)
        generation = provider.generation
        if expected_generation is None:
            # Meets whoever deletes the provider: nothing else ties these rows to it.
            tx.providers.touch([provider.id])
            tx.providers.announce_unmoved([provider])
        else:
            tx.providers.advance([(provider, 1)])
            generation += 1
        tx.aggregates.replace(provider.id, aggregates)
        return ProviderAggregates(
            generation=generation, aggregates=tuple(dict.fromkeys(aggregates))
        )

    if expected_generation is None:
        # Without a guard on the generation only the tables can tell.
        return roost.run(lambda tx: unit(tx, TableSight(tx)))
    return decide(roost, unit, providers={provider_uuid: expected_generation})
