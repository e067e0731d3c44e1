"""Random choices for the requests that write, mostly such that a request can succeed."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from tests.comparison.requests import VERSIONS
from tests.comparison.state import State
from tests.comparison.worlds import CLASSES, World, make_uuid

One = TypeVar("One")


class Choices:
    """A random generator, and the present state of the cloud."""

    def __init__(self, chance: random.Random, world: World, state: State) -> None:
        self.chance = chance
        self.world = world
        self.state = state

    def likely(self, likelihood: float) -> bool:
        return self.chance.random() < likelihood

    def one_of(self, *some: One) -> One:
        return self.chance.choice(some)

    def some_of(self, names: Sequence[str], count: int) -> list[str]:
        return self.chance.sample(names, min(count, len(names)))

    def version(self, lowest: int = 0) -> str:
        return self.chance.choice(VERSIONS[lowest:])

    def provider(self) -> str:
        """Rarely a provider that does not exist."""
        if not self.state.providers or self.likely(0.05):
            return self.chance.choice(self.world.unused_providers)
        return self.chance.choice(sorted(self.state.providers))

    def generation(self, provider: str) -> int:
        """Rarely another generation than the current one."""
        if provider not in self.state.providers:
            return 0
        current = self.state.generation(provider)
        return current if self.likely(0.85) else current + self.one_of(-1, 1, 7)

    def inventories(self, provider: str) -> Mapping[str, Any]:
        return self.state.inventories(provider) if provider in self.state.providers else {}

    def resource_class(self, provider: str) -> str:
        """Mostly a class that the provider has."""
        present = sorted(self.inventories(provider))
        if present and self.likely(0.7):
            return self.chance.choice(present)
        return self.one_of(*CLASSES, "CUSTOM_NOPE")

    def consumer(self) -> str:
        return self.chance.choice(self.world.consumer_uuids)

    def has_allocations(self, consumer: str) -> bool:
        return bool(self.state.consumers.get(consumer, {}).get("allocations"))

    def one_time_consumer(self) -> str:
        """A new consumer that no later request names.

        The reference keeps a record of a consumer whose first write is empty or names an unknown
        provider, and then refuses its first valid write. Roost does not, so the two clouds would
        diverge.
        """
        return make_uuid(self.chance)
