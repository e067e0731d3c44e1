"""PUT and DELETE /resource_providers/{uuid}/traits"""

from collections.abc import Set as AbstractSet

from roost.model import ProviderTraits
from roost.operations.sight import Sight, decide
from roost.service import Roost
from roost.store.failures import RetryNeeded
from roost.store.transaction import Transaction


def replace_traits(
    roost: Roost,
    *,
    provider_uuid: str,
    traits: AbstractSet[str],
    expected_generation: int | None,
) -> ProviderTraits:
    """The traits of a provider, anew. Its generation moves only if they differ."""

    def unit(tx: Transaction, sight: Sight) -> ProviderTraits:
        provider = sight.provider(provider_uuid)
        provider.check_generation(expected_generation)
        ids = sight.trait_ids(traits)
        before, after = sight.traits(provider.id), set(ids.values())
        generation = provider.generation
        if before != after:
            tx.providers.advance([(provider, 1)])
            tx.traits.change(provider.id, added=after - before, removed=before - after)
            generation += 1
        elif not sight.certain:
            # Nothing is written, so no guard would tell if it was otherwise.
            raise RetryNeeded("the index sees nothing to do")
        return ProviderTraits(
            generation=generation,
            traits=tuple(sorted(ids, key=lambda name: ids[name])),
            modified=tx.now,
        )

    return decide(roost, unit, providers={provider_uuid: expected_generation})
