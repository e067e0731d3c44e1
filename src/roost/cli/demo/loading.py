"""Loads the demo: everything that is missing, or is not as it should be."""

from collections.abc import Mapping

from roost.cli.demo import data_centre, workload
from roost.cli.demo.data_centre import PROVIDERS
from roost.cli.demo.presence import Counts, look, read_details
from roost.cli.output import Failure, printable
from roost.client import Client, Forbidden, ProviderDetails, ProviderInventories
from roost.progress import Progress, track


def load(client: Client, progress: Progress) -> Counts:
    """Load what is missing, also what an interrupted run has left out; returns how much it was."""
    loading = _Loading(client, progress)
    loading.refuse_same_names()
    # The first provider comes before everything else.
    loading.create_providers()
    loading.create_names()
    loading.describe_providers()
    loading.place_consumers()
    # Only now, because consumers would not get a place that there is not.
    loading.shrink()
    return loading.counts


class _Loading:
    def __init__(self, client: Client, progress: Progress) -> None:
        self._client = client
        self._progress = progress
        self._present = look(client, progress)
        self._details = read_details(client, self._present)
        # Consumers that are there stay as they are.
        present = self._present.consumers
        self._missing = [each for each in workload.CONSUMERS if each.uuid not in present]
        self._changed: set[str] = set()
        self._written = Counts()

    @property
    def counts(self) -> Counts:
        self._written.changed = len(self._changed & self._present.providers.keys())
        return self._written

    def refuse_same_names(self) -> None:
        for other in self._present.same_name:
            raise Failure(
                printable(
                    f"a provider {other.name} exists already ({other.uuid}), and is not of the "
                    "demo; nothing was loaded"
                )
            )

    def create_providers(self) -> None:
        """Create those that are missing, and put back those that were renamed or moved."""
        for each in track(self._progress, "creating providers", PROVIDERS):
            there = self._details.get(each.uuid)
            if there is None:
                made = self._client.create_provider(
                    each.name, uuid=each.uuid, parent_uuid=each.parent_uuid
                )
                self._details[each.uuid] = ProviderDetails(provider=made)
                self._written.providers += 1
            elif (there.provider.name, there.provider.parent_uuid) != (each.name, each.parent_uuid):
                self._client.update_provider(
                    each.uuid, name=each.name, parent_uuid=each.parent_uuid
                )
                self._changed.add(each.uuid)

    def create_names(self) -> None:
        for name in {*data_centre.CUSTOM_TRAITS} - self._client.traits():
            self._client.create_trait(name)
            self._written.traits += 1
        for name in {*data_centre.CUSTOM_CLASSES} - self._client.resource_classes():
            self._client.create_resource_class(name)
            self._written.resource_classes += 1

    def describe_providers(self) -> None:
        """Give each provider its traits, aggregates and inventories."""
        awaiting = {uuid for each in self._missing for uuid in each.allocations}
        inventories = {}
        for each in track(self._progress, "describing providers", PROVIDERS):
            there = self._details[each.uuid]
            generation = there.provider.generation
            if there.traits != each.traits:
                traits = self._client.set_provider_traits(each.uuid, each.traits, generation)
                generation = traits.generation
                self._changed.add(each.uuid)
            if there.aggregates != each.aggregates:
                aggregates = self._client.set_provider_aggregates(
                    each.uuid, each.aggregates, generation
                )
                generation = aggregates.generation
                self._changed.add(each.uuid)
            wanted = each.inventories_at_first if each.uuid in awaiting else each.inventories
            if there.inventories != wanted:
                inventories[each.uuid] = ProviderInventories(
                    generation=generation, inventories=wanted
                )
        if inventories:
            self._progress.stage("setting inventories")
            self._set_inventories(inventories)
            self._changed |= inventories.keys()

    def _set_inventories(self, inventories: Mapping[str, ProviderInventories]) -> None:
        try:
            # One request for all of them.
            self._client.reshape(inventories, [])
        except Forbidden:
            # With Keystone that needs the role service, which an operator seldom has.
            for uuid, each in inventories.items():
                self._client.set_inventories(uuid, each.inventories, each.generation)

    def place_consumers(self) -> None:
        if self._missing:
            self._progress.stage("placing consumers")
            self._client.set_consumers(self._missing)
            self._written.consumers = len(self._missing)

    def shrink(self) -> None:
        """Take away what providers have lost since their consumers came."""
        for each in PROVIDERS:
            if each.inventories_before is None:
                continue
            there = self._client.inventories(each.uuid)
            if there.inventories != each.inventories:
                self._client.set_inventories(each.uuid, each.inventories, there.generation)
                self._changed.add(each.uuid)
