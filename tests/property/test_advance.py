"""The index after catching up equals the index rebuilt from the tables."""

import random
from collections import Counter

import pytest

from roost.changes import Changes, ProviderParts, Rows
from roost.query import CandidateQuery, Order, OrderBy, RequestGroup
from roost.search.find import find
from roost.search.index.advance import advance
from roost.search.index.index import Index

CLASSES = [(number, f"CLASS{number}", 0.0) for number in range(3)]
TRAITS = [(1, "MISC_SHARES_VIA_AGGREGATE", 0.0), (2, "CUSTOM_A", 0.0), (3, "CUSTOM_B", 0.0)]
# Two spellings of one UUID, another one, and what is none.
AGGREGATES = [
    "a1b2c3d4-e5f6-4a7b-8c9d-e0f1a2b3c4d5",
    "A1B2C3D4E5F64A7B8C9DE0F1A2B3C4D5",
    "B1B2C3D4-E5F6-4A7B-8C9D-E0F1A2B3C4D5",
    "rack",
]


@pytest.fixture(autouse=True, params=["one by one", "at once"])
def claims_applied(request, monkeypatch):
    """Few claims are applied one by one, many with arrays; both ways lead to the same index."""
    if request.param == "at once":
        monkeypatch.setattr("roost.search.index.advance.ONE_BY_ONE_MAX", -1)


class Tables:
    """A small database in dictionaries, with the changes since `take_changes` was last called."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.providers = {}  # id -> [uuid, name, generation, parent id]
        self.inventories = {}  # (provider id, class id) -> numbers
        self.used = Counter()
        self.traits = {}
        self.aggregates = {}
        self.next_id = 1
        self.classes = {number: name for number, name, _ in CLASSES}
        self.clear_changes()

    def clear_changes(self):
        self.changed, self.usage, self.generations, self.class_ids = set(), Counter(), {}, set()
        self.parts = {}  # of providers that need not be read again

    def rows(self, only=None, class_ids=None):
        def chosen(number):
            return only is None or number in only

        return Rows(
            providers=[
                (number, uuid, name, generation, self.root(number), parent, 0.0)
                for number, (uuid, name, generation, parent) in self.providers.items()
                if chosen(number)
            ],
            inventories=[
                (number, class_id, *numbers, 0.0)
                for (number, class_id), numbers in self.inventories.items()
                if chosen(number)
            ],
            usages=[(*key, amount) for key, amount in self.used.items() if chosen(key[0])],
            traits=[(n, t) for n, some in self.traits.items() if chosen(n) for t in some],
            aggregates=[(n, a) for n, some in self.aggregates.items() if chosen(n) for a in some],
            resource_classes=[
                (number, name, 0.0)
                for number, name in self.classes.items()
                if class_ids is None or number in class_ids
            ],
            trait_names=TRAITS if class_ids is None else (),
        )

    def take_changes(self):
        replaced = set(self.changed)
        changes = Changes(
            usage={key: n for key, n in self.usage.items() if key[0] not in replaced and n},
            generations={n: g for n, g in self.generations.items() if n not in replaced},
            parts=[each for each in self.parts.values() if each.id not in replaced],
            provider_ids=frozenset(replaced),
            class_ids=frozenset(self.class_ids),
            rows=self.rows(only=replaced, class_ids=self.class_ids),
        )
        self.clear_changes()
        return changes

    def root(self, number):
        while self.providers[number][3] is not None:
            number = self.providers[number][3]
        return number

    def subtree(self, number):
        children = [n for n, (*_, parent) in self.providers.items() if parent == number]
        return {number}.union(*(self.subtree(child) for child in children))

    # -- writes --------------------------------------------------------------------------------

    def any_provider(self):
        return self.random.choice(sorted(self.providers)) if self.providers else None

    def create(self):
        parent = self.random.choice([None, self.any_provider()])
        self.providers[self.next_id] = [f"uuid-{self.next_id}", f"name {self.next_id}", 0, parent]
        self.changed.add(self.next_id)
        self.next_id += 1

    def rename(self):
        number = self.any_provider()
        self.providers[number][1] = f"name {self.random.random()}"
        self.changed.add(number)

    def reparent(self):
        number = self.any_provider()
        outside = sorted(set(self.providers) - self.subtree(number))
        self.providers[number][3] = self.random.choice([None, *outside])
        self.changed |= self.subtree(number)

    def delete(self):
        number = self.any_provider()
        if self.subtree(number) == {number}:
            del self.providers[number]
            self.traits.pop(number, None)
            self.aggregates.pop(number, None)
            for class_id in self.classes:
                self.inventories.pop((number, class_id), None)
                self.used.pop((number, class_id), None)
            self.changed.add(number)

    def set_inventories(self):
        number = self.any_provider()
        for class_id in self.classes:
            if self.random.random() < 0.5:
                total = self.random.randrange(1, 50)
                self.inventories[number, class_id] = (total, 0, 1, total, 1, 1.5)
            elif not self.used[number, class_id]:
                self.inventories.pop((number, class_id), None)
        self._advance_generation(number)
        self.changed.add(number)

    def set_traits(self):
        number = self.any_provider()
        self.traits[number] = self.random.sample([1, 2, 3], self.random.randrange(4))
        self._advance_generation(number)
        self._announce(number, traits=sorted(self.traits[number]))

    def set_aggregates(self):
        number = self.any_provider()
        self.aggregates[number] = self.random.sample(AGGREGATES, self.random.randrange(4))
        self._announce(number, aggregates=list(self.aggregates[number]))

    def report_inventories(self):
        """New numbers of some classes that the provider has."""
        number = self.any_provider()
        keys = [key for key in sorted(self.inventories) if key[0] == number]
        for key in self.random.sample(keys, self.random.randrange(len(keys) + 1)):
            total = self.random.randrange(1, 50)
            numbers = (total, self.random.randrange(total), 1, total, self.random.choice([1, 2]))
            self.inventories[key] = (*numbers, self.random.choice([0.5, 1.0, 1.5]))
        self._advance_generation(number)
        self._announce(number, inventories=[(key[1], *self.inventories[key]) for key in keys])

    def _announce(self, number, **parts):
        """The parts alone, or that the provider has to be read again."""
        if self.random.random() < 0.3:
            self.changed.add(number)
            return
        generation = self.providers[number][2]
        told = ProviderParts(id=number, generation=generation, modified=0.0, **parts)
        before = self.parts.get(number)
        self.parts[number] = told if before is None else before.then(told)
        self.generations[number] = generation

    def claim(self):
        if self.inventories:
            key = self.random.choice(sorted(self.inventories))
            self.used[key] += 3
            self.usage[key] += 3
            self._advance_generation(key[0])
            self.generations[key[0]] = self.providers[key[0]][2]

    def release(self):
        key = next((key for key, amount in sorted(self.used.items()) if amount), None)
        if key is not None:
            self.used[key] -= 3
            self.usage[key] -= 3

    def add_class(self):
        number = 10_000 + len(self.classes)
        self.classes[number] = f"CUSTOM_{number}"
        self.class_ids.add(number)

    def _advance_generation(self, number):
        self.providers[number][2] += 1

    def write(self):
        if len(self.providers) < 2:
            self.create()
            return
        weighted = [self.create] * 3 + [self.claim] * 4 + [self.release, self.delete] * 2
        rest = [
            self.rename,
            self.reparent,
            self.set_inventories,
            self.set_inventories,
            self.report_inventories,
            self.report_inventories,
            self.set_traits,
            self.set_aggregates,
            self.add_class,
        ]
        self.random.choice(weighted + rest)()


@pytest.mark.parametrize("seed", range(40))
def test_catching_up_equals_rebuilding(seed):
    tables = Tables(seed)
    index = Index.build(tables.rows())
    for _ in range(60):
        for _ in range(tables.random.randrange(1, 5)):
            tables.write()
        advance(index, tables.take_changes())
        assert index.contents() == Index.build(tables.rows()).contents()


@pytest.mark.parametrize("by", [OrderBy.PACK, OrderBy.ROOT, OrderBy.RANDOM])
def test_pages_continue_in_another_process(by):
    """An index that applied every change and a fresh one order candidates the same way."""
    groups = (
        RequestGroup(resources={"CLASS0": 1, "CLASS1": 1}),
        RequestGroup(suffix="_A", resources={"CLASS2": 1}),
    )
    query = CandidateQuery(groups=groups, order=Order(by=by, seed=3))
    counts = []
    for seed in range(20):
        tables = Tables(seed)
        index = Index.build(tables.rows())
        for _ in range(60):
            tables.write()
            advance(index, tables.take_changes())
        found = find(index, query).candidates
        assert found == find(Index.build(tables.rows()), query).candidates
        counts.append(len(found))
    assert sum(count > 1 for count in counts) >= 5


def test_removed_rows_do_not_pile_up():
    tables = Tables(1)
    for _ in range(30):
        tables.write()
    index = Index.build(tables.rows())
    for _ in range(3000):
        tables.set_traits()
        advance(index, tables.take_changes())
    assert index.rows.count <= 2 * index.live_count + 1100
    assert index.contents() == Index.build(tables.rows()).contents()
