"""What has to move when a tree has changed its shape, whichever driver changed it.

The agent compares the tree as the service has it with the tree that the driver wants. A class may
leave a provider, entirely or in part, spread to others, or get another name. What consumers hold
moves along, so that afterwards no provider has more in use than it offers.

Resources have moved only to where they have appeared. What shrinks on one provider and grows on
none is gone: nothing is moved then, unless the driver knows that a consumer is elsewhere.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from roost.agent.driver import Allocations, Whereabouts
from roost.agent.provider_tree import ProviderTree
from roost.agent.reshape.changes import InventoryChanges, InventoryPair
from roost.agent.reshape.demands import Demands
from roost.agent.reshape.holdings import ReshapeImpossible, copied, held_by_place, held_places
from roost.agent.reshape.renaming import rename_classes
from roost.agent.reshape.summary import listed
from roost.model import fits_units

# Consumer -> where its resources really are, as the driver knows.
Where = Callable[[str], Whereabouts]


class Excess(NamedTuple):
    """A provider of which more is in use than it offers."""

    provider: str  # its name
    resource_class: str
    used: int
    capacity: int

    def __str__(self) -> str:
        return f"{self.used} of {self.capacity} {self.resource_class} of {self.provider} are in use"


class Settlement(NamedTuple):
    """What the agent decided when it moved what consumers hold."""

    # Consumers and classes that moved without anybody having said where they are.
    guessed: frozenset[tuple[str, str]] = frozenset()
    torn: tuple[str, ...] = ()  # consumers whose resources could not be kept together
    # Whether it is certain that fewer cannot be torn.
    is_proven: bool = True
    excess: tuple[Excess, ...] = ()  # left: it is merely reserved, or the caller allows it


def reshape_needed(before: ProviderTree, after: ProviderTree, root: str) -> str | None:
    """Why what consumers hold may have to move, in a sentence; None if nothing has to.

    Decides by the inventories of both trees and by the usages that the service gave. Usages that
    are not known may be anything.
    """
    changes = InventoryChanges(before, after, root)
    reasons = list(_reasons(changes, after.renamed_classes))
    return "; ".join(reasons) if reasons else None


def _reasons(changes: InventoryChanges, renames: Mapping[str, str]) -> Iterator[str]:
    for resource_class in changes.resource_classes:
        new_name = renames.get(resource_class, resource_class)
        targets = [pair.name for pair in changes.of_class(new_name) if pair.grows]
        sources = [
            pair for pair in changes.of_class(resource_class) if pair.shrinks and pair.used != 0
        ]
        if not targets:
            sources = [pair for pair in sources if pair.used is None or pair.used > pair.capacity]
        if not sources:
            continue
        held = listed(f"{pair.name} ({_held(pair)})" for pair in sources)
        if new_name != resource_class:
            yield f"{resource_class} of {held} becomes {new_name}"
        elif targets:
            yield f"{resource_class} moves from {held} to {listed(targets)}"
        else:
            yield f"{resource_class} of {held} shrinks"


def _held(pair: InventoryPair) -> str:
    return "consumers may hold some" if pair.used is None else f"consumers hold {pair.used}"


def settle(
    before: ProviderTree,
    after: ProviderTree,
    root: str,
    allocations: Allocations,
    where: Where,
    *,
    allow_excess: bool = False,
) -> Settlement:
    """Move what consumers hold to where the new tree has room for it, in place.

    `allocations` are what they hold after the driver has moved what it moves itself. Raises
    ReshapeImpossible, and changes nothing then, if something does not fit. With `allow_excess` an
    inventory may become smaller than what is held of it. What is only reserved may be held on.
    """
    changes = InventoryChanges(before, after, root)
    moved = copied(allocations)
    asked = cache(where)
    renamed = rename_classes(changes, after.renamed_classes, moved, asked)
    placed = Demands(before, after, changes, moved, asked, renamed.places).place()
    _check_units(changes, allocations, moved)
    excess = _check_excess(changes, moved, allow_excess=allow_excess)
    for consumer, record in moved.items():
        allocations[consumer]["allocations"] = record["allocations"]
    return Settlement(
        guessed=renamed.guessed | placed.guessed | after.guessed,
        torn=placed.torn,
        is_proven=placed.is_proven,
        excess=excess,
    )


def _check_units(changes: InventoryChanges, held: Allocations, moved: Allocations) -> None:
    """The service judges everything that a consumer holds, if any of it is written again."""
    for consumer, record in moved.items():
        if record["allocations"] == held[consumer]["allocations"]:
            continue
        for place, amount in held_places(record):
            if place.provider not in changes.names:
                continue
            pair = changes.at(place)
            if pair.after and not fits_units(pair.after, amount):
                raise ReshapeImpossible(
                    f"consumer {consumer} would hold {amount} {place.resource_class} of "
                    f"{pair.name}, which its min_unit, max_unit or step_size do not allow."
                )


def _check_excess(
    changes: InventoryChanges, moved: Allocations, *, allow_excess: bool
) -> tuple[Excess, ...]:
    """Where more is held than can be, unless it was so before and is not worse now.

    What somebody reserves is still there. So consumers may keep what is reserved from now on:
    a host that is to take no more consumers, or a node of bare metal that is in use.
    """
    allowed: list[Excess] = []
    refused: list[Excess] = []
    could_stay = False
    for place, holders in held_by_place(moved, changes.names).items():
        pair, used = changes.at(place), sum(holders.values())
        if used <= pair.capacity:
            continue
        is_more = pair.used is not None and used > pair.used
        if pair.before and not pair.shrinks and not is_more:
            continue
        excess = Excess(pair.name, place.resource_class, used, pair.capacity)
        can_stay = pair.after is not None and pair.shrinks and not is_more
        if can_stay and (allow_excess or used <= pair.existing):
            allowed.append(excess)
        else:
            refused.append(excess)
            could_stay |= can_stay
    if refused:
        hint = " --allow-excess writes it all the same." if could_stay else ""
        raise ReshapeImpossible(
            f"{listed(f'{each} afterwards' for each in refused)}, "
            f"and there is nowhere to move it to.{hint}"
        )
    return tuple(allowed)
