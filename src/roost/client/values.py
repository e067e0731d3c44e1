"""What the client takes and returns: frozen values, which msgspec encodes as JSON."""

from collections.abc import Mapping
from typing import Any

from roost.model import Event, EventKind, Inventory, Value

__all__ = [
    "Candidate",
    "Candidates",
    "Consumer",
    "Event",
    "EventKind",
    "Events",
    "Inventory",
    "Provider",
    "ProviderAggregates",
    "ProviderInventories",
    "ProviderSummary",
    "ProviderTraits",
    "Resources",
]

# Resource class -> amount.
Resources = Mapping[str, int]


class Provider(Value, frozen=True, kw_only=True):
    """One node of a tree of providers."""

    uuid: str
    name: str
    generation: int
    parent_uuid: str | None  # None for a root
    root_uuid: str


class ProviderInventories(Value, frozen=True, kw_only=True):
    """All inventories of a provider, as of a generation."""

    generation: int
    inventories: Mapping[str, Inventory]  # by resource class


class ProviderTraits(Value, frozen=True, kw_only=True):
    """All traits of a provider, as of a generation."""

    generation: int
    traits: frozenset[str]


class ProviderAggregates(Value, frozen=True, kw_only=True):
    """The UUIDs of all aggregates of a provider, as of a generation."""

    generation: int
    aggregates: frozenset[str]


class Consumer(Value, frozen=True, kw_only=True):
    """Everything that one consumer holds, or is to hold. Empty allocations: nothing."""

    uuid: str
    allocations: Mapping[str, Resources]  # by provider UUID
    project_id: str | None = None
    user_id: str | None = None
    generation: int | None = None  # None: the consumer does not exist yet
    consumer_type: str | None = None
    mappings: Mapping[str, Any] | None = None  # of a candidate: group suffix -> provider UUIDs


class ProviderSummary(Value, frozen=True, kw_only=True):
    """A provider as the answer to a search describes it."""

    capacity: Resources
    used: Resources
    traits: frozenset[str]
    parent_uuid: str | None
    root_uuid: str


class Candidate(Value, frozen=True, kw_only=True):
    """One way to serve a request."""

    allocations: Mapping[str, Resources]  # by provider UUID
    mappings: Mapping[str, list[str]]  # group suffix -> provider UUIDs


class Candidates(Value, frozen=True, kw_only=True):
    """The answer to a search."""

    candidates: list[Candidate]
    summaries: Mapping[str, ProviderSummary]  # by provider UUID
    complete: bool = True  # False: not every split was tried, so that candidates may be missing


class Events(Value, frozen=True, kw_only=True):
    """What changed, oldest first, and the position to continue from."""

    events: list[Event]
    position: str
