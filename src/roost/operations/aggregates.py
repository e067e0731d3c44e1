"""Aggregates: the groups that a provider is a member of."""

from collections.abc import Sequence

from roost.model import ProviderAggregates
from roost.operations.optimistic import write, write_from_tables
from roost.operations.state_readers import Needs, StateReader
from roost.service.service import Roost
from roost.store.transaction import Transaction


def read_aggregates(roost: Roost, *, provider_uuid: str) -> ProviderAggregates:
    index = roost.current_index()
    row = index.row(provider_uuid)
    return ProviderAggregates(
        generation=int(index.rows.generation[row]), aggregates=index.stored_aggregates(row)
    )


def replace_aggregates(
    roost: Roost,
    *,
    provider_uuid: str,
    aggregates: Sequence[str],
    expected_generation: int | None,
) -> ProviderAggregates:
    """Replace the aggregates of a provider.

    For a client that names no generation (None, before 1.19) it is neither checked nor moved.
    """

    def unit(tx: Transaction, state: StateReader) -> ProviderAggregates:
        provider = state.provider(provider_uuid)
        provider.check_generation(expected_generation)
        generation = provider.generation
        if expected_generation is None:
            # The write must conflict with one that deletes the provider: both write its row.
            tx.providers.touch([provider.id])
            tx.providers.announce_unmoved([provider])
            tx.aggregates.replace(provider.id, aggregates)
        else:
            tx.providers.advance([(provider, 1)])
            tx.tell_parts(provider, aggregates=tx.aggregates.replace(provider.id, aggregates))
            generation += 1
        return ProviderAggregates(generation=generation, aggregates=tuple(aggregates))

    if expected_generation is None:
        # No generation moves, so nothing would verify a decision from the index.
        return write_from_tables(roost, unit)
    return write(roost, unit, providers={provider_uuid: expected_generation}, needs=Needs())
