"""PUT and DELETE /resource_providers/{uuid}/traits"""

from collections.abc import Set as AbstractSet

from roost.model import ProviderTraits
from roost.service import Roost
from roost.store.transaction import Transaction


def replace_traits(
    roost: Roost,
    *,
    provider_uuid: str,
    traits: AbstractSet[str],
    expected_generation: int | None,
) -> ProviderTraits:
    """The traits of a provider, anew. Its generation moves only if they differ."""

    def unit(tx: Transaction) -> ProviderTraits:
        provider = tx.providers.lock(provider_uuid)
        provider.check_generation(expected_generation)
        ids = tx.trait_names.ids(traits)
        before, after = tx.traits.of(provider.id), set(ids.values())
        generation = provider.generation
        if before != after:
            tx.providers.advance([(provider, 1)])
            tx.traits.change(provider.id, added=after - before, removed=before - after)
            generation += 1
        return ProviderTraits(
            generation=generation,
            traits=tuple(sorted(ids, key=lambda name: ids[name])),
            modified=tx.now,
        )

    return roost.store.run(unit)
