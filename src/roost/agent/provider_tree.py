"""The trees of providers that a driver edits, in memory.

A driver gets the tree as the service has it and edits it until it matches the machine; the caller
then sends the difference. The methods have the names that drivers of OpenStack compute use, and do
what they do there, so that such a driver can be ported. A provider is addressed by its UUID or its
name; if the name of one provider is the UUID of another, the UUID wins.
"""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from roost.agent.tree_node import (
    BadInventory,
    DuplicateProvider,
    InventoryFields,
    Node,
    NoSuchProvider,
    ProviderData,
    ProviderLoop,
    TreeError,
)
from roost.agent.tree_shape import TreeShape
from roost.model import SHARING_TRAIT
from roost.uuids import canonical_uuid, canonical_uuids

__all__ = [
    "BadInventory",
    "DuplicateProvider",
    "InventoryFields",
    "NoSuchProvider",
    "ProviderData",
    "ProviderLoop",
    "ProviderTree",
    "TreeError",
]


class ProviderTree(TreeShape):
    """Any number of trees, each with its root, and what their providers have. Thread-safe."""

    def set_generation(self, name_or_uuid: str, generation: int | None) -> None:
        """Record the generation that the service has given."""
        with self._lock:
            self._find(name_or_uuid).generation = generation

    def set_used(self, name_or_uuid: str, used: Mapping[str, int]) -> None:
        """Record how much consumers hold of a provider, as the service has said."""
        with self._lock:
            self._find(name_or_uuid).used = dict(used)

    # -- inventories ---------------------------------------------------------------------------

    def has_inventory(self, name_or_uuid: str) -> bool:
        with self._lock:
            return bool(self._find(name_or_uuid).inventory)

    def has_sharing_provider(self, resource_class: str) -> bool:
        """Whether any provider shares this class with the members of its aggregates."""
        with self._lock:
            return any(
                resource_class in node.inventory and SHARING_TRAIT in node.traits
                for node in self._nodes.values()
            )

    def has_inventory_changed(
        self, name_or_uuid: str, inventory: Mapping[str, InventoryFields]
    ) -> bool:
        """Whether this inventory differs from the known one."""
        with self._lock:
            node = self._find(name_or_uuid)
            return node.inventory != node.read_inventory(inventory)

    def update_inventory(
        self,
        name_or_uuid: str,
        inventory: Mapping[str, InventoryFields],
        generation: int | None = None,
    ) -> bool:
        """Replace the whole inventory of a provider. Returns whether that changed anything.

        A class that is left out goes; a field of a class that is left out stays as it is.
        """
        with self._lock:
            node = self._find(name_or_uuid)
            changed = self.has_inventory_changed(name_or_uuid, inventory)
            node.inventory = node.read_inventory(inventory)
            return self._updated(node, changed, generation)

    # -- traits --------------------------------------------------------------------------------

    def has_traits(self, name_or_uuid: str, traits: Iterable[str]) -> bool:
        """Whether a provider has all of these traits."""
        with self._lock:
            return self._find(name_or_uuid).traits.issuperset(traits)

    def have_traits_changed(self, name_or_uuid: str, traits: Iterable[str]) -> bool:
        with self._lock:
            return self._find(name_or_uuid).traits != frozenset(traits)

    def update_traits(
        self, name_or_uuid: str, traits: Iterable[str], generation: int | None = None
    ) -> bool:
        """Replace all traits of a provider. Returns whether that changed anything."""
        with self._lock:
            node = self._find(name_or_uuid)
            before, node.traits = node.traits, frozenset(traits)
            return self._updated(node, before != node.traits, generation)

    def add_traits(self, name_or_uuid: str, *traits: str) -> bool:
        with self._lock:
            return self.update_traits(name_or_uuid, self._find(name_or_uuid).traits | set(traits))

    def remove_traits(self, name_or_uuid: str, *traits: str) -> bool:
        with self._lock:
            return self.update_traits(name_or_uuid, self._find(name_or_uuid).traits - set(traits))

    # -- aggregates ----------------------------------------------------------------------------

    def in_aggregates(self, name_or_uuid: str, aggregates: Iterable[str]) -> bool:
        """Whether a provider is in all of these aggregates."""
        with self._lock:
            known = canonical_uuids(self._find(name_or_uuid).aggregates)
            return known.issuperset(canonical_uuids(aggregates))

    def have_aggregates_changed(self, name_or_uuid: str, aggregates: Iterable[str]) -> bool:
        """Whether a provider is in others than these.

        The service shows an aggregate in the spelling in which somebody once stored it.
        """
        with self._lock:
            known = canonical_uuids(self._find(name_or_uuid).aggregates)
            return known != canonical_uuids(aggregates)

    def update_aggregates(
        self, name_or_uuid: str, aggregates: Iterable[str], generation: int | None = None
    ) -> bool:
        """Replace all aggregates of a provider. Returns whether that changed anything."""
        with self._lock:
            node = self._find(name_or_uuid)
            before, node.aggregates = node.aggregates, frozenset(aggregates)
            changed = canonical_uuids(before) != canonical_uuids(node.aggregates)
            return self._updated(node, changed, generation)

    def add_aggregates(self, name_or_uuid: str, *aggregates: str) -> bool:
        with self._lock:
            known = self._find(name_or_uuid).aggregates
            added = {each for each in aggregates if not _is_among(each, known)}
            return self.update_aggregates(name_or_uuid, known | added)

    def remove_aggregates(self, name_or_uuid: str, *aggregates: str) -> bool:
        with self._lock:
            known = self._find(name_or_uuid).aggregates
            kept = {each for each in known if not _is_among(each, aggregates)}
            return self.update_aggregates(name_or_uuid, kept)

    # -- resources: a driver's notes on single devices, which are never sent to the service -------

    def have_resources_changed(self, name_or_uuid: str, resources: Mapping[str, Any]) -> bool:
        with self._lock:
            return self._find(name_or_uuid).resources != dict(resources)

    def update_resources(
        self, name_or_uuid: str, resources: Mapping[str, Any], generation: int | None = None
    ) -> bool:
        """Replace all notes on a provider. Returns whether that changed anything."""
        with self._lock:
            node = self._find(name_or_uuid)
            changed = self.have_resources_changed(name_or_uuid, resources)
            node.resources = copy.deepcopy(dict(resources))
            return self._updated(node, changed, generation)

    @staticmethod
    def _updated(node: Node, changed: bool, generation: int | None) -> bool:
        if generation is not None:
            node.generation = generation
        return changed


def _is_among(aggregate: str, others: Iterable[str]) -> bool:
    """Whether this aggregate is one of these, in any spelling."""
    return canonical_uuid(aggregate) in canonical_uuids(others)
