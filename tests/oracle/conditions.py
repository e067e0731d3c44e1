"""Conditions on one provider, or on some, which lists of providers use too."""

from collections.abc import Iterable, Mapping

from roost import model
from roost.query import AggregateRule, ProviderQuery, TraitRule
from tests.support.world import World, WorldProvider


def fits(one: WorldProvider, resources: Mapping[str, int]) -> bool:
    return all(
        name in one.inventories and model.fits(one.inventories[name], one.used[name], amount)
        for name, amount in resources.items()
    )


def has_traits(one: WorldProvider, rule: TraitRule) -> bool:
    return all(one.traits & wanted for wanted in rule.required) and not (
        one.traits & rule.forbidden
    )


def member_of(aggregates: frozenset[str], rule: AggregateRule) -> bool:
    return all(aggregates & wanted for wanted in rule.required) and not (
        aggregates & rule.forbidden
    )


def is_in_tree(world: World, one: WorldProvider, wanted: str | None) -> bool:
    if wanted is None:
        return True
    return wanted in world.providers and world.providers[wanted].root_uuid == one.root_uuid


def is_in_subtree(world: World, one: WorldProvider, top: str | None) -> bool:
    return top is None or top in {above.uuid for above in world.ancestors_and_self(one)}


def share_subtree(world: World, some: list[WorldProvider]) -> bool:
    return any(is_above_all(world, top, some) for top in some)


def is_above_all(world: World, top: WorldProvider, some: Iterable[WorldProvider]) -> bool:
    """Whether a provider is, or is above, each of the others."""
    return all(
        any(above.uuid == top.uuid for above in world.ancestors_and_self(one)) for one in some
    )


def providers(world: World, query: ProviderQuery) -> set[str]:
    """The UUIDs of the providers to list: each rule applies to the provider itself."""
    return {
        one.uuid
        for one in world.providers.values()
        if query.uuid in (None, one.uuid)
        and query.name in (None, one.name)
        and is_in_tree(world, one, query.in_tree)
        and fits(one, query.resources)
        and has_traits(one, query.traits)
        and member_of(one.aggregates, query.aggregates)
    }
