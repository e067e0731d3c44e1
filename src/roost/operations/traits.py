"""Traits: the catalog of names, and the traits of a provider."""

from collections.abc import Set as AbstractSet

import os_traits  # type: ignore[import-untyped]

from roost.errors import (
    StandardName,
    TraitNotFound,
)
from roost.model import (
    NamedValue,
    ProviderTraits,
)
from roost.operations.optimistic import Sight, decide
from roost.search.index.index import Index
from roost.search.index.providers import moment
from roost.service.service import Roost
from roost.store.connection.driver_errors import LostRace
from roost.store.transaction import Transaction


def list_traits(
    roost: Roost,
    *,
    names: frozenset[str] | None = None,
    prefix: str | None = None,
    associated: bool | None = None,
) -> list[NamedValue]:
    """Traits that meet every filter given; `associated` is whether a provider has the trait."""
    with roost.view() as index:
        catalog = index.traits
        numbers = set(catalog.names)
        if names is not None:
            numbers = {number for number in numbers if catalog.names[number] in names}
        if prefix is not None:
            numbers = {number for number in numbers if catalog.names[number].startswith(prefix)}
        if associated is not None:
            in_use = _traits_in_use(index)
            numbers = numbers & in_use if associated else numbers - in_use
        return [catalog.entry(number) for number in sorted(numbers)]


def read_trait(roost: Roost, *, name: str) -> NamedValue:
    with roost.view() as index:
        number = index.traits.ids.get(name)
        if number is None:
            raise TraitNotFound(name)
        return index.traits.entry(number)


def ensure_trait(roost: Roost, *, name: str) -> bool:
    """A trait of that name; whether it had to be created."""

    def unit(tx: Transaction) -> bool:
        if tx.trait_names.find(name) is not None:
            return False
        tx.trait_names.insert([name])
        return True

    return roost.run(unit)


def delete_trait(roost: Roost, *, name: str) -> None:
    def unit(tx: Transaction) -> None:
        trait_id = tx.trait_names.find(name)
        if trait_id is None:
            raise TraitNotFound(name)
        if not os_traits.is_custom(name):
            raise StandardName(f"Cannot delete standard trait {name}.")
        tx.trait_names.delete(trait_id, name)

    roost.run(unit)


def read_traits(roost: Roost, *, provider_uuid: str) -> ProviderTraits:
    with roost.view() as index:
        row = index.row(provider_uuid)
        numbers = index.row_traits(row)
        newest = max((index.traits.modified[number] for number in numbers), default=None)
        return ProviderTraits(
            generation=int(index.rows.generation[row]),
            traits=index.trait_names(row),
            modified=None if newest is None else moment(newest),
        )


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
            raise LostRace("the index sees nothing to do")
        return ProviderTraits(
            generation=generation,
            traits=tuple(sorted(ids, key=lambda name: ids[name])),
            modified=tx.now,
        )

    return decide(roost, unit, providers={provider_uuid: expected_generation})


def _traits_in_use(index: Index) -> set[int]:
    sets = {int(number) for number in index.rows.traits[: index.rows.count][index.live_rows()]}
    return {trait for number in sets for trait in index.trait_sets.members[number]}
