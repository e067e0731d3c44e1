"""The shape of provider trees: which providers there are, and which one is below which."""

import copy
import threading
import uuid as uuid_module
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from roost.agent.tree_node import (
    DuplicateProvider,
    Node,
    NoSuchProvider,
    ProviderData,
    ProviderLoop,
    parents_first,
)


class TreeShape:
    """Any number of trees, each with its root. Thread-safe."""

    def __init__(self) -> None:
        # Reentrant, because methods call each other.
        self._lock = threading.RLock()
        self._nodes: dict[str, Node] = {}  # by UUID
        self._uuids: dict[str, str] = {}  # by name
        # Classes that have another name from now on, old -> new. A driver fills it, and the agent
        # renames what consumers hold of them.
        self.renamed_classes: dict[str, str] = {}
        # Consumers and classes for which a function of the driver's has chosen a provider.
        self.guessed: set[tuple[str, str]] = set()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # A lock cannot be copied, so the copy has its own.
        with self._lock:
            twin = type(self)()
            memo[id(self)] = twin
            twin._nodes = copy.deepcopy(self._nodes, memo)
            twin._uuids = dict(self._uuids)
            twin.renamed_classes = dict(self.renamed_classes)
            twin.guessed = set(self.guessed)
            return twin

    def copy(self) -> Self:
        return copy.deepcopy(self)

    @property
    def roots(self) -> list[ProviderData]:
        """Copies of the providers without a parent, as `data` makes them."""
        with self._lock:
            return [node.data(node.uuid) for node in self._roots()]

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
            if uuid is None and name in self._nodes:
                # Nobody could find the new one by its name.
                raise DuplicateProvider(
                    f"Provider {name} cannot be added: the name is the UUID of "
                    f"{self._nodes[name].name}."
                )
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
            if node.name != new_name:
                node.former_name = node.former_name or node.name
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
            tops = self._roots() if name_or_uuid is None else [self._find(name_or_uuid)]
            return [uuid for top in tops for uuid in self._below(top)]

    def get_provider_uuids_in_tree(self, name_or_uuid: str) -> list[str]:
        """All providers of the tree that a provider is in: parents before children."""
        with self._lock:
            return list(self._below(self._root(self._find(name_or_uuid))))

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

    def _roots(self) -> list[Node]:
        return [node for node in self._nodes.values() if node.parent_uuid is None]

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
