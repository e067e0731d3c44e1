"""Writes what a provider has: its traits, aggregates and inventories, each as a whole."""

from collections.abc import Callable, Mapping
from typing import Any

from roost.agent.provider_tree import ProviderTree
from roost.agent.report.claim_pause import ClaimPause
from roost.agent.report.custom_names import CustomNames
from roost.client import Client, ConcurrentUpdate, Inventory

# Every claim changes a provider's generation. How often a write is repeated at a newer one, before
# claims are asked to wait for it.
GENERATION_ATTEMPTS = 5
# A write takes milliseconds. More is for a service that has much to do.
PAUSE_SECONDS = 1.0


class ProviderContents:
    """Writes what differs between the tree of the service and a new one, provider by provider."""

    def __init__(
        self,
        client: Client,
        tree: ProviderTree,
        new: ProviderTree,
        names: CustomNames,
        pause: ClaimPause,
    ) -> None:
        """`tree` is the tree as the service has it; what is written is recorded there."""
        self._client = client
        self._tree = tree
        self._new = new
        self._names = names
        self._pause = pause
        self.requests = 0

    def write_traits(self, uuid: str) -> None:
        wanted = self._new.data(uuid).traits

        def confirm() -> int | None:
            found = self._client.provider_traits(uuid)
            changed = self._tree.have_traits_changed(uuid, found.traits)
            return None if changed else found.generation

        if self._tree.have_traits_changed(uuid, wanted):
            self._write_at_generation(
                uuid,
                lambda generation: self._client.set_provider_traits(uuid, wanted, generation),
                confirm,
            )
            self._tree.update_traits(uuid, wanted)

    def write_aggregates(self, uuid: str) -> None:
        wanted = self._new.data(uuid).aggregates

        def confirm() -> int | None:
            found = self._client.provider_aggregates(uuid)
            changed = self._tree.have_aggregates_changed(uuid, found.aggregates)
            return None if changed else found.generation

        if self._tree.have_aggregates_changed(uuid, wanted):
            self._write_at_generation(
                uuid,
                lambda generation: self._client.set_provider_aggregates(uuid, wanted, generation),
                confirm,
            )
            self._tree.update_aggregates(uuid, wanted)

    def write_inventories(self, uuid: str) -> None:
        wanted = self._new.data(uuid).inventory

        def confirm() -> int | None:
            found = self._client.inventories(uuid)
            changed = self._tree.has_inventory_changed(uuid, found.inventories)
            return None if changed else found.generation

        if self._tree.has_inventory_changed(uuid, wanted):
            self._write_at_generation(
                uuid,
                lambda generation: self._client.set_inventories(
                    uuid, inventories_of(wanted), generation
                ),
                confirm,
            )
            self._tree.update_inventory(uuid, wanted)

    def _write_at_generation(
        self, uuid: str, write: Callable[[int], Any], confirm: Callable[[], int | None]
    ) -> None:
        """Write at the generation that was read.

        Claims change a provider's generation all the time. `confirm` reads it again, together with
        what is to be replaced, in one request; it returns None if another client has changed that.
        If not, the write is still right, and is repeated at the new generation. If claims come
        faster than that, they are asked to wait.
        """
        for _ in range(GENERATION_ATTEMPTS):
            if self._try_write(uuid, write, confirm):
                return
        with self._pause.of_tree(self._tree.data(uuid).root_uuid, PAUSE_SECONDS):
            # A claim that was already under way may advance the generation once more.
            if not self._try_write(uuid, write, confirm):
                self._write(uuid, write)

    def _try_write(
        self, uuid: str, write: Callable[[int], Any], confirm: Callable[[], int | None]
    ) -> bool:
        """Write, or find out the generation for the next attempt."""
        try:
            self._write(uuid, write)
        except ConcurrentUpdate:
            generation = confirm()
            if generation is None:
                raise
            self._tree.set_generation(uuid, generation)
            return False
        return True

    def _write(self, uuid: str, write: Callable[[int], Any]) -> None:
        self.requests += 1
        answer = self._names.created_for(self._new, [uuid], lambda: write(self.generation(uuid)))
        self._tree.set_generation(uuid, answer.generation)

    def generation(self, uuid: str) -> int:
        """The generation at which a provider was read or written last."""
        return self._tree.data(uuid).generation or 0


def inventories_of(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Inventory]:
    """The inventories of a tree as the client takes them."""
    return {name: Inventory(**fields) for name, fields in found.items()}
