"""The values of the domain, and the rules on them.

Providers are named by UUID, resource classes and traits by name. Ids of the tables stay in the
store, rows of the index in the index.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

# The largest integer that the tables hold; amounts beyond it are refused, not cut.
INTEGER_MAX = 2**31 - 1

# A provider with this trait serves every tree that has a provider in one of its aggregates.
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"

# The type of consumers that were written without one (before 1.38).
UNKNOWN_CONSUMER_TYPE = "unknown"


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen value with named fields."""


# ---------------------------------------------------------------------------------------------
# Providers


class Provider(Value, frozen=True, kw_only=True):
    """One node of a tree of providers."""

    uuid: str
    name: str
    generation: int
    parent_uuid: str | None  # None for a root
    root_uuid: str  # its own for a root
    modified: datetime  # when the provider was last written, UTC without a zone


# ---------------------------------------------------------------------------------------------
# Inventories: what a provider has of one class, and the units in which it gives it away


class Inventory(Value, frozen=True, kw_only=True):
    """What a provider has of one resource class."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = INTEGER_MAX
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> int:
        return capacity(self.total, self.reserved, self.allocation_ratio)


def capacity(total: int, reserved: int, allocation_ratio: float) -> int:
    """How much may be allocated in all: rounded down, as deployed clouds compute it."""
    return int((total - reserved) * allocation_ratio)


def fits_units(inventory: Inventory, amount: int) -> bool:
    """Whether one allocation of `amount` respects min_unit, max_unit and step_size."""
    return inventory.min_unit <= amount <= inventory.max_unit and amount % inventory.step_size == 0


def fits(inventory: Inventory, used: int, amount: int) -> bool:
    """Whether `amount` can be allocated beside what is `used` already."""
    return fits_units(inventory, amount) and used + amount <= inventory.capacity


# ---------------------------------------------------------------------------------------------
# Consumers and allocations

# What one consumer takes from one provider: resource class -> amount.
Resources = Mapping[str, int]


class ConsumerAllocations(Value, frozen=True, kw_only=True):
    """Everything that one consumer holds, as read from the tables."""

    consumer_uuid: str
    generation: int
    project_id: str
    user_id: str
    consumer_type: str  # UNKNOWN_CONSUMER_TYPE where none was given
    allocations: Mapping[str, "ProviderAllocation"]  # by provider UUID
    modified: datetime | None  # None where no row has a time


class ProviderAllocation(Value, frozen=True, kw_only=True):
    """What one consumer holds of one provider."""

    provider_generation: int
    resources: Resources


class ConsumerChange(Value, frozen=True, kw_only=True):
    """What one consumer is to hold: a complete replacement; empty: nothing."""

    consumer_uuid: str  # in the spelling under which a new consumer is stored
    sent_as: str = ""  # the client's spelling, where it is another one
    allocations: Mapping[str, Resources]  # by provider UUID
    project_id: str | None = None  # None (before 1.8) is the configured default
    user_id: str | None = None
    consumer_type: str | None = None  # None keeps the consumer's own
    # Whether the client names the generation that it saw. Before 1.28 it cannot, and the last
    # write wins. From 1.28 `expected_generation` must be the current one (None: a new consumer).
    checks_generation: bool = False
    expected_generation: int | None = None


class InventoryChange(Value, frozen=True, kw_only=True):
    """What one provider is to have: a complete replacement of its inventories."""

    provider_uuid: str
    inventories: Mapping[str, Inventory]  # by resource class
    expected_generation: int


# ---------------------------------------------------------------------------------------------
# Results of reads

# The fields of an inventory in their order.
InventoryFields = tuple[int, int, int, int, int, float]


class InventoryColumn(Value, frozen=True, kw_only=True):
    """The inventories of one class that some providers have."""

    resource_class: str
    providers: Sequence[int]  # the numbers of the providers that have one, ascending
    inventories: Iterable[InventoryFields]  # of each of them; can be read only once
    used: Sequence[int]


class ProviderColumns(Value, frozen=True, kw_only=True):
    """What some providers have, column by column: objects for each would take most of the time."""

    uuids: Sequence[str]
    names: Sequence[str]
    generations: Sequence[int]
    parents: Sequence[str | None]
    roots: Sequence[str]
    # Numbers of sets, which whoever gave the columns knows. Many providers have the same.
    trait_sets: Sequence[int]
    aggregate_sets: Sequence[int]
    inventories: Sequence[InventoryColumn]  # in the order of class ids


class ClassSummary(msgspec.Struct, frozen=True):
    """What some providers have of one class together."""

    total: int
    reserved: int
    capacity: int
    used: int
    free: int  # the sum of what each has free; one that is over-used has nothing free
    providers: int  # how many have an inventory of it


class GroupSummary(Value, frozen=True, kw_only=True):
    """What some providers have."""

    providers: int
    trees: int  # how many they are from
    resources: Mapping[str, ClassSummary]  # by resource class, in the order of class ids


class Summary(GroupSummary, frozen=True, kw_only=True):
    """What all providers have."""

    aggregates: Mapping[str, GroupSummary] | None = None  # by canonical UUID; None: not asked for
    traits: Mapping[str, GroupSummary] | None = None  # by name


class ProviderInventories(Value, frozen=True, kw_only=True):
    generation: int
    inventories: Mapping[str, Inventory]  # by resource class
    modified: datetime | None  # of the newest inventory, None where there is none


class ProviderUsages(Value, frozen=True, kw_only=True):
    generation: int
    usages: Resources  # one entry for each class of the inventory, 0 where nothing is used


class ProviderTraits(Value, frozen=True, kw_only=True):
    generation: int
    traits: tuple[str, ...]  # in the order of their ids: standard ones first
    modified: datetime | None


class ProviderAggregates(Value, frozen=True, kw_only=True):
    generation: int
    aggregates: tuple[str, ...]  # in the order in which they became known


class ProviderConsumers(Value, frozen=True, kw_only=True):
    """Who holds what of one provider."""

    generation: int
    consumers: Mapping[str, "ConsumerShare"]  # by consumer UUID
    modified: datetime | None


class ConsumerShare(Value, frozen=True, kw_only=True):
    """What one consumer holds of the provider in question."""

    generation: int
    resources: Resources


class NamedValue(Value, frozen=True, kw_only=True):
    """A resource class or a trait in the catalog."""

    name: str
    modified: datetime | None


class ConsumerTypeUsage(Value, frozen=True, kw_only=True):
    """What the consumers of one type use together."""

    consumer_type: str
    consumer_count: int
    usages: Resources


# ---------------------------------------------------------------------------------------------
# Results of a search


class Candidate(Value, frozen=True, kw_only=True):
    """One way to serve a whole request."""

    allocations: Mapping[str, Resources]  # by provider UUID
    mappings: Mapping[str, tuple[str, ...]]  # suffix -> the UUIDs of the providers that serve it


class NewConsumer(Value, frozen=True, kw_only=True):
    """A consumer to be placed."""

    uuid: str
    project_id: str
    user_id: str
    consumer_type: str


class Placed(Value, frozen=True, kw_only=True):
    """The candidate that roost chose and claimed for one consumer."""

    consumer_uuid: str
    candidate: Candidate


class ProviderSummary(Value, frozen=True, kw_only=True):
    """A provider of a tree that candidates take resources from."""

    uuid: str
    parent_uuid: str | None
    root_uuid: str
    traits: tuple[str, ...]
    resources: Mapping[str, tuple[int, int]]  # resource class -> capacity, used


# ---------------------------------------------------------------------------------------------
# Events


class EventKind(StrEnum):
    """What an event is about."""

    ALLOCATIONS = "allocations"
    INVENTORIES = "inventories"
    TRAITS = "traits"
    AGGREGATES = "aggregates"
    PROVIDER = "provider"  # created, deleted, renamed or moved
    CATALOG = "catalog"  # custom resource classes and traits


class Event(Value, frozen=True, kw_only=True):
    """One change that clients of `/events` learn of."""

    kind: EventKind
    provider_uuid: str | None = None  # None: it concerns no provider
    root_uuid: str | None = None  # of the tree that the provider was in after the change
    generation: int | None = None  # of the provider, after the change; None: it did not change
    usage: Resources = {}  # resource class -> difference
    deleted: bool = False  # the provider was deleted
