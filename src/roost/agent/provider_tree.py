"""The trees of providers that a driver edits, in memory.

A driver gets the tree as the service has it and edits it until it matches the machine; the caller
then sends the difference. The methods have the names that drivers of OpenStack compute use, so
that such a driver can be ported. A provider is addressed by its UUID or its name; if the name of
one provider is the UUID of another, the UUID wins.
"""

import copy
import threading
import uuid as uuid_module
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from roost.agent.tree_node import (
    BadInventory,
    DuplicateProvider,
    InventoryFields,
    Node,
    NoSuchProvider,
    ProviderData,
    ProviderLoop,
    TreeError,
    parents_first,
)
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


class ProviderTree:
    """Any number of trees, each with its root. Thread-safe."""

    def __init__(self) -> None:
        # Reentrant, because methods call each other.
        self._lock = threading.RLock()
        self._nodes: dict[str, Node] = {}  # by UUID
        self._uuids: dict[str, str] = {}  # by name

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # A lock cannot be copied, so the copy has its own.
        with self._lock:
            twin = type(self)()
            memo[id(self)] = twin
            twin._nodes = copy.deepcopy(self._nodes, memo)
            twin._uuids = dict(self._uuids)
            return twin

    def copy(self) -> Self:
        return copy.deepcopy(self)

    # -- the shape of the trees ----------------------------------------------------------------

    @property
    def roots(self) -> list[str]:
        """The UUIDs of the providers without a parent."""
        with self._lock:
            return [node.uuid for node in self._nodes.values() if node.parent_uuid is None]

    def new_root(self, name: str, uuid: str, generation: int | None = None) -> str:
        """Add a provider without a parent. Returns its UUID."""
        with self._lock:
            return self._add(Node(uuid, name, None, generation))

    def new_child(
        self, name: str, parent: str, uuid: str | None = None, generation: int | None = None
    ) -> str:
        """Add a provider below another, with a random UUID if none is given. Returns its UUID."""
        with self._lock:
            parent_uuid = self._find(parent).uuid
            return self._add(Node(uuid or str(uuid_module.uuid4()), name, parent_uuid, generation))

    def remove(self, name_or_uuid: str) -> None:
        """Remove a provider and everything below it."""
        with self._lock:
            node = self._find(name_or_uuid)
            if node.parent_uuid is not None:
                self._nodes[node.parent_uuid].children.remove(node.uuid)
            for uuid in list(self._below(node)):
                del self._uuids[self._nodes.pop(uuid).name]

    def reparent(self, name_or_uuid: str, new_parent: str | None) -> None:
        """Move a provider, and everything below it, below another; None makes it a root."""
        with self._lock:
            node = self._find(name_or_uuid)
            parent = None if new_parent is None else self._find(new_parent)
            if parent is not None and parent.uuid in self._below(node):
                raise ProviderLoop(
                    f"Provider {node.name} cannot be moved below {parent.name}: "
                    f"{parent.name} is in its subtree."
                )
            if node.parent_uuid is not None:
                self._nodes[node.parent_uuid].children.remove(node.uuid)
            node.parent_uuid = None if parent is None else parent.uuid
            if parent is not None:
                parent.children.append(node.uuid)

    def rename(self, name_or_uuid: str, new_name: str) -> None:
        with self._lock:
            node = self._find(name_or_uuid)
            if self._uuids.get(new_name, node.uuid) != node.uuid:
                raise DuplicateProvider(
                    f"Provider {node.name} cannot become {new_name}: the name is taken."
                )
            del self._uuids[node.name]
            node.name = new_name
            self._uuids[new_name] = node.uuid

    def populate_from_iterable(self, provider_dicts: Iterable[Mapping[str, Any]]) -> None:
        """Add providers as GET /resource_providers returns them, in any order.

        A provider that is in the tree already is replaced, together with everything below it; the
        caller has to read its inventories, traits and aggregates again. Adds all or none of them.
        """
        providers = list(provider_dicts)
        with self._lock:
            twin = self.copy()
            for each in providers:
                if each["uuid"] in twin._nodes:
                    twin.remove(each["uuid"])
            for each in parents_first(providers):
                twin._add(
                    Node(
                        each["uuid"],
                        each["name"],
                        each.get("parent_provider_uuid"),
                        each.get("generation"),
                    )
                )
            self._nodes, self._uuids = twin._nodes, twin._uuids

    def exists(self, name_or_uuid: str) -> bool:
        with self._lock:
            return name_or_uuid in self._nodes or name_or_uuid in self._uuids

    def data(self, name_or_uuid: str) -> ProviderData:
        """A copy of what is known of a provider."""
        with self._lock:
            node = self._find(name_or_uuid)
            return node.data(self._root(node).uuid)

    def get_provider_uuids(self, name_or_uuid: str | None = None) -> list[str]:
        """A provider and everything below it, or all providers: parents before children."""
        with self._lock:
            tops = self.roots if name_or_uuid is None else [self._find(name_or_uuid).uuid]
            return [uuid for top in tops for uuid in self._below(self._nodes[top])]

    def get_provider_uuids_in_tree(self, name_or_uuid: str) -> list[str]:
        """All providers of the tree that a provider is in: parents before children."""
        with self._lock:
            return list(self._below(self._root(self._find(name_or_uuid))))

    def set_generation(self, name_or_uuid: str, generation: int | None) -> None:
        """Record the generation that the service has given."""
        with self._lock:
            self._find(name_or_uuid).generation = generation

    # -- inventories ---------------------------------------------------------------------------

    def has_inventory(self, name_or_uuid: str) -> bool:
        with self._lock:
            return bool(self._find(name_or_uuid).inventory)

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
        """Replace the whole inventory of a provider. Returns whether that changed anything."""
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

    # -- with the lock held --------------------------------------------------------------------

    def _find(self, name_or_uuid: str) -> Node:
        node = self._nodes.get(name_or_uuid)
        if node is None:
            node = self._nodes.get(self._uuids.get(name_or_uuid, ""))
        if node is None:
            raise NoSuchProvider(name_or_uuid)
        return node

    def _add(self, node: Node) -> str:
        known = self._nodes.get(node.uuid)
        if known is not None:
            raise DuplicateProvider(
                f"Provider {node.name} cannot be added: its UUID {node.uuid} is that of "
                f"{known.name}, {self._place(known)}."
            )
        if node.name in self._uuids:
            known = self._nodes[self._uuids[node.name]]
            raise DuplicateProvider(
                f"Provider {node.name} cannot be added: the name is taken by {known.uuid}, "
                f"{self._place(known)}."
            )
        if node.parent_uuid is not None:
            self._find(node.parent_uuid).children.append(node.uuid)
        self._nodes[node.uuid] = node
        self._uuids[node.name] = node.uuid
        return node.uuid

    def _place(self, node: Node) -> str:
        if node.parent_uuid is None:
            return "a root"
        return f"a child of {self._nodes[node.parent_uuid].name}"

    def _root(self, node: Node) -> Node:
        while node.parent_uuid is not None:
            node = self._nodes[node.parent_uuid]
        return node

    def _below(self, node: Node) -> Iterator[str]:
        """A provider and everything below it: parents before children."""
        pending = [node.uuid]
        while pending:
            uuid = pending.pop()
            yield uuid
            pending.extend(reversed(self._nodes[uuid].children))

    @staticmethod
    def _updated(node: Node, changed: bool, generation: int | None) -> bool:
        if generation is not None:
            node.generation = generation
        return changed


def _is_among(aggregate: str, others: Iterable[str]) -> bool:
    """Whether this aggregate is one of these, in any spelling."""
    return canonical_uuid(aggregate) in canonical_uuids(others)
