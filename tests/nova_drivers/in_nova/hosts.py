"""Nova's drivers with the hypervisors that nova's own tests fake, and how a tracker calls them."""

import copy
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from unittest import mock

import fixtures

# httpx would import it at the first request, when nova's fixtures forbid it to look at the machine.
import httpcore  # noqa: F401
from nova import exception, test
from nova.tests import fixtures as nova_fixtures
from nova.tests.fixtures import libvirt as fakelibvirt
from nova.tests.unit.virt.ironic import utils as ironic_utils
from nova.tests.unit.virt.vmwareapi import fake as fake_vmware
from nova.tests.unit.virt.vmwareapi import stubs as vmware_stubs
from nova.virt import fake
from nova.virt.ironic import driver as ironic_driver
from nova.virt.libvirt import driver as libvirt_driver
from nova.virt.libvirt import utils as libvirt_utils
from nova.virt.vmwareapi import driver as vmware_driver
from nova.virt.vmwareapi import ds_util, vm_util
from testtools.matchers import Equals

from roost.agent.driver import Allocations, Driver, DriverError, ReshapeNeeded
from roost.agent.provider_tree import ProviderTree
from roost.agent.tracker import Tracker
from roost.client import Client, Inventory
from tests.agent.hosts import delete_everything
from tests.support.names import uid

NODE = "compute1"
VGPU_TYPE = fakelibvirt.NVIDIA_11_VGPU_TYPE


class NovaDriver(Driver):
    """A driver of nova as one of roost: the errors are translated, the arguments handed on."""

    def __init__(self, driver: Any) -> None:
        super().__init__({})
        self._driver = driver
        self.shown: list[tuple[ProviderTree, Allocations | None]] = []  # as nova received them

    def nodenames(self) -> list[str]:
        return list(self._driver.get_available_nodes())

    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        self.shown.append((provider_tree.copy(), copy.deepcopy(allocations)))
        try:
            self._driver.update_provider_tree(provider_tree, nodename, allocations=allocations)
        except exception.ReshapeNeeded as error:
            raise ReshapeNeeded(str(error)) from error
        except exception.ReshapeFailed as error:
            raise DriverError(str(error)) from error


class ServiceTestCase(test.NoDBTestCase):
    """Tests with a roost that holds nothing. ROOST_AGENT_URL is its address."""

    def setUp(self) -> None:
        super().setUp()
        self.client = Client(os.environ["ROOST_AGENT_URL"])
        self.addCleanup(self.client.close)
        delete_everything(self.client)

    def tracker(self, driver: Any) -> Tracker:
        self.driver = NovaDriver(driver)
        [nodename] = self.driver.nodenames()
        return Tracker(self.client, self.driver, nodename)

    def provider(self, name: str) -> str:
        """The UUID of a provider."""
        [found] = self.client.providers({"name": name})
        return found.uuid

    def set_inventories(self, provider: str, inventories: Mapping[str, Inventory]) -> None:
        """Add to, or change, what a provider has."""
        known = self.client.inventories(provider)
        self.client.set_inventories(
            provider, {**known.inventories, **inventories}, known.generation
        )

    def set_traits(self, provider: str, traits: Iterable[str]) -> None:
        generation = self.client.provider(provider).generation
        self.client.set_provider_traits(provider, traits, generation)

    def traits(self, name: str) -> list[str]:
        return sorted(self.client.provider_traits(self.provider(name)).traits)

    def share(self, nodename: str) -> str:
        """Create a pool that shares its disk with a host. Returns its UUID."""
        pool = self.client.create_provider("pool").uuid
        for uuid in (self.provider(nodename), pool):
            generation = self.client.provider(uuid).generation
            self.client.set_provider_aggregates(uuid, [uid("aggregate")], generation)
        self.set_traits(pool, ["MISC_SHARES_VIA_AGGREGATE"])
        self.set_inventories(pool, {"DISK_GB": Inventory(total=1000)})
        return pool

    def patch(self, target: str, answer: Any) -> None:
        self.useFixture(fixtures.MockPatch(target, return_value=answer))

    def check(self, found: Any, expected: Any) -> None:
        self.assertThat(found, Equals(expected))

    def check_totals(self, expected: Mapping[str, Mapping[str, int]]) -> None:
        """What there is of each class on each provider, by its name."""
        found = {}
        for each in self.client.providers():
            inventories = self.client.inventories(each.uuid).inventories
            found[each.name] = {name: inventory.total for name, inventory in inventories.items()}
        self.check(found, expected)

    def check_held(self, consumer: str, expected: Mapping[str, Mapping[str, int]]) -> None:
        """What a consumer holds, by the names of providers."""
        names = {each.uuid: each.name for each in self.client.providers()}
        found = self.client.consumer(consumer).allocations
        self.check({names[uuid]: dict(held) for uuid, held in found.items()}, expected)


class LibvirtTestCase(ServiceTestCase):
    """Nova's libvirt driver on the libvirt of nova's own functional tests."""

    def setUp(self) -> None:
        super().setUp()
        self.libvirt = self.useFixture(nova_fixtures.LibvirtFixture())
        self.useFixture(nova_fixtures.CGroupsFixture())
        self.patch("nova.virt.libvirt.host.Host.get_online_cpus", set(range(8)))
        self.patch(
            "nova.virt.libvirt.driver.LibvirtDriver._get_local_gb_info",
            {"total": 128, "used": 44, "free": 84},
        )

    def host(
        self, graphics_cards: int = 0, mediated_devices: Mapping[str, str] | None = None
    ) -> Any:
        """A driver of a host with two NUMA nodes of four processors each.

        `mediated_devices` maps the UUIDs of those that exist to the cards that they are on.
        """
        connection = fakelibvirt.Connection(
            "qemu:///system",
            hostname=NODE,
            host_info=fakelibvirt.HostInfo(
                cpu_nodes=2, cpu_sockets=1, cpu_cores=2, cpu_threads=2, kB_mem=16384
            ),
            pci_info=fakelibvirt.HostPCIDevicesInfo(
                num_pci=0, num_pfs=0, num_vfs=0, num_mdevcap=graphics_cards
            ),
            mdev_info=fakelibvirt.HostMdevDevicesInfo(
                devices=dict(devices(mediated_devices or {}))
            ),
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                "nova.virt.libvirt.host.Host.get_connection", lambda host: connection
            )
        )
        if graphics_cards:
            self.flags(enabled_mdev_types=[VGPU_TYPE], group="devices")
        return libvirt_driver.LibvirtDriver(fake.FakeVirtAPI(), False)

    def start_guest(self, driver: Any, consumer: str, mediated_devices: list[str]) -> None:
        """An instance that has these mediated devices, and runs."""
        addresses = "".join(
            "<hostdev mode='subsystem' type='mdev' model='vfio-pci'>"
            f"<source><address uuid='{uuid}'/></source></hostdev>"
            for uuid in mediated_devices
        )
        driver._host.get_connection().createXML(
            f"<domain type='kvm'><name>{consumer}</name><uuid>{consumer}</uuid>"
            "<vcpu>1</vcpu><memory>1024</memory><os><type>hvm</type></os>"
            f"<devices>{addresses}</devices></domain>",
            0,
        )


def devices(mediated_devices: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for uuid, card in mediated_devices.items():
        name = libvirt_utils.mdev_uuid2name(uuid)
        yield name, fakelibvirt.FakeMdevDevice(dev_name=name, type_id=VGPU_TYPE, parent=card)


class VMwareTestCase(ServiceTestCase):
    """Nova's driver for VMware on the vCenter of nova's own tests."""

    def setUp(self) -> None:
        super().setUp()
        ds_util.dc_cache_reset()
        vm_util.vm_refs_cache_reset()
        self.flags(
            cluster_name="test_cluster",
            host_ip="vcenter",
            host_username="user",
            host_password="password",
            api_retry_count=1,
            group="vmware",
        )
        vmware_stubs.set_stubs(self)
        fake_vmware.reset()
        self.addCleanup(fake_vmware.cleanup)

    def cluster(self) -> Any:
        with mock.patch.object(vmware_driver.VMwareVCDriver, "_register_openstack_extension"):
            return vmware_driver.VMwareVCDriver(None, False)

    def add_datastore(self, name: str, *, capacity: int, free: int) -> None:
        """Another datastore of the cluster; sizes are in GB."""
        reference = fake_vmware.create_datastore(name, capacity, free)
        fake_vmware.get_first_object("ClusterComputeResource")._add_datastore(reference)

    def disk(self, nodename: str) -> tuple[int, int]:
        """The total disk of the cluster, and the largest part that one consumer can have."""
        inventory = self.client.inventories(self.provider(nodename)).inventories["DISK_GB"]
        return inventory.total, inventory.max_unit


class IronicTestCase(ServiceTestCase):
    """Nova's driver for bare metal, with a node as Ironic would show it."""

    def node(self, **properties: Any) -> Any:
        """A driver of one node, which is free unless an instance is named."""
        node = ironic_utils.get_test_node(
            id=uid("node"),
            power_state="power off",
            resource_class="gold",
            traits=["CUSTOM_RAID"],
            **properties,
        )
        driver = ironic_driver.IronicDriver(None)
        driver.node_cache = {node.id: node}
        # What Ironic would answer to a list of nodes.
        driver.get_available_nodes = lambda: list(driver.node_cache)
        return driver
