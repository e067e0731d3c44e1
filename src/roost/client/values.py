"""What the client speaks of: frozen values that `msgspec.to_builtins` turns into JSON."""

from collections.abc import Mapping
from typing import Any

from roost.model import Event, Inventory, Value

__all__ = [
    "Candidate",
    "Candidates",
    "Consumer",
    "Event",
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
    generation: int
    inventories: Mapping[str, Inventory]  # by resource class


class ProviderTraits(Value, frozen=True, kw_only=True):
    generation: int
    traits: frozenset[str]


class ProviderAggregates(Value, frozen=True, kw_only=True):
    generation: int
    aggregates: frozenset[str]


class Consumer(Value, frozen=True, kw_only=True):
    """What one consumer holds, or shall hold: complete, and empty to hold nothing."""

    uuid: str
    allocations: Mapping[str, Resources]  # by provider UUID
    project_id: str | None = None
    user_id: str | None = None
    generation: int | None = None  # None: it does not exist yet
    consumer_type: str | None = None
    mappings: Mapping[str, Any] | None = None  # of a candidate: which group is served by whom


class ProviderSummary(Value, frozen=True, kw_only=True):
    """A provider as an answer to a search describes it."""

    capacity: Resources
    used: Resources
    traits: frozenset[str]
    parent_uuid: str | None
    root_uuid: str


class Candidate(Value, frozen=True, kw_only=True):
    """One way to serve a request."""

    allocations: Mapping[str, Resources]  # by provider UUID
    mappings: Mapping[str, list[str]]  # suffix of a group -> provider UUIDs


class Candidates(Value, frozen=True, kw_only=True):
    candidates: list[Candidate]
    summaries: Mapping[str, ProviderSummary]  # by provider UUID


class Events(Value, frozen=True, kw_only=True):
    """What changed, oldest first, and the position to go on from."""

    events: list[Event]
    position: str
