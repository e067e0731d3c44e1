"""Traits: the catalog of names, and the traits of a provider."""

from collections.abc import Set as AbstractSet
from datetime import UTC, datetime

import os_traits  # type: ignore[import-untyped]

from roost.errors import StandardName, TraitNotFound
from roost.model import NamedValue, ProviderTraits
from roost.operations.optimistic import Unchanged, write
from roost.operations.state_readers import Needs, StateReader
from roost.search.index.index import Index
from roost.search.index.providers import moment
from roost.service.service import Roost
from roost.store.transaction import Transaction

# ---------------------------------------------------------------------------------------------
# The catalog


def list_traits(
    roost: Roost,
    *,
    names: frozenset[str] | None = None,
    prefix: str | None = None,
    associated: bool | None = None,
) -> list[NamedValue]:
    """Traits that meet every filter given; `associated` is whether a provider has the trait."""
    if names is not None:
        names |= _stored_names(roost, names)
    index = roost.current_index()
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


def _stored_names(roost: Roost, names: frozenset[str]) -> frozenset[str]:
    """The stored spelling of names that are in no trait as they are."""
    index = roost.current_index()
    unknown = [name for name in names if name not in index.traits.ids]
    return frozenset(roost.store.reads.stored_trait_names(unknown))


def _traits_in_use(index: Index) -> set[int]:
    sets = {int(number) for number in index.rows.traits[: index.rows.count][index.live_rows()]}
    return {trait for number in sets for trait in index.trait_sets.members[number]}


def read_trait(roost: Roost, *, name: str) -> NamedValue:
    index = roost.current_index()
    number = index.traits.ids.get(name)
    if number is None:
        raise TraitNotFound(name)
    return index.traits.entry(number)


def ensure_trait(roost: Roost, *, name: str) -> bool:
    """Create the trait unless it exists; gives back whether it was created."""

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


# ---------------------------------------------------------------------------------------------
# The traits of a provider


def read_traits(roost: Roost, *, provider_uuid: str) -> ProviderTraits:
    index = roost.current_index()
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
    """Replace the traits of a provider. Its generation moves only if they differ."""
    unchanged = _read_if_unchanged(roost, provider_uuid, traits, expected_generation)
    if unchanged is not None:
        return unchanged

    def unit(tx: Transaction, state: StateReader) -> ProviderTraits | Unchanged[ProviderTraits]:
        provider = state.provider(provider_uuid)
        provider.check_generation(expected_generation)
        ids = state.trait_ids(traits, provider.id)
        names = tuple(sorted(ids, key=lambda name: ids[name]))
        before, after = state.traits(provider.id), set(ids.values())
        if before == after:
            return Unchanged(
                ProviderTraits(generation=provider.generation, traits=names, modified=tx.now)
            )
        tx.providers.advance([(provider, 1)])
        tx.traits.change(provider.id, added=after - before, removed=before - after)
        tx.tell_parts(provider, traits=after)
        return ProviderTraits(generation=provider.generation + 1, traits=names, modified=tx.now)

    return write(
        roost, unit, providers={provider_uuid: expected_generation}, needs=Needs(traits=True)
    )


def _read_if_unchanged(
    roost: Roost, provider_uuid: str, traits: AbstractSet[str], expected_generation: int | None
) -> ProviderTraits | None:
    """The provider as it is, if a replacement would change nothing. This is then a read.

    Compute nodes report the same traits again and again. A look at the index costs nothing, so
    the index catches up only where it seems that there is nothing to do.
    """

    def is_unchanged(index: Index) -> bool:
        row = index.row_of_uuid.get(provider_uuid)
        return (
            row is not None
            and expected_generation in (None, int(index.rows.generation[row]))
            and traits == set(index.trait_names(row))
        )

    recent = roost.recent_index(allow_stale=True)
    if recent is None or not is_unchanged(recent):
        return None
    index = roost.current_index()
    if not is_unchanged(index):
        return None
    row = index.row(provider_uuid)
    return ProviderTraits(
        generation=int(index.rows.generation[row]),
        traits=index.trait_names(row),
        modified=datetime.now(UTC).replace(tzinfo=None),
    )
