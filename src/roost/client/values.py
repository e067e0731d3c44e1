"""What the client takes and returns: frozen values, which msgspec encodes as JSON."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from roost.model import Event, EventKind, Inventory, Value

__all__ = [
    "Candidate",
    "Candidates",
    "ClassSummary",
    "Consumer",
    "ConsumerDetails",
    "Event",
    "EventKind",
    "Events",
    "GroupSummary",
    "Hold",
    "Inventory",
    "Provider",
    "ProviderAggregates",
    "ProviderDetails",
    "ProviderInventories",
    "ProviderSummary",
    "ProviderTraits",
    "Resources",
    "Summary",
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


class Hold(Value, frozen=True, kw_only=True):
    """Claims and releases in a tree wait, until the hold ends."""

    id: str
    seconds: float  # after which it ends by itself, counted from the answer; at most as asked for


class ProviderTraits(Value, frozen=True, kw_only=True):
    """All traits of a provider, as of a generation."""

    generation: int
    traits: frozenset[str]


class ProviderAggregates(Value, frozen=True, kw_only=True):
    """The UUIDs of all aggregates of a provider, as of a generation."""

    generation: int
    aggregates: frozenset[str]


class ProviderDetails(Value, frozen=True, kw_only=True):
    """A provider with all that was asked for; the rest is empty."""

    provider: Provider
    inventories: Mapping[str, Inventory] = msgspec.field(default_factory=dict)
    usages: Resources = msgspec.field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()  # UUIDs


class Consumer(Value, frozen=True, kw_only=True):
    """Everything that one consumer holds, or is to hold. Empty allocations: nothing."""

    uuid: str
    allocations: Mapping[str, Resources] = msgspec.field(default_factory=dict)  # by provider UUID
    project_id: str | None = None
    user_id: str | None = None
    generation: int | None = None  # None: the consumer does not exist yet
    consumer_type: str | None = None
    mappings: Mapping[str, Any] | None = None  # of a candidate: group suffix -> provider UUIDs


class ConsumerDetails(Value, frozen=True, kw_only=True):
    """What a consumer holds, and since when."""

    consumer: Consumer
    created_at: datetime | None  # None: by an old Placement, which did not say when
    updated_at: datetime | None  # None: never since it was created
    # Of the providers that it holds something of, by their UUIDs.
    provider_generations: Mapping[str, int] = msgspec.field(default_factory=dict)

    @property
    def changed_at(self) -> datetime | None:
        return self.updated_at or self.created_at


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


class ClassSummary(Value, frozen=True, kw_only=True):
    """What all providers have of one resource class, and how much of it is used."""

    total: int
    reserved: int
    capacity: int
    used: int
    free: int
    providers: int  # how many have an inventory of it


class GroupSummary(Value, frozen=True, kw_only=True):
    """What the providers of an aggregate have, or those below a root with a trait."""

    providers: int
    trees: int
    resources: Mapping[str, ClassSummary]


class Summary(Value, frozen=True, kw_only=True):
    """What the whole cloud has, and how much of it is used, by resource class."""

    providers: int
    trees: int
    resources: Mapping[str, ClassSummary]
    aggregates: Mapping[str, GroupSummary] = msgspec.field(default_factory=dict)  # by UUID
    traits: Mapping[str, GroupSummary] = msgspec.field(default_factory=dict)
