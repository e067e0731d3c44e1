"""The tree compared with a dictionary of parents, after any sequence of changes."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from roost.agent.provider_tree import ProviderTree, TreeError

NAMES = st.sampled_from([f"provider-{number}" for number in range(8)])


class TreeMachine(RuleBasedStateMachine):
    """The model: name -> parent's name; a UUID is `uuid-of-` and the first name it had."""

    def __init__(self):
        super().__init__()
        self.tree = ProviderTree()
        self.parents = {}
        self.uuids = {}
        self.traits = {}
        self.made = 0

    def ancestors(self, name):
        while name is not None:
            yield name
            name = self.parents[name]

    def below(self, top):
        return {name for name in self.parents if top in self.ancestors(name)}

    def forget(self, name):
        for table in (self.parents, self.uuids, self.traits):
            del table[name]

    def new(self, name, parent):
        self.made += 1
        uuid = f"uuid-{self.made}"
        legal = name not in self.parents and (parent is None or parent in self.parents)
        if parent is None:
            self.attempt(legal, self.tree.new_root, name, uuid)
        else:
            self.attempt(legal, self.tree.new_child, name, parent, uuid=uuid)
        if legal:
            self.parents[name], self.uuids[name], self.traits[name] = parent, uuid, set()

    def attempt(self, legal, change, *arguments, **options):
        if legal:
            return change(*arguments, **options)
        with pytest.raises(TreeError):
            change(*arguments, **options)

    @rule(name=NAMES)
    def new_root(self, name):
        self.new(name, None)

    @rule(name=NAMES, parent=NAMES)
    def new_child(self, name, parent):
        self.new(name, parent)

    @rule(name=NAMES)
    def remove(self, name):
        legal = name in self.parents
        self.attempt(legal, self.tree.remove, self.uuids.get(name, name))
        for gone in self.below(name) if legal else ():
            self.forget(gone)

    @rule(name=NAMES, parent=st.none() | NAMES)
    def reparent(self, name, parent):
        known = name in self.parents and (parent is None or parent in self.parents)
        legal = known and parent not in self.below(name)
        self.attempt(legal, self.tree.reparent, name, parent)
        if legal:
            self.parents[name] = parent

    @rule(name=NAMES, new_name=NAMES)
    def rename(self, name, new_name):
        legal = name in self.parents and (name == new_name or new_name not in self.parents)
        self.attempt(legal, self.tree.rename, name, new_name)
        if legal and name != new_name:
            for table in (self.parents, self.uuids, self.traits):
                table[new_name] = table.pop(name)
            for child, parent in self.parents.items():
                if parent == name:
                    self.parents[child] = new_name

    @rule(name=NAMES, trait=st.sampled_from(["CUSTOM_A", "CUSTOM_B"]), there=st.booleans())
    def trait(self, name, trait, there):
        change = self.tree.add_traits if there else self.tree.remove_traits
        changed = self.attempt(name in self.parents, change, name, trait)
        if name in self.parents:
            assert changed == ((trait in self.traits[name]) != there)
            self.traits[name] = (
                self.traits[name] | {trait} if there else self.traits[name] - {trait}
            )

    @rule()
    def copied(self):
        self.tree = self.tree.copy()

    @rule()
    def through_the_service(self):
        """The same trees, read back in an order that ignores parents."""
        records = [
            {"uuid": data.uuid, "name": data.name, "parent_provider_uuid": data.parent_uuid}
            for data in map(self.tree.data, sorted(self.tree.get_provider_uuids(), reverse=True))
        ]
        self.tree.populate_from_iterable(records)
        self.traits = {name: set() for name in self.parents}

    @invariant()
    def agrees(self):
        uuids = self.tree.get_provider_uuids()
        assert sorted(uuids) == sorted(self.uuids.values())
        for name, parent in self.parents.items():
            data = self.tree.data(name)
            assert data.uuid == self.uuids[name]
            assert data.parent_uuid == (None if parent is None else self.uuids[parent])
            assert data.root_uuid == self.uuids[list(self.ancestors(name))[-1]]
            assert data.traits == self.traits[name]
            assert set(self.tree.get_provider_uuids(name)) == {
                self.uuids[each] for each in self.below(name)
            }
            if parent is not None:
                assert uuids.index(data.parent_uuid) < uuids.index(data.uuid)


TestTree = TreeMachine.TestCase
TestTree.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
