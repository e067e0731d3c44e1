"""What nova's drivers report of their hosts, and move there, through roost's tracker."""

from unittest import mock

import pytest
from nova import objects
from nova.objects import fields
from nova.tests.fixtures import libvirt as fakelibvirt

from roost.agent.driver import DriverError
from roost.agent.tracker import ReshapeForbidden
from roost.client import Inventory
from tests.agent.hosts import claim
from tests.nova_drivers.in_nova.hosts import (
    NODE,
    IronicTestCase,
    LibvirtTestCase,
    VMwareTestCase,
)
from tests.support.names import uid

FLAT = {"VCPU": 8, "MEMORY_MB": 16384, "DISK_GB": 128}
# Cards as nova's tests fake them, and their providers. A card takes 16 VGPUs more than it has.
CARDS = ("pci_0000_81_00_0", "pci_0000_81_01_0")
FIRST, SECOND = (f"{NODE}_{card}" for card in CARDS)


class LibvirtScenarios(LibvirtTestCase):
    def flat_host(self, **totals):
        """Report a host without cards, and give it these totals besides. Returns its UUID."""
        self.tracker(self.host()).update(startup=True)
        root = self.provider(NODE)
        self.set_inventories(root, {name: Inventory(total=each) for name, each in totals.items()})
        return root

    def test_a_host_is_reported_once(self):
        tracker = self.tracker(self.host())
        assert tracker.update(startup=True) is not None
        self.check_totals({NODE: FLAT})
        assert "HW_CPU_HYPERTHREADING" in self.traits(NODE)
        assert tracker.update(startup=False) is None

    def test_ratios_and_traits_of_operators_stay(self):
        """Nova starts with its configured ratio, and then keeps the one that it finds."""
        root = self.flat_host()
        assert self.client.inventories(root).inventories["VCPU"].allocation_ratio == 4.0
        self.set_inventories(root, {"VCPU": Inventory(total=8, max_unit=8, allocation_ratio=2.0)})
        self.client.create_trait("CUSTOM_GOLD")
        self.set_traits(root, [*self.traits(NODE), "CUSTOM_GOLD"])
        assert self.tracker(self.host()).update(startup=False) is None
        assert self.client.inventories(root).inventories["VCPU"].allocation_ratio == 2.0
        assert "CUSTOM_GOLD" in self.traits(NODE)

    def test_storage_that_is_shared(self):
        """Nova asks for it, and decides by itself what to do. The pool is not the driver's."""
        self.flat_host()
        pool = self.share(NODE)
        before = self.client.inventories(pool)
        assert self.tracker(self.host()).update(startup=True) is None
        [(tree, _)] = self.driver.shown
        assert tree.has_sharing_provider("DISK_GB")
        assert {root.name for root in tree.roots} == {NODE, "pool"}
        assert self.client.inventories(pool) == before

    def test_vgpus_move_to_the_cards_that_instances_really_use(self):
        root = self.flat_host(VGPU=32)
        device_of = {uid(f"device-{number}"): CARDS[number % 2] for number in range(4)}
        even, odd = list(device_of)[::2], list(device_of)[1::2]
        one = claim(self.client, "one", {root: {"VCPU": 1, "VGPU": 1}})
        two = claim(self.client, "two", {root: {"VCPU": 1, "VGPU": 1}})
        both = claim(self.client, "both", {root: {"VCPU": 1, "VGPU": 2}})
        none = claim(self.client, "none", {root: {"VCPU": 1}})
        host = self.host(graphics_cards=2, mediated_devices=device_of)
        self.start_guest(host, one, odd[:1])
        self.start_guest(host, two, even[:1])
        self.start_guest(host, both, [even[1], odd[1]])
        tracker = self.tracker(host)
        with pytest.raises(ReshapeForbidden):
            tracker.update(startup=False)
        self.check_totals({NODE: {**FLAT, "VGPU": 32}})

        tracker.update(startup=True)

        self.check_totals({NODE: FLAT, FIRST: {"VGPU": 18}, SECOND: {"VGPU": 18}})
        self.check_held(one, {NODE: {"VCPU": 1}, SECOND: {"VGPU": 1}})
        self.check_held(two, {NODE: {"VCPU": 1}, FIRST: {"VGPU": 1}})
        self.check_held(both, {NODE: {"VCPU": 1}, FIRST: {"VGPU": 1}, SECOND: {"VGPU": 1}})
        self.check_held(none, {NODE: {"VCPU": 1}})
        assert "OWNER_NOVA" in self.traits(FIRST)
        assert tracker.update(startup=False) is None

    def test_an_allocation_record_is_as_nova_documents_it(self):
        root = self.flat_host(VGPU=32)
        consumer = claim(self.client, "consumer", {root: {"VGPU": 1}})
        generation = self.client.provider(root).generation
        host = self.host(graphics_cards=1, mediated_devices={uid("device"): CARDS[0]})
        self.start_guest(host, consumer, [uid("device")])
        self.tracker(host).update(startup=True)
        [_, (_, allocations)] = self.driver.shown
        self.check(
            allocations[consumer],
            {
                "allocations": {root: {"generation": generation, "resources": {"VGPU": 1}}},
                "project_id": "project",
                "user_id": "user",
                "consumer_generation": 1,
                "consumer_type": "INSTANCE",
            },
        )
        self.check_held(consumer, {FIRST: {"VGPU": 1}})

    def test_an_instance_starts_on_the_tree_that_the_driver_kept(self):
        """After an update the driver looks for the card of an allocation in its copy."""
        device = uid("device")
        host = self.host(graphics_cards=2, mediated_devices={device: CARDS[1]})
        self.tracker(host).update(startup=True)
        allocated = host._allocate_mdevs({self.provider(SECOND): {"resources": {"VGPU": 1}}})
        assert allocated == [device]

    def test_a_consumer_that_the_hypervisor_does_not_know_stops_the_reshape(self):
        root = self.flat_host(VGPU=32)
        lost = claim(self.client, "lost", {root: {"VGPU": 1}})
        with pytest.raises(DriverError, match=f"consumer {lost}.*non-existing instance"):
            self.tracker(self.host(graphics_cards=1)).update(startup=True)
        self.check_totals({NODE: {**FLAT, "VGPU": 32}})
        self.check_held(lost, {NODE: {"VGPU": 1}})

    def test_a_card_without_vgpus_is_no_provider(self):
        host = self.host(graphics_cards=2)
        tracker = self.tracker(host)
        tracker.update(startup=True)
        counted = host._get_gpu_inventories()
        empty = {**counted, CARDS[0]: {**counted[CARDS[0]], "total": 0}}
        with mock.patch.object(host, "_get_gpu_inventories", return_value=empty):
            tracker.update(startup=False)
        self.check_totals({NODE: FLAT, SECOND: {"VGPU": 16}})
        tracker.update(startup=False)
        self.check_totals({NODE: FLAT, FIRST: {"VGPU": 16}, SECOND: {"VGPU": 16}})

    def test_pinned_instances_hold_pcpus(self):
        """The processors of pinned instances change their class, on the same provider."""
        root = self.flat_host()
        pinned = claim(self.client, "pinned", {root: {"VCPU": 3, "MEMORY_MB": 1024}})
        floating = claim(self.client, "floating", {root: {"VCPU": 2}})
        self.flags(cpu_shared_set="0-3", cpu_dedicated_set="4-7", group="compute")
        self.know_instances(pinned=[pinned], floating=[floating])
        tracker = self.tracker(self.host())
        with pytest.raises(ReshapeForbidden):
            tracker.update(startup=False)
        tracker.update(startup=True)
        self.check_totals({NODE: {**FLAT, "VCPU": 4, "PCPU": 4}})
        self.check_held(pinned, {NODE: {"PCPU": 3, "MEMORY_MB": 1024}})
        self.check_held(floating, {NODE: {"VCPU": 2}})
        assert tracker.update(startup=False) is None

    def know_instances(self, *, pinned, floating):
        """Nova's database, as far as the driver asks it."""
        topology = objects.InstanceNUMATopology(
            cells=[objects.InstanceNUMACell(cpu_policy=fields.CPUAllocationPolicy.DEDICATED)]
        )
        instances = [objects.Instance(uuid=uuid, numa_topology=topology) for uuid in pinned]
        instances += [objects.Instance(uuid=uuid, numa_topology=None) for uuid in floating]
        cell = objects.NUMACell(
            id=0,
            cpuset=set(range(4)),
            pcpuset=set(range(4, 8)),
            memory=1024,
            cpu_usage=0,
            memory_usage=0,
            pinned_cpus={4, 5, 6},
            siblings=[],
            mempages=[],
        )
        node = objects.ComputeNode(
            host=NODE,
            hypervisor_hostname=NODE,
            numa_topology=objects.NUMATopology(cells=[cell])._to_json(),
        )
        for query, found in (
            ("ComputeNode.get_by_nodename", node),
            ("InstanceList.get_by_host", instances),
            ("MigrationList.get_in_progress_by_host_and_node", []),
        ):
            self.patch(f"nova.objects.{query}", found)

    @mock.patch.object(
        fakelibvirt.virConnect,
        "_domain_capability_features",
        new=fakelibvirt.virConnect._domain_capability_features_with_SEV,
    )
    def test_encrypted_instances_move_to_a_child(self):
        root = self.flat_host(MEM_ENCRYPTION_CONTEXT=100)
        encrypted = claim(
            self.client, "encrypted", {root: {"VCPU": 1, "MEM_ENCRYPTION_CONTEXT": 1}}
        )
        self.libvirt.amd_sev.sev = True
        tracker = self.tracker(self.host())
        tracker.update(startup=True)
        child = f"{NODE}_amd_sev"
        self.check_totals({NODE: FLAT, child: {"MEM_ENCRYPTION_CONTEXT": 100}})
        self.check_held(encrypted, {NODE: {"VCPU": 1}, child: {"MEM_ENCRYPTION_CONTEXT": 1}})
        assert {"HW_CPU_X86_AMD_SEV", "OWNER_NOVA"} <= set(self.traits(child))
        assert tracker.update(startup=False) is None


class VMwareScenarios(VMwareTestCase):
    def test_a_cluster_is_reported_once(self):
        tracker = self.tracker(self.cluster())
        assert tracker.update(startup=True) is not None
        node = tracker.nodename
        self.check_totals({node: {"VCPU": 32, "MEMORY_MB": 2048, "DISK_GB": 1024}})
        assert self.traits(node) == ["HW_ARCH_X86_64"]
        assert tracker.update(startup=False) is None

    def test_a_datastore_is_added(self):
        """The free space of one datastore bounds the largest disk."""
        tracker = self.tracker(self.cluster())
        tracker.update(startup=True)
        self.check(self.disk(tracker.nodename), (1024, 500))
        self.add_datastore("ds3", capacity=2048, free=1500)
        tracker.update(startup=False)
        self.check(self.disk(tracker.nodename), (3072, 1500))

    def test_storage_that_is_shared(self):
        tracker = self.tracker(self.cluster())
        tracker.update(startup=True)
        pool = self.share(tracker.nodename)
        before = self.client.inventories(pool)
        assert tracker.update(startup=False) is None
        tree, _ = self.driver.shown[-1]
        assert tree.has_sharing_provider("DISK_GB")
        assert self.client.inventories(pool) == before


class IronicScenarios(IronicTestCase):
    def test_a_node_with_an_instance_is_reserved(self):
        """Nova reserves all of a node while an instance holds it, so more is held than is free."""
        self.tracker(self.node()).update(startup=True)
        node = self.provider(uid("node"))
        self.check(self.reserved(node), (1, 0))
        assert self.traits(uid("node")) == ["CUSTOM_RAID"]
        instance = claim(self.client, "instance", {node: {"CUSTOM_GOLD": 1}})
        tracker = self.tracker(self.node(instance_id=instance))
        tracker.update(startup=False)
        self.check(self.reserved(node), (1, 1))
        assert tracker.update(startup=False) is None
        self.client.delete_consumer(instance)
        self.tracker(self.node()).update(startup=True)
        self.check(self.reserved(node), (1, 0))

    def reserved(self, node):
        inventory = self.client.inventories(node).inventories["CUSTOM_GOLD"]
        return inventory.total, inventory.reserved
