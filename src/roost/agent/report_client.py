"""Reads a host's provider tree from the service, and writes back what changed.

`ReportClient.update_from_provider_tree` compares a tree with the one that was last read from the
service, and sends what differs. Everything but a reshape is a sequence of small steps. Each leaves
a consistent state behind, so the next run completes one that was interrupted. A reshape is one
request, and happens as a whole or not at all.
"""

import logging
import uuid as uuid_module
from collections.abc import Mapping
from typing import Any

import msgspec

from roost.agent.driver import Allocations
from roost.agent.provider_tree import ProviderTree
from roost.agent.tree_update import FailedStep, TreeUpdate, UpdateFailed
from roost.client import Client, Consumer, Provider
from roost.model import SHARING_TRAIT

LOG = logging.getLogger(__name__)


class ReportClient:
    """Reads and writes the tree of one host. Not thread-safe."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tree = ProviderTree()  # as the service had it when we last read or wrote it
        self._root_created = False  # since the last update
        self._held: dict[str, Consumer] = {}  # what each consumer held when it was last read
        self._classes: set[str] = set()
        self._traits: set[str] = set()

    # -- reading -------------------------------------------------------------------------------

    def get_provider_tree_and_ensure_root(
        self, name: str, uuid: str | None = None, parent_uuid: str | None = None
    ) -> ProviderTree:
        """Read the tree of a host, and create its root if the service has none.

        An existing root is found by its UUID if one is given, otherwise by its name. Returns a
        copy for a driver to edit.
        """
        root = self._find_root(name, uuid)
        if root is not None:
            return self._read_tree(root)
        created = self._create_root(name, uuid, parent_uuid)
        if parent_uuid is not None:
            # It is part of its parent's tree.
            return self._read_tree(created.uuid)
        # A new provider has nothing that would have to be read.
        self._tree = ProviderTree()
        self._tree.new_root(name, created.uuid, generation=created.generation)
        return self._tree.copy()

    def _create_root(self, name: str, uuid: str | None, parent_uuid: str | None) -> Provider:
        created = self._client.create_provider(
            name, uuid=uuid or str(uuid_module.uuid4()), parent_uuid=parent_uuid
        )
        self._root_created = True
        LOG.info("created provider %s (%s)", name, created.uuid)
        return created

    def get_provider_tree(self, name: str, uuid: str | None = None) -> ProviderTree:
        """Read the tree of a host without writing: a missing root is added to the copy alone."""
        root = self._find_root(name, uuid)
        if root is not None:
            return self._read_tree(root)
        self._tree = ProviderTree()
        tree = ProviderTree()
        tree.new_root(name, uuid or str(uuid_module.uuid4()))
        return tree

    def last_read_tree(self) -> ProviderTree:
        """A copy of the tree as the service had it when it was last read; empty if it had none."""
        return self._tree.copy()

    def _read_tree(self, root: str) -> ProviderTree:
        providers = self._client.tree(root)
        tree = ProviderTree()
        tree.populate_from_iterable(
            {
                "uuid": each.uuid,
                "name": each.name,
                "generation": each.generation,
                "parent_provider_uuid": each.parent_uuid,
            }
            for each in providers
        )
        for each in providers:
            self._read(tree, each.uuid)
        self._tree = tree
        return tree.copy()

    def _find_root(self, name: str, uuid: str | None) -> str | None:
        query = {"name": name} if uuid is None else {"uuid": uuid}
        found = self._client.providers(query)
        if not found and uuid is not None:
            others = self._client.providers({"name": name})
            if others:
                raise UpdateFailed([FailedStep(name, "create", f"{others[0].uuid} has this name")])
        return found[0].uuid if found else None

    def _read(self, tree: ProviderTree, uuid: str) -> None:
        """Read everything of one provider into the tree."""
        inventories = self._client.inventories(uuid)
        traits = self._client.provider_traits(uuid)
        aggregates = self._client.provider_aggregates(uuid)
        tree.update_inventory(
            uuid,
            {name: msgspec.structs.asdict(each) for name, each in inventories.inventories.items()},
        )
        tree.update_traits(uuid, traits.traits)
        # The oldest of the three generations: another client may have written between two reads,
        # and a write at the newest generation would overwrite what it wrote.
        tree.update_aggregates(uuid, aggregates.aggregates, generation=inventories.generation)

    def get_allocations_for_provider_tree(self, tree: ProviderTree | None = None) -> Allocations:
        """Everything that the consumers of a tree hold, in this tree and elsewhere.

        These are the consumers that hold something of a provider of the tree, and those that hold
        nothing but resources of sharing providers associated with it.
        """
        tree = self._tree if tree is None else tree
        local = [uuid for uuid in tree.get_provider_uuids() if self._tree.exists(uuid)]
        consumers = {
            consumer for uuid in local for consumer in self._client.provider_consumers(uuid)
        }
        found = {uuid: self._client.consumer(uuid) for uuid in sorted(consumers)}
        found |= self._sharing_consumers(local, consumers)
        # A consumer may have released everything in the meantime.
        self._held = {uuid: each for uuid, each in found.items() if each.allocations}
        return {uuid: _record(each) for uuid, each in self._held.items()}

    def _sharing_consumers(self, local: list[str], known: set[str]) -> dict[str, Consumer]:
        """Consumers that hold nothing but resources of providers that share with the tree."""
        aggregates = {aggregate for uuid in local for aggregate in self._tree.data(uuid).aggregates}
        if not aggregates:
            return {}
        query = {"member_of": f"in:{','.join(sorted(aggregates))}", "required": SHARING_TRAIT}
        sharing = {each.uuid for each in self._client.providers(query)} - set(local)
        holders = {
            consumer for uuid in sharing for consumer in self._client.provider_consumers(uuid)
        }
        found = {uuid: self._client.consumer(uuid) for uuid in sorted(holders - known)}
        # A consumer that holds something in another tree belongs to that tree.
        return {uuid: each for uuid, each in found.items() if each.allocations.keys() <= sharing}

    # -- writing -------------------------------------------------------------------------------

    def update_from_provider_tree(
        self, new_tree: ProviderTree, allocations: Allocations | None = None
    ) -> bool:
        """Write this tree to the service, and with `allocations` what consumers hold as well.

        Returns whether anything had to be sent, the root that was created when the tree was read
        included. Raises `UpdateFailed` with every step that
        failed; a reshape that failed has changed nothing.
        """
        update = TreeUpdate(self._client, self._tree, new_tree, self._classes, self._traits)
        consumers = None
        if allocations is not None:
            given = (_consumer(uuid, record) for uuid, record in sorted(allocations.items()))
            # Consumers that hold what they held are not sent. If one of them had changed in
            # between, the generation of a provider that is sent would have changed as well.
            consumers = [each for each in given if each != self._held.get(each.uuid)]
        try:
            update.run(consumers)
        finally:
            # Steps that succeeded count even if a later one failed.
            self._tree = update.tree
        created, self._root_created = self._root_created, False
        return created or update.requests > 0


def _record(consumer: Consumer) -> dict[str, Any]:
    return {
        "allocations": {
            provider: {"resources": dict(resources)}
            for provider, resources in consumer.allocations.items()
        },
        "project_id": consumer.project_id,
        "user_id": consumer.user_id,
        "consumer_generation": consumer.generation,
        "consumer_type": consumer.consumer_type,
    }


def _consumer(uuid: str, record: Mapping[str, Any]) -> Consumer:
    return Consumer(
        uuid=uuid,
        allocations={
            provider: held["resources"]
            for provider, held in record["allocations"].items()
            if held["resources"]
        },
        project_id=record["project_id"],
        user_id=record["user_id"],
        generation=record["consumer_generation"],
        consumer_type=record.get("consumer_type"),
    )
