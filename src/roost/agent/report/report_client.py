"""Reads a host's provider tree from the service, and writes back what changed.

`ReportClient.update_from_provider_tree` compares a tree with the one that was last read from the
service, and sends what differs. Everything but a reshape is a sequence of small steps. Each leaves
a consistent state behind, so the next run completes one that was interrupted. A reshape is one
request, and happens as a whole or not at all.
"""

import logging
import uuid as uuid_module
from collections.abc import Callable

from roost.agent.driver import Allocations, DriverError
from roost.agent.provider_tree import DuplicateProvider, ProviderTree
from roost.agent.report.allocation_reader import AllocationReader, to_consumer
from roost.agent.report.claim_pause import ClaimPause
from roost.agent.report.custom_names import CustomNames
from roost.agent.report.tree_reader import ReadTree, TreeReader
from roost.agent.report.tree_update import (
    FailedStep,
    TreeUpdate,
    UpdateConflict,
    UpdateFailed,
)
from roost.client import Client, DuplicateName, Provider
from roost.uuids import canonical_uuids

LOG = logging.getLogger(__name__)


class ReportClient:
    """Reads and writes the tree of one host. Not thread-safe.

    Providers that share resources with the tree are further roots of it. They are written only if
    `is_own` says so, by their names; a driver that changes another one has an error.
    """

    def __init__(self, client: Client, is_own: Callable[[str], bool] = lambda name: False) -> None:
        self._client = client
        self._is_own = is_own
        # As the service had it when we last read or wrote it.
        self._read = ReadTree(ProviderTree(), frozenset())
        self._root: str | None = None  # the UUID of the host, if it was found
        self._root_created = False  # since the last update
        self._trees = TreeReader(client)
        self._allocations = AllocationReader(client)
        self._names = CustomNames(client)
        self.claim_pause = ClaimPause(client)

    # -- reading -------------------------------------------------------------------------------

    def get_provider_tree_and_ensure_root(
        self, name: str, uuid: str | None = None, parent_uuid: str | None = None
    ) -> ProviderTree:
        """Read the tree of a host, and create its root if the service has none.

        An existing root is found by its UUID if one is given, otherwise by its name. Returns a
        copy for a driver to edit, in which the root has the given name.
        """
        if self._find(name, uuid):
            return self._tree_with_root_named(name)
        try:
            created = self._create_root(name, uuid, parent_uuid)
        except DuplicateName as error:
            # Another agent of this host was faster. What it writes may differ, so the tree is read.
            if self._find(name, uuid):
                return self._tree_with_root_named(name)
            raise UpdateConflict([FailedStep(name, "create", error.detail)]) from error
        if parent_uuid is not None and self._find(name, created.uuid):
            # It is part of its parent's tree.
            return self._tree_with_root_named(name)
        # A new provider has nothing that would have to be read.
        self._remember(created.uuid, None)
        self._read.tree.new_root(name, created.uuid, generation=created.generation)
        self._read.tree.set_used(created.uuid, {})
        return self._read.tree.copy()

    def get_provider_tree(self, name: str, uuid: str | None = None) -> ProviderTree:
        """Read the tree of a host without writing: a missing root is added to the copy alone."""
        if self._find(name, uuid):
            return self._tree_with_root_named(name)
        self._remember(None, None)
        tree = ProviderTree()
        new = tree.new_root(name, uuid or str(uuid_module.uuid4()))
        tree.set_used(new, {})
        return tree

    def last_read_tree(self) -> ProviderTree:
        """A copy of the tree as the service had it when it was last read; empty if it had none."""
        return self._read.tree.copy()

    def tree_before_update(self) -> ProviderTree:
        """The same, without a root that was created since the last update."""
        return ProviderTree() if self._root_created else self._read.tree.copy()

    def get_allocations_for_provider_tree(self) -> Allocations:
        """Everything that the consumers of the tree hold, in this tree and elsewhere.

        These are the consumers that hold something of a provider of the tree, and those that hold
        nothing but resources of sharing providers associated with it. When the tree was read again
        since the last call, only consumers of providers that have changed are.
        """
        if self._root is None:
            return {}
        own = self._read.sharing - self._foreign()
        return self._allocations.read(self._read, self._root, own)

    def forget_allocations(self) -> None:
        """Read all consumers the next time."""
        self._allocations.forget()

    @property
    def root(self) -> str | None:
        """The UUID of the host, if the service has it."""
        return self._root

    def _find(self, name: str, uuid: str | None) -> bool:
        """Read the tree of a host. Returns whether there is one."""
        if not name:
            # The service would answer with all providers.
            raise UpdateFailed([FailedStep("a host", "find", "it has no name")])
        # A host keeps its UUID, so that it is looked for by its name only once.
        known = uuid or self._root
        found = self._trees.read(known) if known is not None else None
        if known is not None and found is not None:
            is_named = uuid is not None or found.tree.data(known).name == name
            # Somebody else may have renamed it since. A second root would offer its resources
            # once more, so it gets its name back, unless another provider has the name now.
            if is_named or not self._client.providers({"name": name}):
                self._remember(known, found)
                return True
        others = self._client.providers({"name": name})
        if others and uuid is not None:
            raise UpdateFailed([FailedStep(name, "create", f"{others[0].uuid} has this name")])
        found = self._trees.read(others[0].uuid) if others else None
        if found is not None:
            self._remember(others[0].uuid, found)
        return found is not None

    def _remember(self, root: str | None, found: ReadTree | None) -> None:
        self._root = root
        self._read = found or ReadTree(ProviderTree(), frozenset())

    def _tree_with_root_named(self, name: str) -> ProviderTree:
        tree = self._read.tree.copy()
        assert self._root is not None, "it was found"
        try:
            tree.rename(self._root, name)
        except DuplicateProvider as error:
            raise UpdateFailed([FailedStep(name, "rename", str(error))]) from error
        return tree

    def _create_root(self, name: str, uuid: str | None, parent_uuid: str | None) -> Provider:
        created = self._client.create_provider(
            name, uuid=uuid or str(uuid_module.uuid4()), parent_uuid=parent_uuid
        )
        self._root_created = True
        LOG.info("created provider %s (%s)", name, created.uuid)
        return created

    # -- what belongs to others ----------------------------------------------------------------

    def _foreign(self) -> frozenset[str]:
        """The sharing providers that belong to others."""
        tree = self._read.tree
        return frozenset(
            uuid for uuid in self._read.sharing if not self._is_own(tree.data(uuid).name)
        )

    def check_foreign(self, new_tree: ProviderTree) -> None:
        """Raise DriverError if the new tree changes a provider that belongs to others."""
        foreign = self._foreign()
        changed = [uuid for uuid in foreign if not self._is_as_read(uuid, new_tree)]
        changed += [
            parent
            for uuid in new_tree.get_provider_uuids()
            if (parent := new_tree.data(uuid).parent_uuid) in foreign and parent is not None
        ]
        if changed:
            names = ", ".join(sorted({self._read.tree.data(uuid).name for uuid in changed}))
            raise DriverError(
                f"the driver changes {names}, which shares resources with the host and belongs to "
                "others"
            )

    def _is_as_read(self, uuid: str, new_tree: ProviderTree) -> bool:
        if not new_tree.exists(uuid):
            return False
        old, new = self._read.tree.data(uuid), new_tree.data(uuid)
        return (old.name, old.parent_uuid, old.inventory, old.traits) == (
            new.name,
            new.parent_uuid,
            new.inventory,
            new.traits,
        ) and canonical_uuids(old.aggregates) == canonical_uuids(new.aggregates)

    # -- writing -------------------------------------------------------------------------------

    def update_from_provider_tree(
        self, new_tree: ProviderTree, allocations: Allocations | None = None
    ) -> bool:
        """Write this tree to the service, and with `allocations` what consumers hold as well.

        Returns whether anything had to be sent, the root that was created when the tree was read
        included. Raises `UpdateFailed` with every step that failed; a reshape that failed has
        changed nothing.
        """
        self.check_foreign(new_tree)
        update = TreeUpdate(
            self._client,
            self._read.tree,
            new_tree,
            self._names,
            self.claim_pause,
            foreign=self._foreign(),
        )
        consumers = None
        if allocations is not None:
            given = (to_consumer(uuid, record) for uuid, record in sorted(allocations.items()))
            # Consumers that hold what they held are not sent. If one of them had changed in
            # between, the generation of a provider that is sent would have changed as well.
            consumers = [each for each in given if each != self._allocations.held(each.uuid)]
            self._allocations.reread_sharing(each.uuid for each in consumers)
        try:
            update.run(consumers)
        finally:
            # Steps that succeeded count even if a later one failed.
            self._read = self._read._replace(tree=update.tree)
        created, self._root_created = self._root_created, False
        return created or update.is_changed
