"""What consumers hold of the providers of a tree, and edits of it."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from roost.agent.driver import Allocations, DriverError


class ReshapeImpossible(DriverError):
    """What consumers hold does not fit on the providers that it has to move to."""


class Place(NamedTuple):
    """A class of a provider."""

    provider: str  # its UUID
    resource_class: str


def copied(allocations: Allocations) -> Allocations:
    """A copy whose allocations can be edited. It shares what nobody edits."""
    return {
        consumer: record
        | {
            "allocations": {
                provider: held | {"resources": dict(held["resources"])}
                for provider, held in record["allocations"].items()
            }
        }
        for consumer, record in allocations.items()
    }


def held_by_place(
    allocations: Allocations, providers: Collection[str]
) -> dict[Place, dict[str, int]]:
    """How much each consumer holds of each class of these providers."""
    found: dict[Place, dict[str, int]] = {}
    for consumer, record in allocations.items():
        for place, amount in held_places(record):
            if place.provider in providers:
                found.setdefault(place, {})[consumer] = amount
    return found


def held_places(record: dict[str, Any]) -> Iterator[tuple[Place, int]]:
    """What one consumer holds. An amount of zero is nothing."""
    for provider, held in record["allocations"].items():
        for resource_class, amount in held["resources"].items():
            if amount:
                yield Place(provider, resource_class), amount


def release(record: dict[str, Any], place: Place, amount: int) -> None:
    """Take an amount away from a consumer, and the provider with the last of its amounts."""
    held = record["allocations"]
    resources = held[place.provider]["resources"]
    resources[place.resource_class] -= amount
    if not resources[place.resource_class]:
        del resources[place.resource_class]
    if not resources:
        del held[place.provider]


def add(record: dict[str, Any], place: Place, amount: int) -> None:
    """Give an amount to a consumer."""
    held = record["allocations"].setdefault(place.provider, {"resources": {}})["resources"]
    held[place.resource_class] = held.get(place.resource_class, 0) + amount
