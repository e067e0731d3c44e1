"""Removes the demo, and nothing else."""

from contextlib import suppress

from msgspec.structs import replace

from roost.cli.demo import data_centre
from roost.cli.demo.presence import Counts, Presence, look
from roost.cli.output import Failure, printable
from roost.client import Client, Conflict, NotFound, Provider
from roost.progress import Progress, track

# How many of the consumers that are in the way are named.
NAMED_MAX = 3


def remove(client: Client, progress: Progress) -> Counts:
    """Remove all that there is of the demo. Refuses, before it removes anything, if others use it.

    Returns how much there was.
    """
    present = look(client, progress)
    removed = Counts()
    if not present.providers and not present.consumers:
        # Custom names may be those of somebody who has never loaded the demo.
        return removed
    _refuse_strangers(present)
    if present.consumers:
        progress.stage("releasing what consumers hold")
        client.set_consumers([replace(each, allocations={}) for each in present.consumers.values()])
        removed.consumers = len(present.consumers)
    providers = _children_first(present.providers)
    for each in track(progress, "deleting providers", providers[:-1]):
        _delete(client, each, removed)
    _delete_names(client, removed)
    for each in providers[-1:]:
        _delete(client, each, removed)
    return removed


def _refuse_strangers(present: Presence) -> None:
    if present.below:
        below = present.below[0]
        parent = present.providers[below.parent_uuid or ""]
        raise Failure(
            printable(
                f"the provider {below.name} ({below.uuid}) is below {parent.name}, and is not of "
                "the demo: move or delete it first; nothing was removed"
            )
        )
    if not present.strangers:
        return
    uuids = [each.uuid for each in present.strangers]
    count = "a consumer that is not of the demo holds"
    if len(uuids) > 1:
        count = f"{len(uuids)} consumers that are not of the demo hold"
    more = " ..." if len(uuids) > NAMED_MAX else ""
    raise Failure(
        f"{count} something of its providers: give it back with `roost allocation delete "
        f"{' '.join(uuids[:NAMED_MAX])}{more}`; nothing was removed"
    )


def _children_first(providers: dict[str, Provider]) -> list[Provider]:
    """As they are deleted: children before parents, and the first of the demo last."""

    def depth(provider: Provider) -> int:
        parent = providers.get(provider.parent_uuid or "")
        return 0 if parent is None else 1 + depth(parent)

    def order(provider: Provider) -> tuple[int, bool]:
        return -depth(provider), provider.uuid == data_centre.FIRST.uuid

    return sorted(providers.values(), key=order)


def _delete(client: Client, provider: Provider, removed: Counts) -> None:
    # Somebody else may have deleted it meanwhile.
    with suppress(NotFound):
        client.delete_provider(provider.uuid)
        removed.providers += 1


def _delete_names(client: Client, removed: Counts) -> None:
    """Delete the custom names of the demo that nobody uses."""
    for name in {*data_centre.CUSTOM_TRAITS} & client.traits():
        with suppress(Conflict, NotFound):
            client.delete_trait(name)
            removed.traits += 1
    for name in {*data_centre.CUSTOM_CLASSES} & client.resource_classes():
        with suppress(Conflict, NotFound):
            client.delete_resource_class(name)
            removed.resource_classes += 1
