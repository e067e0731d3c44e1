"""A cloud in dictionaries: the model that two services on one database must agree with."""

from dataclasses import dataclass, field

from roost.model import Inventory, fits_units

CLASSES = ("VCPU", "MEMORY_MB", "CUSTOM_A")
TRAITS = ("HW_CPU_X86_AVX", "MISC_SHARES_VIA_AGGREGATE", "CUSTOM_T")


@dataclass
class ModelProvider:
    name: str
    parent: str | None
    generation: int = 0
    inventories: dict[str, Inventory] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()


@dataclass
class ModelConsumer:
    generation: int
    project: str
    allocations: dict[str, dict[str, int]]
    number: int = 0  # consumers are numbered in the order of their creation


class Refused(Exception):
    """The model says that a write must not happen."""


class ModelWorld:
    def __init__(self) -> None:
        self.providers: dict[str, ModelProvider] = {}
        self.consumers: dict[str, ModelConsumer] = {}
        self.consumer_count = 0  # how many were ever created

    def used(self, uuid: str, name: str) -> int:
        return sum(
            consumer.allocations.get(uuid, {}).get(name, 0) for consumer in self.consumers.values()
        )

    def subtree(self, uuid: str) -> set[str]:
        children = [other for other, one in self.providers.items() if one.parent == uuid]
        return {uuid}.union(*(self.subtree(child) for child in children))

    def root(self, uuid: str) -> str:
        parent = self.providers[uuid].parent
        return uuid if parent is None else self.root(parent)

    def in_use(self, uuid: str) -> set[str]:
        return {name for name in CLASSES if self.used(uuid, name)}

    # -- writes --------------------------------------------------------------------------------

    def create(self, uuid: str, name: str, parent: str | None) -> None:
        if uuid in self.providers or any(one.name == name for one in self.providers.values()):
            raise Refused
        self.providers[uuid] = ModelProvider(name=name, parent=parent)

    def update(self, uuid: str, name: str, parent: str | None) -> None:
        if any(one.name == name for other, one in self.providers.items() if other != uuid):
            raise Refused
        if parent is not None and parent in self.subtree(uuid):
            raise Refused
        self.providers[uuid].name = name
        self.providers[uuid].parent = parent

    def delete(self, uuid: str) -> None:
        if self.subtree(uuid) != {uuid} or self.in_use(uuid):
            raise Refused
        del self.providers[uuid]

    def set_inventories(
        self, uuid: str, inventories: dict[str, Inventory], generation: int
    ) -> None:
        provider = self.providers[uuid]
        if generation != provider.generation or self.in_use(uuid) - inventories.keys():
            raise Refused
        provider.inventories = dict(inventories)
        provider.generation += 1

    def set_traits(self, uuid: str, traits: frozenset[str], generation: int) -> None:
        provider = self.providers[uuid]
        if generation != provider.generation:
            raise Refused
        provider.generation += provider.traits != traits
        provider.traits = traits

    def set_aggregates(self, uuid: str, aggregates: frozenset[str], generation: int) -> None:
        provider = self.providers[uuid]
        if generation != provider.generation:
            raise Refused
        provider.aggregates = aggregates
        provider.generation += 1

    def allocate(
        self, wanted: dict[str, tuple[int | None, dict[str, dict[str, int]]]], project: str
    ) -> None:
        """wanted: consumer -> the generation that the writer saw, and what it shall have."""
        for uuid, (generation, _) in wanted.items():
            current = self.consumers.get(uuid)
            if generation != (current.generation if current else None):
                raise Refused
        before = {key: self.used(*key) for key in self._keys(wanted)}
        after = dict(before)
        for uuid, (_, allocations) in wanted.items():
            held = self.consumers[uuid].allocations if uuid in self.consumers else {}
            for provider, resources in held.items():
                for name, amount in resources.items():
                    if (provider, name) in after:
                        after[provider, name] -= amount
            for provider, resources in allocations.items():
                for name, amount in resources.items():
                    inventory = self.providers[provider].inventories.get(name)
                    if inventory is None or not fits_units(inventory, amount):
                        raise Refused
                    after[provider, name] += amount
        for (provider, name), amount in after.items():
            capacity = self.providers[provider].inventories[name].capacity
            if amount > capacity and amount > before[provider, name]:
                raise Refused
        self._save(wanted, project)

    def _keys(self, wanted):
        return {
            (provider, name)
            for _, allocations in wanted.values()
            for provider, resources in allocations.items()
            for name in resources
        }

    def _save(self, wanted, project: str) -> None:
        moved = set()
        for uuid, (_, allocations) in wanted.items():
            current = self.consumers.pop(uuid, None)
            if allocations:
                generation = current.generation + 1 if current else 1
                self.consumer_count += current is None
                number = current.number if current else self.consumer_count
                self.consumers[uuid] = ModelConsumer(generation, project, allocations, number)
                moved.update(allocations)
            elif current:
                moved.update(current.allocations)
        for uuid in moved:
            self.providers[uuid].generation += 1

    def release(self, consumer: str) -> None:
        if self.consumers.pop(consumer, None) is None:
            raise Refused

    def move(self, source: str, target: str, name: str, checked: bool = True) -> None:
        """Reshape: move an inventory to another provider, with all its allocations."""
        holders = {
            uuid: held
            for uuid, held in self.consumers.items()
            if name in held.allocations.get(source, {})
        }
        if checked:
            self._check_move(source, target, name, holders)
        self.providers[target].inventories[name] = self.providers[source].inventories.pop(name)
        for held in holders.values():
            amount = held.allocations[source].pop(name)
            if not held.allocations[source]:
                del held.allocations[source]
            held.allocations.setdefault(target, {})[name] = amount
            held.generation += 1
        # Existing clients rely on how often a generation moves: for the final inventories, for new
        # ones among them, and for allocations.
        claimed_from = {uuid for held in holders.values() for uuid in held.allocations}
        for uuid in (source, target):
            self.providers[uuid].generation += 1 + bool(self.providers[uuid].inventories)
        for uuid in claimed_from:
            self.providers[uuid].generation += 1

    def _check_move(self, source: str, target: str, name: str, holders) -> None:
        """A reshape claims all that the holders have again: all must respect the inventories."""
        moved = self.providers[source].inventories[name]
        if self.used(source, name) > moved.capacity:
            raise Refused
        for held in holders.values():
            for uuid, resources in held.allocations.items():
                for each, amount in resources.items():
                    if not fits_units(self.providers[uuid].inventories[each], amount):
                        raise Refused
