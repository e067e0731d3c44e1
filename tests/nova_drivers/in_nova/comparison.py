"""Nova's provider tree and roost's, after the same calls: they show drivers the same."""

import unittest

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from nova.compute import provider_tree

from roost.agent.provider_tree import ProviderTree
from tests.support.long_form import choose
from tests.support.names import uid

PROVIDERS = st.sampled_from([f"provider-{number}" for number in range(4)])
CLASSES = st.sampled_from(["VCPU", "DISK_GB", "CUSTOM_GPU"])
TRAITS = st.lists(st.sampled_from(["CUSTOM_A", "CUSTOM_B", "MISC_SHARES_VIA_AGGREGATE"]))
AGGREGATES = st.lists(st.sampled_from([uid("one"), uid("two")]))
INVENTORIES = st.dictionaries(
    CLASSES,
    st.fixed_dictionaries(
        {
            "total": st.integers(1, 3),
            "reserved": st.integers(0, 1),
            "min_unit": st.just(1),
            "max_unit": st.integers(1, 2),
            "step_size": st.just(1),
            "allocation_ratio": st.sampled_from([1.0, 4.0]),
        }
    ),
)
GENERATIONS = st.none() | st.integers(0, 3)


class Trees(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.nova, self.roost = provider_tree.ProviderTree(), ProviderTree()

    def both(self, method, *arguments, **options):
        """Call a method of both. They answer the same, or raise a ValueError both."""
        answers = []
        for tree in (self.nova, self.roost):
            try:
                answers.append(getattr(tree, method)(*arguments, **options))
            except ValueError:
                answers.append(ValueError)
        assert answers[0] == answers[1], f"{method}{arguments}: {answers}"
        return answers[0]

    def change(self, method, provider, *arguments, **options):
        """The same, for a change of which nova does not say whether it changed anything."""
        if self.both("exists", provider):
            for tree in (self.nova, self.roost):
                getattr(tree, method)(provider, *arguments, **options)

    @initialize(inventories=INVENTORIES)
    def start_with_a_host(self, inventories):
        self.new_root("provider-0", 0)
        self.new_child("provider-1", "provider-0", by_uuid=False, generation=None)
        for provider in ("provider-0", "provider-1"):
            self.update_inventory(provider, inventories, None)

    @rule(name=PROVIDERS, generation=GENERATIONS)
    def new_root(self, name, generation):
        # Nova would take another root of the same name.
        if not self.nova.exists(name):
            self.both("new_root", name, uid(name), generation=generation)

    @rule(name=PROVIDERS, parent=PROVIDERS, by_uuid=st.booleans(), generation=GENERATIONS)
    def new_child(self, name, parent, by_uuid, generation):
        parent = uid(parent) if by_uuid else parent
        self.both("new_child", name, parent, uuid=uid(name), generation=generation)

    @rule(provider=PROVIDERS, by_uuid=st.booleans())
    def remove(self, provider, by_uuid):
        self.both("remove", uid(provider) if by_uuid else provider)

    @rule(provider=PROVIDERS, inventories=INVENTORIES, generation=GENERATIONS)
    def update_inventory(self, provider, inventories, generation):
        self.both("has_inventory_changed", provider, inventories)
        self.both("update_inventory", provider, inventories, generation=generation)

    @rule(
        provider=PROVIDERS, left_out=st.sets(st.sampled_from(["reserved", "max_unit"]), min_size=1)
    )
    def say_less(self, provider, left_out):
        """The fields that a driver leaves out stay as they are."""
        if self.both("exists", provider):
            known = self.nova.data(provider).inventory
            less = {
                name: {field: value for field, value in fields.items() if field not in left_out}
                for name, fields in known.items()
            }
            self.both("has_inventory_changed", provider, less)
            self.both("update_inventory", provider, less)

    @rule(provider=PROVIDERS, traits=TRAITS, generation=GENERATIONS)
    def update_traits(self, provider, traits, generation):
        self.both("have_traits_changed", provider, traits)
        self.both("has_traits", provider, traits)
        self.both("update_traits", provider, traits, generation=generation)

    @rule(provider=PROVIDERS, traits=TRAITS)
    def add_traits(self, provider, traits):
        self.change("add_traits", provider, *traits)

    @rule(provider=PROVIDERS, traits=TRAITS)
    def remove_traits(self, provider, traits):
        self.change("remove_traits", provider, *traits)

    @rule(provider=PROVIDERS, aggregates=AGGREGATES, generation=GENERATIONS)
    def update_aggregates(self, provider, aggregates, generation):
        self.both("have_aggregates_changed", provider, aggregates)
        self.both("in_aggregates", provider, aggregates)
        self.both("update_aggregates", provider, aggregates, generation=generation)

    @rule(provider=PROVIDERS, aggregates=AGGREGATES)
    def add_aggregates(self, provider, aggregates):
        self.change("add_aggregates", provider, *aggregates)

    @rule(provider=PROVIDERS, aggregates=AGGREGATES)
    def remove_aggregates(self, provider, aggregates):
        self.change("remove_aggregates", provider, *aggregates)

    @rule(provider=PROVIDERS, notes=st.dictionaries(CLASSES, st.sets(st.integers(0, 3))))
    def update_resources(self, provider, notes):
        self.both("update_resources", provider, notes)

    @rule(provider=PROVIDERS)
    def populate(self, provider):
        """A tree is read again, with its parents last. What its providers have is forgotten."""
        if self.both("exists", provider):
            uuids = self.nova.get_provider_uuids_in_tree(provider)
            records = [
                {
                    "uuid": data.uuid,
                    "name": data.name,
                    "generation": data.generation,
                    "parent_provider_uuid": data.parent_uuid,
                }
                for data in map(self.nova.data, reversed(uuids))
            ]
            self.both("populate_from_iterable", records)

    @invariant()
    def the_same(self):
        trees = (self.nova, self.roost)
        roots = [sorted((root.uuid, root.name) for root in tree.roots) for tree in trees]
        assert roots[0] == roots[1]
        self.compare_uuids("get_provider_uuids")
        for resource_class in ("VCPU", "DISK_GB", "CUSTOM_GPU"):
            self.both("has_sharing_provider", resource_class)
        for uuid in self.nova.get_provider_uuids():
            self.both("has_inventory", uuid)
            self.compare_uuids("get_provider_uuids", uuid)
            self.compare_uuids("get_provider_uuids_in_tree", uuid)
            theirs, ours = self.nova.data(uuid), self.roost.data(uuid)
            for field in theirs._fields:
                assert getattr(theirs, field) == getattr(ours, field), field

    def compare_uuids(self, method, *arguments):
        """Both put parents first. Otherwise the order is not the same."""
        found = []
        for tree in (self.nova, self.roost):
            uuids = getattr(tree, method)(*arguments)
            found.append(set(uuids))
            for uuid in uuids[1:]:
                parent = tree.data(uuid).parent_uuid
                assert parent is None or uuids.index(parent) < uuids.index(uuid)
        assert found[0] == found[1]


Comparison: type[unittest.TestCase] = Trees.TestCase
Comparison.settings = settings(
    max_examples=choose(short=20, long=60), stateful_step_count=30, deadline=None
)
