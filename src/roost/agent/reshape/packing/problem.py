"""A packing problem: what goes in, what comes out, and the same in numbers.

The searches see numbers only. A *slot* is one class of one provider. A *flavour* is what some
consumers have in common that need the same; thousands of consumers are often a dozen flavours.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from roost.model import Inventory, fits_units


class Offer(NamedTuple):
    """What one provider offers of one class."""

    inventory: Inventory
    used: int  # by consumers that are not among the demands, or that stay in any case


class Demand(NamedTuple):
    """What one consumer needs a place for."""

    consumer: str
    amounts: Mapping[str, int]  # by class, to be placed jointly
    # Class -> provider -> how much of `amounts` it holds there now. It is kept there if possible.
    # The provider may no longer offer the class.
    current: Mapping[str, Mapping[str, int]]
    # Class -> provider -> what stays there in any case; it is already part of `Offer.used`.
    fixed: Mapping[str, Mapping[str, int]]


class Packing(NamedTuple):
    """Where everything goes."""

    pieces: dict[str, dict[str, dict[str, int]]]  # consumer -> class -> provider -> amount
    torn: tuple[str, ...]  # consumers that are not whole
    is_proven: bool  # whether it is certain that fewer cannot be torn


class DoesNotFit(Exception):
    """What consumers need of a class does not fit on the providers that offer it."""

    def __init__(
        self,
        resource_class: str,
        consumer: str | None,  # the one that fits nowhere; None: all of them together do not fit
        needed: int,
        free: int,
        *,
        is_certain: bool = True,  # False: the search gave up before it had tried everything
    ) -> None:
        super().__init__(resource_class, consumer, needed, free)
        self.resource_class = resource_class
        self.consumer = consumer
        self.needed = needed
        self.free = free
        self.is_certain = is_certain

    @property
    def verb(self) -> str:
        """What became of the amount: only a search that tried everything knows that it cannot."""
        return "do not fit" if self.is_certain else "found no place in a bounded search"

    @property
    def units(self) -> str:
        """Why it does not fit although enough is free; empty if there is not enough."""
        return "" if self.needed > self.free else ", but not in units that would do"

    def __str__(self) -> str:
        who = f" of consumer {self.consumer}" if self.consumer is not None else ""
        what = f"{self.needed} {self.resource_class}{who}"
        return f"{what} {self.verb}: {self.free} of it are free{self.units}."


class Flavour(NamedTuple):
    """Consumers that need the same, hold it on the same providers, and are kept near the same."""

    consumers: tuple[str, ...]
    amounts: tuple[tuple[int, int], ...]  # class -> amount; none is zero
    kept: Mapping[int, int]  # slot -> what each of them holds there now
    fixed: Mapping[int, tuple[tuple[str, int], ...]]  # class -> provider -> amount


# What makes consumers one flavour: amounts, what is kept and what is fixed, as in Flavour.
_Key = tuple[
    tuple[tuple[int, int], ...],
    tuple[tuple[int, int], ...],
    tuple[tuple[int, tuple[tuple[str, int], ...]], ...],
]


class Problem:
    """Slots as arrays, and flavours."""

    def __init__(
        self,
        demands: Sequence[Demand],
        offers: Mapping[str, Mapping[str, Offer]],
        branches: Mapping[str, str | None],
    ) -> None:
        self.classes = sorted(
            {*offers, *(name for each in demands for name in (*each.amounts, *each.fixed))}
        )
        self.number_of_class = {name: number for number, name in enumerate(self.classes)}
        self.branches = branches
        # Of each slot:
        self.providers: list[str] = []
        self.branch: list[str | None] = []
        self.inventories: list[Inventory] = []
        self.capacity: list[int] = []
        self.free: list[int] = []
        self.slots_of_class: list[list[int]] = [[] for _ in self.classes]
        self.slot_of: dict[tuple[int, str], int] = {}
        for name in sorted(offers):
            number = self.number_of_class[name]
            # As the caller orders them: the UUIDs of new providers are others in each plan.
            for provider, offer in offers[name].items():
                slot = len(self.providers)
                self.providers.append(provider)
                self.branch.append(branches.get(provider))
                self.inventories.append(offer.inventory)
                capacity = offer.inventory.capacity
                self.capacity.append(capacity)
                self.free.append(max(0, capacity - offer.used))
                self.slots_of_class[number].append(slot)
                self.slot_of[number, provider] = slot
        self.free_of_class = [
            sum(self.free[slot] for slot in slots) for slots in self.slots_of_class
        ]
        self.flavours = self._flavours(demands)

    def _flavours(self, demands: Sequence[Demand]) -> list[Flavour]:
        consumers: dict[_Key, list[str]] = {}
        number = self.number_of_class
        for demand in demands:
            key = (
                tuple(sorted((number[name], n) for name, n in demand.amounts.items() if n)),
                tuple(
                    sorted(
                        (self.slot_of[number[name], provider], amount)
                        for name, held in demand.current.items()
                        for provider, amount in held.items()
                        if amount and name in number and (number[name], provider) in self.slot_of
                    )
                ),
                tuple(
                    sorted(
                        (number[name], tuple(sorted(kept)))
                        for name, held in demand.fixed.items()
                        if (kept := [(each, amount) for each, amount in held.items() if amount])
                    )
                ),
            )
            consumers.setdefault(key, []).append(demand.consumer)
        found = [
            Flavour(tuple(names), amounts, dict(kept), dict(fixed))
            for (amounts, kept, fixed), names in consumers.items()
        ]
        return sorted(found, key=lambda each: (-self._size(each), each.amounts, each.consumers[0]))

    def _size(self, flavour: Flavour) -> float:
        """How hard a flavour is to place: its share of what is free of its scarcest class."""
        return max(
            (amount / max(1, self.free_of_class[number]) for number, amount in flavour.amounts),
            default=0.0,
        )

    def held(self, flavour: Flavour, slot: int, number: int) -> int:
        """What a consumer holds in a slot in any case."""
        return sum(
            amount
            for provider, amount in flavour.fixed.get(number, ())
            if provider == self.providers[slot]
        )

    def takes(self, flavour: Flavour, slot: int, number: int, amount: int) -> bool:
        """Whether a slot takes an amount if it has nothing to take besides.

        The service judges the sum: it sees one allocation of the consumer on the provider.
        """
        held = self.held(flavour, slot, number)
        return amount <= self.free[slot] and fits_units(self.inventories[slot], held + amount)
