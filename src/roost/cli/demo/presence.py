"""How much of the demo a service has, and who else uses it."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field

from roost.cli.demo import workload
from roost.cli.demo.data_centre import BY_NAME, BY_UUID
from roost.client import Client, Consumer, Provider, ProviderDetails
from roost.progress import Progress

# Providers that are read at once.
PAGE_LENGTH = 5000


@dataclass
class Counts:
    """How much a run has written, or removed."""

    providers: int = 0
    changed: int = 0  # providers that were there, but not as they should be
    consumers: int = 0
    traits: int = 0
    resource_classes: int = 0

    def __bool__(self) -> bool:
        return any(astuple(self))


@dataclass
class Presence:
    """What the service has of the demo, and what of others is in the way."""

    providers_of_all: int = 0
    providers: dict[str, Provider] = field(default_factory=dict)  # of the demo, by UUID
    consumers: dict[str, Consumer] = field(default_factory=dict)  # of the demo, by UUID
    # Of others:
    same_name: list[Provider] = field(default_factory=list)  # with a name that the demo needs
    below: list[Provider] = field(default_factory=list)  # below a provider of the demo
    strangers: list[Consumer] = field(default_factory=list)  # of a provider of the demo


def look(client: Client, progress: Progress) -> Presence:
    progress.stage("looking at what there is")
    found = Presence()
    for details in client.bulk_providers(include=(), limit=PAGE_LENGTH):
        provider = details.provider
        progress.advance()
        found.providers_of_all += 1
        if provider.uuid in BY_UUID:
            found.providers[provider.uuid] = provider
        elif provider.name in BY_NAME:
            found.same_name.append(provider)
        elif provider.parent_uuid in BY_UUID:
            found.below.append(provider)
    if found.providers:
        for listed in client.consumers(resource_provider=found.providers):
            if listed.consumer.uuid not in workload.UUIDS:
                found.strangers.append(listed.consumer)
    # By project: a consumer of the demo may have been given something elsewhere.
    for project in workload.PROJECTS:
        for listed in client.consumers(project_id=project):
            if listed.consumer.uuid in workload.UUIDS:
                found.consumers[listed.consumer.uuid] = listed.consumer
    return found


def read_details(client: Client, present: Presence) -> dict[str, ProviderDetails]:
    """What the providers of the demo have, by UUID."""
    if not present.providers:
        return {}
    trees: Sequence[str | None] = [None]
    if present.providers_of_all > PAGE_LENGTH:
        # In a large cloud, nobody else's trees.
        trees = sorted({each.root_uuid for each in present.providers.values()})
    return {
        details.provider.uuid: details
        for tree in trees
        for details in client.bulk_providers(tree=tree, limit=PAGE_LENGTH)
        if details.provider.uuid in BY_UUID
    }
