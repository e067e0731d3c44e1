"""What an audit finds."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from roost.client import Consumer, Resources
from roost.model import Value

# Of a provider: consumer UUID -> what it holds there.
Holders = Mapping[str, Resources]


class Orphan(Value, frozen=True, kw_only=True):
    """A consumer that the cloud does not know."""

    consumer: Consumer
    changed_at: datetime  # when it was last written, by the clock of the service


class Outside(Value, frozen=True, kw_only=True):
    """A provider outside of the aggregates that consumers hold something of."""

    provider_uuid: str
    root_uuid: str
    holders: Holders


class OverCommitted(Value, frozen=True, kw_only=True):
    """A provider of which more is used of a class than may be."""

    provider_uuid: str
    root_uuid: str
    resource_class: str
    capacity: int
    used: int
    holders: Mapping[str, int]  # consumer UUID -> amount, the largest first

    @property
    def excess(self) -> int:
        return self.used - self.capacity


class Findings(Value, frozen=True, kw_only=True):
    """Everything that an audit found, in the order in which it is shown."""

    providers: int  # how many there are
    consumers: int
    known: int
    young: int  # unknown consumers that are too young to be judged, or whose age is unknown
    orphans: tuple[Orphan, ...] = ()  # by type, project and age
    servers: tuple[str, ...] = ()  # those without allocations
    outside: tuple[Outside, ...] = ()
    over_committed: tuple[OverCommitted, ...] = ()
    names: Mapping[str, str] = {}  # of providers, by UUID

    def __bool__(self) -> bool:
        return bool(self.orphans or self.servers or self.outside or self.over_committed)

    def name(self, provider_uuid: str) -> str:
        return self.names.get(provider_uuid, provider_uuid)


def total(holdings: Iterable[Resources]) -> dict[str, int]:
    """The sum of amounts, by class in the order of their names."""
    amounts: Counter[str] = Counter()
    for resources in holdings:
        amounts.update(resources)
    return dict(sorted(amounts.items()))


def held(consumers: Iterable[Consumer]) -> dict[str, int]:
    """What these consumers hold together."""
    return total(resources for each in consumers for resources in each.allocations.values())
