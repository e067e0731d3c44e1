"""One update: the requests that turn the tree of the service into a new one, in their order."""

import contextlib
import logging
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import NamedTuple

from roost.agent.provider_tree import ProviderTree
from roost.agent.report.claim_pause import ClaimPause
from roost.agent.report.custom_names import CustomNames
from roost.agent.report.provider_contents import ProviderContents, inventories_of
from roost.agent.report.renames import plan_renames
from roost.client import (
    ApiError,
    Client,
    ConcurrentUpdate,
    Consumer,
    DuplicateName,
    NotFound,
    ProviderInventories,
)

LOG = logging.getLogger(__name__)


class FailedStep(NamedTuple):
    """One step of an update that the service refused."""

    provider: str  # its name
    step: str
    reason: str

    def __str__(self) -> str:
        return f"{self.provider}: {self.step}: {self.reason}"


class UpdateFailed(Exception):
    """Some steps of an update failed. The next update starts from what the service has then."""

    def __init__(self, failures: Iterable[FailedStep]) -> None:
        self.failures = list(failures)
        super().__init__("; ".join(map(str, self.failures)))


class UpdateConflict(UpdateFailed):
    """Another client wrote what this update was about to write: read and try again."""


class ReshapeConflict(UpdateConflict):
    """Another client changed what a reshape was to move. Nothing was moved: read and try again."""


class TreeUpdate:
    """Sends what differs, and records how far it got."""

    def __init__(
        self,
        client: Client,
        tree: ProviderTree,
        new: ProviderTree,
        names: CustomNames,
        pause: ClaimPause,
        *,
        foreign: Collection[str] = (),
    ) -> None:
        """`foreign` are providers of both trees that belong to others: nothing is sent for them."""
        self._client = client
        self.tree = tree.copy()  # as the service has it after the steps so far
        self._new = new
        self._names = names
        self._contents = ProviderContents(client, self.tree, new, names, pause)
        self._foreign = frozenset(foreign)
        self._failures: list[FailedStep] = []
        self._races = 0  # how many of them were lost to a client that wrote at the same time
        self._requests = 0
        self._names_created = names.created

    @property
    def is_changed(self) -> bool:
        """Whether anything was sent."""
        sent = self._requests + self._contents.requests
        return sent > 0 or self._names.created > self._names_created

    def run(self, consumers: list[Consumer] | None) -> None:
        """Run all steps. Raises UpdateFailed, or UpdateConflict if it lost nothing but races.

        With `consumers`, even an empty list, inventories change in one reshape. With None each
        provider's inventories are replaced on their own.
        """
        wanted = self._own(self._new)
        self._create_names(wanted)
        self._stop_on_failures()
        self._rename(wanted)
        # Parents before children.
        for uuid in wanted:
            self._place(uuid)
        self._stop_on_failures()
        for uuid in wanted:
            self._step(uuid, "traits", self._contents.write_traits)
            self._step(uuid, "aggregates", self._contents.write_aggregates)
        gone = [uuid for uuid in self._own(self.tree) if not self._new.exists(uuid)]
        if consumers is None:
            for uuid in wanted:
                self._step(uuid, "inventories", self._contents.write_inventories)
        else:
            self._stop_on_failures()
            self._reshape(wanted, gone, consumers)
        # Children before parents.
        for uuid in reversed(gone):
            self._step(uuid, "delete", self._delete)
        self._stop_on_failures()

    def _own(self, tree: ProviderTree) -> list[str]:
        return [uuid for uuid in tree.get_provider_uuids() if uuid not in self._foreign]

    def _stop_on_failures(self) -> None:
        if self._failures:
            is_race = self._races == len(self._failures)
            raise (UpdateConflict if is_race else UpdateFailed)(self._failures)

    def _name(self, uuid: str) -> str:
        tree = self._new if self._new.exists(uuid) else self.tree
        return tree.data(uuid).name

    def _step(self, uuid: str, step: str, act: Callable[[str], None]) -> None:
        """Run one step. If it fails, the other steps still run."""
        try:
            act(uuid)
        except ApiError as error:
            is_race = isinstance(error, ConcurrentUpdate) or (
                isinstance(error, DuplicateName) and self._was_created_meanwhile(uuid)
            )
            self._races += is_race
            # Who tries again after a race says so.
            level = logging.DEBUG if is_race else logging.WARNING
            LOG.log(level, "%s: %s: %s", self._name(uuid), step, error)
            self._failures.append(FailedStep(self._name(uuid), step, error.detail))

    def _was_created_meanwhile(self, uuid: str) -> bool:
        """Whether this tree has a provider now that was not there when the tree was read.

        Somebody else's provider with the same name, or one that the driver replaces, will still be
        in the way after another try.
        """
        new = self._new.data(uuid)
        found = self._client.providers({"name": new.name}) or self._client.providers({"uuid": uuid})
        return any(
            each.root_uuid == new.root_uuid and not self.tree.exists(each.uuid) for each in found
        )

    # -- names, providers and parents ----------------------------------------------------------

    def _create_names(self, providers: Collection[str]) -> None:
        """Create custom classes and traits, which must exist before a provider can have them."""
        self._names.learn(self.tree)
        for refused in self._names.create_missing(self._new, providers):
            self._failures.append(FailedStep(refused.name, "create", refused.error.detail))

    def _rename(self, wanted: list[str]) -> None:
        """Rename providers, also those that make way for others.

        Children come before their root: what a host calls them often begins with its name, and an
        update that finds the root renamed could not tell.
        """
        current = {uuid: self.tree.data(uuid).name for uuid in self._own(self.tree)}
        names = {uuid: self._new.data(uuid).name for uuid in reversed(wanted)}
        for uuid, name in plan_renames(current, names):
            self._step(uuid, "rename", partial(self._set_name, name=name))
            self._stop_on_failures()

    def _set_name(self, uuid: str, name: str) -> None:
        self._requests += 1
        # The parent is not sent: another client may have moved the provider meanwhile.
        renamed = self._client.update_provider(uuid, name=name)
        self.tree.rename(uuid, name)
        self.tree.set_generation(uuid, renamed.generation)

    def _place(self, uuid: str) -> None:
        """Make sure that a provider exists, below its parent."""
        new = self._new.data(uuid)
        if new.parent_uuid is not None and not self.tree.exists(new.parent_uuid):
            # Its parent could not be created, and that failure is recorded already.
            return
        if not self.tree.exists(uuid):
            self._step(uuid, "create", self._create)
        elif self.tree.data(uuid).parent_uuid != new.parent_uuid:
            self._step(uuid, "move", self._move)

    def _create(self, uuid: str) -> None:
        new = self._new.data(uuid)
        self._requests += 1
        created = self._client.create_provider(new.name, uuid=uuid, parent_uuid=new.parent_uuid)
        if new.parent_uuid is None:
            self.tree.new_root(new.name, uuid, generation=created.generation)
        else:
            self.tree.new_child(new.name, new.parent_uuid, uuid=uuid, generation=created.generation)

    def _move(self, uuid: str) -> None:
        new = self._new.data(uuid)
        self._requests += 1
        moved = self._client.update_provider(uuid, name=new.name, parent_uuid=new.parent_uuid)
        self.tree.reparent(uuid, new.parent_uuid)
        self.tree.set_generation(uuid, moved.generation)

    def _delete(self, uuid: str) -> None:
        self._requests += 1
        with contextlib.suppress(NotFound):
            self._client.delete_provider(uuid)
        self.tree.remove(uuid)

    # -- reshapes ------------------------------------------------------------------------------

    def _reshape(self, wanted: list[str], gone: list[str], consumers: list[Consumer]) -> None:
        changed = {
            uuid: self._new.data(uuid).inventory
            for uuid in wanted
            if self.tree.has_inventory_changed(uuid, self._new.data(uuid).inventory)
        }
        # A provider can be deleted only when it has no inventories.
        changed |= {uuid: {} for uuid in gone if self.tree.data(uuid).inventory}
        if not changed and not consumers:
            return
        # Providers that consumers move to are part of the request, with their generations: a claim
        # on one of them in between makes the reshape fail instead of overcommitting it. Those of
        # others are not written; their capacity is checked when the consumer is.
        touched = {provider for each in consumers for provider in each.allocations}
        taking_part = set(changed) | touched.intersection(wanted)
        if not taking_part:
            # Allocations are only taken away. The service wants inventories in any case.
            taking_part = {wanted[0]}
        inventories = {
            uuid: ProviderInventories(
                generation=self._contents.generation(uuid),
                inventories=inventories_of(
                    changed[uuid] if uuid in changed else self.tree.data(uuid).inventory
                ),
            )
            for uuid in taking_part
        }
        self._requests += 1
        try:
            self._names.created_for(
                self._new, taking_part, lambda: self._client.reshape(inventories, consumers)
            )
        except ConcurrentUpdate as error:
            raise ReshapeConflict([self._failed_reshape(error)]) from error
        except ApiError as error:
            raise UpdateFailed([self._failed_reshape(error)]) from error
        # The new generations are not read. The next write finds that the known ones are too old,
        # and then looks at what the provider has before it repeats the write.
        for uuid, inventory in changed.items():
            self.tree.update_inventory(uuid, inventory)

    def _failed_reshape(self, error: ApiError) -> FailedStep:
        root_name = self._name(self._new.get_provider_uuids()[0])
        return FailedStep(root_name, "reshape", error.detail)
