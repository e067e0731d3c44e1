"""The tree that drivers edit: its shape, its contents, what it refuses, and threads."""

import copy
import threading

import pytest

from roost.agent.provider_tree import (
    BadInventory,
    DuplicateProvider,
    NoSuchProvider,
    ProviderLoop,
    ProviderTree,
)
from roost.agent.tree_diff import compare
from roost.model import INTEGER_MAX, Inventory

HOST = "11111111-0000-0000-0000-000000000000"
NUMA0 = "11111111-0000-0000-0000-000000000001"
NUMA1 = "11111111-0000-0000-0000-000000000002"
NIC = "11111111-0000-0000-0000-000000000003"
POOL = "22222222-0000-0000-0000-000000000000"


@pytest.fixture
def tree():
    """host -> numa0 -> nic, host -> numa1; and a separate storage pool."""
    tree = ProviderTree()
    tree.new_root("host", HOST, generation=3)
    tree.new_child("numa0", HOST, uuid=NUMA0, generation=1)
    tree.new_child("numa1", "host", uuid=NUMA1)
    tree.new_child("nic", "numa0", uuid=NIC)
    tree.new_root("pool", POOL)
    return tree


# -- shape


def test_parents_come_before_children(tree):
    assert tree.get_provider_uuids() == [HOST, NUMA0, NIC, NUMA1, POOL]
    assert tree.get_provider_uuids("numa0") == [NUMA0, NIC]
    assert tree.get_provider_uuids_in_tree("nic") == [HOST, NUMA0, NIC, NUMA1]
    assert [(root.name, root.uuid) for root in tree.roots] == [("host", HOST), ("pool", POOL)]


def test_a_child_gets_a_uuid_of_its_own(tree):
    uuid = tree.new_child("gpu", "numa1")
    assert tree.data("gpu").uuid == uuid
    assert tree.data(uuid).parent_uuid == NUMA1
    assert tree.data(uuid).root_uuid == HOST


def test_exists_by_name_and_by_uuid(tree):
    assert tree.exists("nic")
    assert tree.exists(NIC)
    assert not tree.exists("nobody")


def test_a_name_that_is_a_uuid_as_bare_metal_nodes_have_it():
    tree = ProviderTree()
    tree.new_root(HOST, HOST)
    tree.update_inventory(HOST, {"CUSTOM_BAREMETAL": {"total": 1}})
    assert tree.data(HOST).name == HOST


def test_remove_removes_the_subtree(tree):
    tree.remove("numa0")
    assert tree.get_provider_uuids() == [HOST, NUMA1, POOL]
    assert not tree.exists("nic")
    tree.new_child("nic", "numa1", uuid=NIC)
    assert tree.data("nic").parent_uuid == NUMA1


def test_reparent_moves_the_subtree(tree):
    tree.reparent("numa0", "numa1")
    assert tree.get_provider_uuids("host") == [HOST, NUMA1, NUMA0, NIC]
    tree.reparent("numa0", None)
    assert tree.data("nic").root_uuid == NUMA0
    assert tree.data("numa0") in tree.roots


def test_a_rename_keeps_the_uuid(tree):
    tree.rename("nic", "eth0")
    assert tree.data("eth0").uuid == NIC
    assert not tree.exists("nic")
    tree.rename("eth0", "eth0")
    tree.new_child("nic", "host")


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda tree: tree.new_root("host", POOL[:-1] + "9"), DuplicateProvider, "host"),
        (lambda tree: tree.new_root("other", HOST), DuplicateProvider, HOST),
        (lambda tree: tree.new_child("nic", "numa1", uuid=NIC), DuplicateProvider, "of numa0"),
        (lambda tree: tree.new_child("new", "nobody"), NoSuchProvider, "nobody"),
        (lambda tree: tree.new_child(POOL, "host"), DuplicateProvider, "the UUID of pool"),
        (lambda tree: tree.rename("nic", "pool"), DuplicateProvider, "pool"),
        (lambda tree: tree.reparent("host", "nic"), ProviderLoop, "nic"),
        (lambda tree: tree.reparent("host", "host"), ProviderLoop, "host"),
        (lambda tree: tree.remove("nobody"), NoSuchProvider, "nobody"),
        (lambda tree: tree.data("nobody"), NoSuchProvider, "nobody"),
        (lambda tree: tree.update_traits("nobody", []), NoSuchProvider, "nobody"),
        (lambda tree: tree.get_provider_uuids("nobody"), NoSuchProvider, "nobody"),
        (lambda tree: tree.update_inventory("nic", {"VCPU": {}}), BadInventory, "VCPU.*nic.*total"),
        (
            lambda tree: tree.update_inventory("nic", {"VCPU": {"total": 1, "ratio": 2}}),
            BadInventory,
            "nic has no field ratio",
        ),
    ],
)
def test_a_refused_change_changes_nothing(tree, change, error, words):
    before = [tree.data(uuid) for uuid in tree.get_provider_uuids()]
    with pytest.raises(error, match=words) as caught:
        change(tree)
    assert isinstance(caught.value, ValueError)
    assert [tree.data(uuid) for uuid in tree.get_provider_uuids()] == before


# -- from the service


def record(uuid, name, parent=None, generation=0):
    return {
        "uuid": uuid,
        "name": name,
        "generation": generation,
        "parent_provider_uuid": parent,
        "root_provider_uuid": HOST,
        "links": [],
    }


def test_populate_accepts_any_order():
    tree = ProviderTree()
    tree.populate_from_iterable(
        [record(NIC, "nic", NUMA0), record(NUMA0, "numa0", HOST, 4), record(HOST, "host")]
    )
    assert tree.get_provider_uuids() == [HOST, NUMA0, NIC]
    assert tree.data("numa0").generation == 4


def test_populate_replaces_the_tree_and_leaves_the_others(tree):
    tree.update_traits("pool", ["CUSTOM_FAST"])
    tree.update_traits("host", ["CUSTOM_OLD"])
    tree.populate_from_iterable([record(HOST, "renamed", None, 9), record(NIC, "nic", HOST)])
    assert tree.get_provider_uuids() == [POOL, HOST, NIC]
    assert tree.data(HOST).generation == 9
    assert tree.data(HOST).traits == set()
    assert tree.data(POOL).traits == {"CUSTOM_FAST"}


def test_populate_below_a_known_parent(tree):
    tree.populate_from_iterable([record(NIC, "eth0", NUMA1)])
    assert tree.data("eth0").parent_uuid == NUMA1
    assert not tree.exists("nic")


@pytest.mark.parametrize(
    ("records", "error"),
    [
        ([record(NIC, "nic", NUMA0), record(NUMA0, "numa0", NIC)], ProviderLoop),
        ([record(HOST, "host"), record(NIC, "nic", POOL[:-1] + "7")], NoSuchProvider),
        ([record(HOST, "host"), record(HOST, "host")], DuplicateProvider),
        ([record(HOST, "host"), record(NIC, "host", HOST)], DuplicateProvider),
    ],
)
def test_populate_is_atomic(tree, records, error):
    before = [tree.data(uuid) for uuid in tree.get_provider_uuids()]
    with pytest.raises(error):
        tree.populate_from_iterable(records)
    assert [tree.data(uuid) for uuid in tree.get_provider_uuids()] == before


# -- contents

FULL = {
    "total": 8,
    "reserved": 0,
    "min_unit": 1,
    "max_unit": INTEGER_MAX,
    "step_size": 1,
    "allocation_ratio": 1.0,
}


def test_an_inventory_has_the_defaults_of_the_api(tree):
    assert tree.update_inventory("host", {"VCPU": {"total": 8}})
    assert tree.data("host").inventory == {"VCPU": FULL}
    assert not tree.has_inventory_changed("host", {"VCPU": FULL})
    assert not tree.update_inventory("host", {"VCPU": Inventory(total=8)})
    assert tree.has_inventory_changed("host", {"VCPU": {"total": 8, "reserved": 1}})
    assert tree.has_inventory_changed("host", {})
    assert tree.has_inventory("host")
    assert not tree.has_inventory("nic")


def test_what_a_driver_leaves_out_of_an_inventory_is_not_changed(tree):
    """An operator reserves devices by hand. Nova relies on it that they stay reserved."""
    tree.update_inventory("nic", {"VF": {"total": 8, "reserved": 6, "allocation_ratio": 1.5}})
    assert not tree.has_inventory_changed("nic", {"VF": {"total": 8}})
    assert not tree.update_inventory("nic", {"VF": {"total": 8}})
    assert tree.update_inventory("nic", {"VF": {"total": 4}, "PF": {"total": 1}})
    inventory = tree.data("nic").inventory
    assert (inventory["VF"]["reserved"], inventory["VF"]["allocation_ratio"]) == (4, 1.5)
    assert tree.update_inventory("nic", {"VF": {"total": 4, "reserved": 0}})
    assert tree.data("nic").inventory == {
        "VF": {**inventory["VF"], "reserved": 0},
    }


def test_a_sharing_provider_shares_the_classes_that_it_has(tree):
    tree.update_inventory("host", {"DISK_GB": {"total": 100}})
    assert not tree.has_sharing_provider("DISK_GB")
    tree.update_traits("pool", ["MISC_SHARES_VIA_AGGREGATE"])
    assert not tree.has_sharing_provider("DISK_GB")
    tree.update_inventory("pool", {"DISK_GB": {"total": 1000}})
    assert tree.has_sharing_provider("DISK_GB")
    assert not tree.has_sharing_provider("VCPU")


def test_traits_and_aggregates(tree):
    assert tree.update_traits("nic", ["A", "B"])
    assert not tree.update_traits("nic", ("B", "A"))
    assert not tree.have_traits_changed("nic", ["B", "A"])
    assert tree.add_traits("nic", "C")
    assert tree.remove_traits("nic", "A", "NEVER")
    assert tree.data("nic").traits == {"B", "C"}
    assert tree.has_traits("nic", ["B"])
    assert not tree.has_traits("nic", ["A", "B"])

    assert tree.update_aggregates("nic", [POOL])
    assert not tree.have_aggregates_changed("nic", [POOL])
    assert not tree.add_aggregates("nic", POOL)
    assert tree.in_aggregates("nic", [POOL])
    assert tree.remove_aggregates("nic", POOL)
    assert tree.data("nic").aggregates == set()


def test_an_aggregate_in_another_spelling_is_no_change(tree):
    """The service shows an aggregate as somebody stored it, so a driver would write for ever."""
    stored = POOL.replace("-", "").upper()
    tree.update_aggregates("nic", [stored])
    assert not tree.have_aggregates_changed("nic", [POOL])
    assert tree.in_aggregates("nic", [POOL])
    assert not tree.add_aggregates("nic", POOL)
    assert tree.data("nic").aggregates == {stored}
    assert tree.remove_aggregates("nic", POOL)
    assert tree.data("nic").aggregates == set()
    tree.update_aggregates("nic", [stored])
    after = tree.copy()
    after.update_aggregates("nic", [POOL])
    assert not compare(tree, after)


def test_resources_belong_to_the_driver(tree):
    notes = {"VGPU": {"0000:3b:00.0": ["mdev-1"]}}
    assert tree.update_resources("nic", notes)
    notes["VGPU"]["0000:3b:00.0"].append("mdev-2")
    assert tree.have_resources_changed("nic", notes)
    assert tree.data("nic").resources == {"VGPU": {"0000:3b:00.0": ["mdev-1"]}}


@pytest.mark.parametrize(
    "update",
    [
        lambda tree, generation: tree.update_inventory("host", {}, generation),
        lambda tree, generation: tree.update_traits("host", [], generation),
        lambda tree, generation: tree.update_aggregates("host", [], generation),
        lambda tree, generation: tree.update_resources("host", {}, generation),
    ],
)
def test_a_generation_is_remembered_even_if_nothing_else_changed(tree, update):
    assert update(tree, 7) is False
    assert tree.data("host").generation == 7
    update(tree, None)
    assert tree.data("host").generation == 7


def test_data_is_a_copy(tree):
    tree.update_inventory("host", {"VCPU": {"total": 8}})
    data = tree.data("host")
    data.inventory["VCPU"]["total"] = 1
    data.traits.add("CUSTOM_NEW")
    data.resources["VCPU"] = 1
    assert tree.data("host").inventory == {"VCPU": FULL}
    assert tree.data("host").traits == set()
    assert tree.data("host").resources == {}
    with pytest.raises(AttributeError):
        data.name = "other"


@pytest.mark.parametrize("duplicate", [copy.deepcopy, ProviderTree.copy])
def test_a_copy_is_independent(tree, duplicate):
    twin = duplicate(tree)
    twin.remove("numa0")
    twin.update_traits("host", ["CUSTOM_NEW"])
    assert tree.exists("nic")
    assert tree.data("host").traits == set()
    assert twin.get_provider_uuids() == [HOST, NUMA1, POOL]


# -- threads


def test_concurrent_changes_are_not_lost(tree):
    threads = 8
    each = 50
    barrier = threading.Barrier(threads)
    failures = []

    def work(number):
        try:
            barrier.wait()
            for turn in range(each):
                name = f"child-{number}-{turn}"
                tree.new_child(name, "numa1")
                tree.add_traits("host", f"CUSTOM_{number}_{turn}")
                tree.copy()
                tree.get_provider_uuids("host")
                if turn % 2:
                    tree.remove(name)
        except Exception as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
    assert len(tree.data("host").traits) == threads * each
    assert len(tree.get_provider_uuids("numa1")) == 1 + threads * each // 2
