"""One update: the requests that turn the tree of the service into a new one, in their order."""

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import UNSET

from roost.agent.provider_tree import ProviderTree
from roost.client import (
    ApiError,
    Client,
    ConcurrentUpdate,
    Consumer,
    Inventory,
    NotFound,
    ProviderInventories,
)

LOG = logging.getLogger(__name__)

# Every claim changes a provider's generation. How often a write is repeated at a newer one.
GENERATION_ATTEMPTS = 5

_CUSTOM = "CUSTOM_"


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


class ReshapeConflict(UpdateFailed):
    """Another client changed what a reshape was to move. Nothing was moved: read and try again."""


class TreeUpdate:
    """Sends what differs, and records how far it got."""

    def __init__(
        self,
        client: Client,
        tree: ProviderTree,
        new: ProviderTree,
        classes: set[str],
        traits: set[str],
    ) -> None:
        self._client = client
        self.tree = tree.copy()  # as the service has it after the steps so far
        self._new = new
        self._classes = classes
        self._traits = traits
        self._failures: list[FailedStep] = []
        self.requests = 0

    def run(self, consumers: list[Consumer] | None) -> None:
        """Run all steps. Raises UpdateFailed.

        With `consumers`, even an empty list, inventories change in one reshape. With None each
        provider's inventories are replaced on their own.
        """
        wanted = self._new.get_provider_uuids()
        self._create_names(wanted)
        self._stop_on_failures()
        # Parents before children.
        for uuid in wanted:
            self._place(uuid)
        self._stop_on_failures()
        for uuid in wanted:
            self._step(uuid, "traits", self._write_traits)
            self._step(uuid, "aggregates", self._write_aggregates)
        gone = [uuid for uuid in self.tree.get_provider_uuids() if not self._new.exists(uuid)]
        if consumers is None:
            for uuid in wanted:
                self._step(uuid, "inventories", self._write_inventories)
        else:
            self._stop_on_failures()
            self._reshape(wanted, gone, consumers)
        # Children before parents.
        for uuid in reversed(gone):
            self._step(uuid, "delete", self._delete)
        self._stop_on_failures()

    def _stop_on_failures(self) -> None:
        if self._failures:
            raise UpdateFailed(self._failures)

    def _name(self, uuid: str) -> str:
        tree = self._new if self._new.exists(uuid) else self.tree
        return tree.data(uuid).name

    def _step(self, uuid: str, step: str, act: Callable[[str], None]) -> None:
        """Run one step. If it fails, the other steps still run."""
        try:
            act(uuid)
        except ApiError as error:
            LOG.warning("%s: %s: %s", self._name(uuid), step, error)
            self._failures.append(FailedStep(self._name(uuid), step, error.detail))

    # -- names, providers and parents ----------------------------------------------------------

    def _create_names(self, wanted: list[str]) -> None:
        """Create custom classes and traits, which must exist before a provider can have them."""
        data = [self._new.data(uuid) for uuid in wanted]
        old = [self.tree.data(uuid) for uuid in self.tree.get_provider_uuids()]
        for known, kind, create in (
            (self._classes, "inventory", self._client.create_resource_class),
            (self._traits, "traits", self._client.create_trait),
        ):
            # A name that a provider already has must exist.
            known.update(name for each in old for name in getattr(each, kind))
            names = {name for each in data for name in getattr(each, kind)}
            for name in sorted(names - known):
                if name.startswith(_CUSTOM) and self._create_name(name, create):
                    known.add(name)

    def _create_name(self, name: str, create: Callable[[str], None]) -> bool:
        self.requests += 1
        try:
            create(name)
        except ApiError as error:
            self._failures.append(FailedStep(name, "create", error.detail))
            return False
        return True

    def _place(self, uuid: str) -> None:
        """Make sure that a provider exists, with its name and below its parent."""
        new = self._new.data(uuid)
        if new.parent_uuid is not None and not self.tree.exists(new.parent_uuid):
            # Its parent could not be created, and that failure is recorded already.
            return
        if not self.tree.exists(uuid):
            self._step(uuid, "create", self._create)
            return
        old = self.tree.data(uuid)
        if (old.name, old.parent_uuid) != (new.name, new.parent_uuid):
            self._step(uuid, "move", self._move)

    def _create(self, uuid: str) -> None:
        new = self._new.data(uuid)
        self.requests += 1
        created = self._client.create_provider(new.name, uuid=uuid, parent_uuid=new.parent_uuid)
        if new.parent_uuid is None:
            self.tree.new_root(new.name, uuid, generation=created.generation)
        else:
            self.tree.new_child(new.name, new.parent_uuid, uuid=uuid, generation=created.generation)

    def _move(self, uuid: str) -> None:
        old, new = self.tree.data(uuid), self._new.data(uuid)
        self.requests += 1
        # A rename does not send the parent: another client may have moved the provider meanwhile.
        has_moved = old.parent_uuid != new.parent_uuid
        moved = self._client.update_provider(
            uuid, name=new.name, parent_uuid=new.parent_uuid if has_moved else UNSET
        )
        if old.name != new.name:
            self.tree.rename(uuid, new.name)
        if has_moved:
            self.tree.reparent(uuid, new.parent_uuid)
        self.tree.set_generation(uuid, moved.generation)

    def _delete(self, uuid: str) -> None:
        self.requests += 1
        with contextlib.suppress(NotFound):
            self._client.delete_provider(uuid)
        self.tree.remove(uuid)

    # -- what a provider has -------------------------------------------------------------------

    def _write_traits(self, uuid: str) -> None:
        wanted = self._new.data(uuid).traits
        if self.tree.have_traits_changed(uuid, wanted):
            self._write_at_generation(
                uuid,
                lambda generation: self._client.set_provider_traits(uuid, wanted, generation),
                lambda: self._client.provider_traits(uuid).traits == self.tree.data(uuid).traits,
            )
            self.tree.update_traits(uuid, wanted)

    def _write_aggregates(self, uuid: str) -> None:
        wanted = self._new.data(uuid).aggregates
        if self.tree.have_aggregates_changed(uuid, wanted):
            self._write_at_generation(
                uuid,
                lambda generation: self._client.set_provider_aggregates(uuid, wanted, generation),
                lambda: (
                    not self.tree.have_aggregates_changed(
                        uuid, self._client.provider_aggregates(uuid).aggregates
                    )
                ),
            )
            self.tree.update_aggregates(uuid, wanted)

    def _write_inventories(self, uuid: str) -> None:
        wanted = self._new.data(uuid).inventory
        if self.tree.has_inventory_changed(uuid, wanted):
            self._write_at_generation(
                uuid,
                lambda generation: self._client.set_inventories(
                    uuid, _inventories(wanted), generation
                ),
                lambda: self._has_known_inventories(uuid),
            )
            self.tree.update_inventory(uuid, wanted)

    def _has_known_inventories(self, uuid: str) -> bool:
        found = self._client.inventories(uuid).inventories
        return found == _inventories(self.tree.data(uuid).inventory)

    def _write_at_generation(
        self, uuid: str, write: Callable[[int], Any], is_as_read: Callable[[], bool]
    ) -> None:
        """Write at the generation that was read.

        Claims change a provider's generation all the time. If `is_as_read` says that nothing else
        has changed, the write is still right and is repeated at the new generation.
        """
        for _ in range(GENERATION_ATTEMPTS):
            self.requests += 1
            try:
                answer = write(self._generation(uuid))
                self.tree.set_generation(uuid, answer.generation)
                return
            except ConcurrentUpdate:
                generation = self._client.provider(uuid).generation
                if not is_as_read():
                    raise
                self.tree.set_generation(uuid, generation)
        answer = write(self._generation(uuid))
        self.tree.set_generation(uuid, answer.generation)

    def _generation(self, uuid: str) -> int:
        return self.tree.data(uuid).generation or 0

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
        # on one of them in between makes the reshape fail instead of overcommitting it.
        touched = {provider for each in consumers for provider in each.allocations}
        taking_part = set(changed) | {uuid for uuid in touched if self._new.exists(uuid)}
        inventories = {
            uuid: ProviderInventories(
                generation=self._generation(uuid),
                inventories=_inventories(
                    changed[uuid] if uuid in changed else self.tree.data(uuid).inventory
                ),
            )
            for uuid in taking_part
        }
        self.requests += 1
        try:
            self._client.reshape(inventories, consumers)
        except ConcurrentUpdate as error:
            raise ReshapeConflict([self._failed_reshape(error)]) from error
        except ApiError as error:
            raise UpdateFailed([self._failed_reshape(error)]) from error
        for uuid, inventory in changed.items():
            self.tree.update_inventory(uuid, inventory)
        for each in self._client.tree(self._new.get_provider_uuids()[0]):
            if each.uuid in taking_part:
                self.tree.set_generation(each.uuid, each.generation)

    def _failed_reshape(self, error: ApiError) -> FailedStep:
        root_name = self._name(self._new.get_provider_uuids()[0])
        return FailedStep(root_name, "reshape", error.detail)


def _inventories(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Inventory]:
    return {name: Inventory(**fields) for name, fields in found.items()}
