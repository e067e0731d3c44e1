"""The clouds that the files start from, under the fixture names that the files use.

A fixture publishes what it made as environment variables, because the files read them there.
"""

import functools
import os
from types import SimpleNamespace

from gabbi.fixture import GabbiFixture

from tests.conformance.world import World, new_uuid

SHARING = "MISC_SHARES_VIA_AGGREGATE"


class APIFixture(GabbiFixture):
    """An empty cloud, and identifiers to fill it with."""

    def __init__(self, server_url: str) -> None:
        super().__init__()
        self._server_url = server_url
        self._published: set[str] = set()

    def start_fixture(self) -> None:
        for name in (
            *("RP_UUID", "RP_UUID1", "RP_UUID2", "RP_NAME", "RP_NAME1", "RP_NAME2"),
            *("PARENT_PROVIDER_UUID", "ALT_PARENT_PROVIDER_UUID"),
            *("PROJECT_ID", "PROJECT_ID_ALT", "ADMIN_PROJECT_ID", "SERVICE_PROJECT_ID"),
            *("USER_ID", "USER_ID_ALT"),
            *("INSTANCE_UUID", "MIGRATION_UUID", "CONSUMER_UUID"),
        ):
            self.publish(name, new_uuid())
        for suffix in ("", "1", "2"):
            self.publish(f"CUSTOM_RES_CLASS{suffix}", f"CUSTOM_IRON_NFV{suffix}")
        with World(self._server_url) as world:
            self.build(world)

    def stop_fixture(self) -> None:
        for name in self._published:
            del os.environ[name]

    def build(self, world: World) -> None:
        """Create what the files expect: nothing here, more in the subclasses."""

    def publish(self, name: str, value: str) -> str:
        os.environ[name] = value
        self._published.add(name)
        return value


class AllocationFixture(APIFixture):
    """One provider: 1000 of DISK_GB and 6 of VCPU used by one user, some more by another."""

    def build(self, world: World) -> None:
        project, user = os.environ["PROJECT_ID"], os.environ["USER_ID"]
        other_user = self.publish("ALT_USER_ID", new_uuid())
        disk = {"total": 2048, "step_size": 10, "min_unit": 10, "max_unit": 1000}
        provider = world.provider(
            os.environ["RP_NAME"], {"DISK_GB": disk, "VCPU": 10}, uuid_=os.environ["RP_UUID"]
        )
        for name, resources, owner in (
            ("CONSUMER_0", {"DISK_GB": 1000}, user),
            ("CONSUMER_ID", {"VCPU": 6}, user),
            ("ALT_CONSUMER_ID", {"DISK_GB": 20, "VCPU": 1}, other_user),
        ):
            self.publish(name, world.allocate(provider, resources, project=project, user=owner))
        # For a second provider, which the files create themselves.
        self.publish("ALT_RP_UUID", new_uuid())
        self.publish("ALT_RP_NAME", new_uuid())


class SharedStorageFixture(APIFixture):
    """Two computes and two sharing disks in one aggregate; only cn2 has a disk of its own.

    Each compute has two NUMA nodes, with one physical function below each.
    """

    def build(self, world: World) -> None:
        aggregate = self.publish("AGG_UUID", new_uuid())
        disk = {"total": 2000, "reserved": 100}
        compute = {
            "VCPU": {"total": 24, "allocation_ratio": 16.0},
            "MEMORY_MB": {"total": 128 * 1024, "allocation_ratio": 1.5},
        }
        cn1 = world.provider(
            "cn1", compute, aggregates=[aggregate], traits=["HW_CPU_X86_SSE", "HW_CPU_X86_SSE2"]
        )
        cn2 = world.provider("cn2", {**compute, "DISK_GB": disk}, aggregates=[aggregate])
        self.publish("CN1_UUID", cn1)
        self.publish("CN2_UUID", cn2)
        for name in ("ss", "ss2"):
            shared = world.provider(
                name, {"DISK_GB": disk}, aggregates=[aggregate], traits=[SHARING]
            )
            self.publish(f"{name.upper()}_UUID", shared)
        for compute_number, parent in ((1, cn1), (2, cn2)):
            for node_number in (1, 2):
                place = f"{compute_number}_{node_number}"
                node = world.provider(f"numa{place}", parent=parent)
                function = world.provider(f"pf{place}", {"SRIOV_NET_VF": 8}, parent=node)
                self.publish(f"NUMA{place}_UUID", node)
                self.publish(f"PF{place}_UUID", function)


class NUMAAggregateFixture(APIFixture):
    """Two computes whose resources are in NUMA nodes, and sharing disks.

    The disk ss1 is shared with the roots of both trees, ss2 with one NUMA node of the first.
    """

    def build(self, world: World) -> None:
        a, b, c = (self.publish(f"AGG{letter}_UUID", new_uuid()) for letter in "ABC")
        computes = {
            1: world.provider("cn1", aggregates=[a]),
            2: world.provider("cn2", aggregates=[a, b]),
        }
        for number, compute in computes.items():
            self.publish(f"CN{number}_UUID", compute)
        for number, aggregate in ((1, a), (2, c)):
            shared = world.provider(
                f"ss{number}",
                {"DISK_GB": {"total": 2000, "reserved": 100}},
                aggregates=[aggregate],
                traits=[SHARING],
            )
            self.publish(f"SS{number}_UUID", shared)
        for place, aggregates in (("1_1", [c]), ("1_2", []), ("2_1", []), ("2_2", [])):
            node = world.provider(
                f"numa{place}",
                {"VCPU": {"total": 24, "allocation_ratio": 16.0}},
                parent=computes[int(place[0])],
                aggregates=aggregates,
            )
            self.publish(f"NUMA{place}_UUID", node)


class NUMANetworkFixture(APIFixture):
    """Two computes of different shape, and a disk that both share.

    cn1 has no resources itself: it has two NUMA nodes with accelerators below, and two network
    agents with devices below. cn2 has resources itself, and three network cards with functions
    below.
    """

    def build(self, world: World) -> None:
        aggregate = self.publish("AGGA_UUID", new_uuid())
        disk = world.provider("ss1", {"DISK_GB": 2000}, aggregates=[aggregate], traits=[SHARING])
        self.publish("SS1_UUID", disk)
        parent1, parent2 = self.parents(world)
        self._build_numa_compute(world, aggregate, parent1)
        self._build_plain_compute(world, aggregate, parent2)

    def parents(self, world: World) -> tuple[str | None, str | None]:
        """The providers above cn1 and above cn2."""
        return None, None

    def _build_numa_compute(self, world: World, aggregate: str, parent: str | None) -> None:
        cn1 = world.provider(
            "cn1", parent=parent, aggregates=[aggregate], traits=["COMPUTE_VOLUME_MULTI_ATTACH"]
        )
        self.publish("CN1_UUID", cn1)

        memory0 = {"total": 2048, "min_unit": 512, "step_size": 256}
        memory1 = {"total": 2048, "min_unit": 256, "max_unit": 1024}
        numa0 = world.provider(
            "numa0", {"VCPU": 4, "MEMORY_MB": memory0}, parent=cn1, traits=["HW_NUMA_ROOT"]
        )
        numa1 = world.provider(
            "numa1",
            {"VCPU": 4, "MEMORY_MB": memory1},
            parent=cn1,
            traits=["HW_NUMA_ROOT", "CUSTOM_FOO"],
        )
        self.publish("NUMA0_UUID", numa0)
        self.publish("NUMA1_UUID", numa1)
        world.allocate(numa0, {"VCPU": 2}, project="numafx-project", user="numafx-user")

        for name, inventory, node in (
            ("fpga0", {"FPGA": 1}, numa0),
            ("pgpu0", {"VGPU": 8}, numa0),
            ("fpga1_0", {"FPGA": 1}, numa1),
            ("fpga1_1", {"FPGA": 1}, numa1),
        ):
            device = world.provider(name, inventory, parent=node)
            self.publish(f"{name.upper()}_UUID", device)

        for agent_name, trait, devices in (
            ("sriov_agent", "CUSTOM_VNIC_TYPE_DIRECT", (("esn1", 1, 10000), ("esn2", 2, 20000))),
            ("ovs_agent", "CUSTOM_VNIC_TYPE_NORMAL", (("br_int", 0, 1000),)),
        ):
            agent = world.provider(agent_name, parent=cn1, traits=[trait])
            self.publish(f"{agent_name.upper()}_UUID", agent)
            for name, network, bandwidth in devices:
                device = world.provider(
                    name,
                    {"NET_BW_EGR_KILOBIT_PER_SEC": bandwidth},
                    parent=agent,
                    traits=[f"CUSTOM_PHYSNET{network}"],
                )
                self.publish(f"{name.upper()}_UUID", device)

    def _build_plain_compute(self, world: World, aggregate: str, parent: str | None) -> None:
        memory = {"total": 2048, "min_unit": 1024, "step_size": 128}
        cn2 = world.provider(
            "cn2",
            {"VCPU": 8, "MEMORY_MB": memory, "DISK_GB": 1000},
            parent=parent,
            aggregates=[aggregate],
            traits=["CUSTOM_FOO"],
        )
        self.publish("CN2_UUID", cn2)
        world.allocate(cn2, {"VCPU": 3}, project="numafx-project", user="numafx-user")

        cards = {}
        for number in (1, 2, 3):
            cards[number] = world.provider(
                f"nic{number}", parent=cn2, traits=["CUSTOM_HW_NIC_ROOT"]
            )
            self.publish(f"NIC{number}_UUID", cards[number])
        for number, functions, amount in ((1, 2, 4), (2, 4, 2), (3, 1, 8)):
            for position in range(1, functions + 1):
                # The functions of a card alternate between the two networks.
                network = 1 if position % 2 else 2
                function = world.provider(
                    f"pf{number}_{position}",
                    {"CUSTOM_VF": amount},
                    parent=cards[number],
                    traits=[f"CUSTOM_PHYSNET{network}"],
                )
                self.publish(f"PF{number}_{position}_UUID", function)


class DeepNUMANetworkFixture(NUMANetworkFixture):
    """The same computes in one tree: each below an empty parent, both below one grandparent."""

    def parents(self, world: World) -> tuple[str | None, str | None]:
        grandparent = world.provider("gp1")
        return (
            world.provider("p1", parent=grandparent),
            world.provider("p2", parent=grandparent),
        )


class NonSharedStorageFixture(APIFixture):
    """Three computes with local disks, and aggregates to which the file adds them."""

    def build(self, world: World) -> None:
        for letter in "ABC":
            self.publish(f"AGG{letter}_UUID", new_uuid())
        for number in (1, 2, 3):
            compute = world.provider(
                f"cn{number}", {"VCPU": 24, "MEMORY_MB": 128 * 1024, "DISK_GB": 2000}
            )
            self.publish(f"CN{number}_UUID", compute)


class GranularFixture(APIFixture):
    """Three flat computes, two sharing disks and one sharing network, in three aggregates."""

    def build(self, world: World) -> None:
        world.ensure_resource_class("CUSTOM_NET_MBPS")
        a, b, c = (self.publish(f"AGG{letter}", new_uuid()) for letter in "ABC")
        base = {"VCPU": 8, "MEMORY_MB": 4096}
        network = {"SRIOV_NET_VF": 8, "CUSTOM_NET_MBPS": 4000}
        for name, inventories, aggregates, traits in (
            (
                "cn_left",
                {**base, "DISK_GB": 500, "VGPU": 8, **network},
                [a],
                "HW_CPU_X86_AVX HW_CPU_X86_AVX2 HW_GPU_API_DXVA HW_NIC_DCB_PFC CUSTOM_FOO",
            ),
            (
                "cn_middle",
                {**base, **network},
                [a, b],
                "HW_CPU_X86_AVX HW_CPU_X86_AVX2 HW_CPU_X86_SSE HW_NIC_ACCEL_TLS",
            ),
            (
                "cn_right",
                {**base, "DISK_GB": 500, "VGPU": {"total": 8, "max_unit": 2}},
                [b, c],
                "HW_CPU_X86_MMX HW_GPU_API_DXVA CUSTOM_DISK_SSD",
            ),
            ("shr_disk_1", {"DISK_GB": 1000}, [a], f"{SHARING} CUSTOM_DISK_SSD"),
            ("shr_disk_2", {"DISK_GB": 1000}, [a, b], SHARING),
            ("shr_net", {"SRIOV_NET_VF": 16, "CUSTOM_NET_MBPS": 40000}, [c], SHARING),
        ):
            provider = world.provider(
                name, inventories, aggregates=aggregates, traits=traits.split()
            )
            self.publish(name.upper(), provider)


class NeutronQoSMultiSegmentFixture(APIFixture):
    """Four computes with bandwidth and packet rates on the segments of one network.

    compute0 is on another network, compute1 on segment 1, compute2 on segment 2, and compute3 on
    both, with less bandwidth.
    """

    VNIC_NORMAL = ("CUSTOM_VNIC_TYPE_NORMAL",)
    VNIC_DIRECT = (
        "CUSTOM_VNIC_TYPE_DIRECT",
        "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL",
        "CUSTOM_VNIC_TYPE_MACVTAP",
    )

    def build(self, world: World) -> None:
        for name, networks, bridge_bandwidth, card_bandwidth in (
            ("compute0", ["OTHER"], 5000, 10000),
            ("compute1", ["MSN_S1"], 5000, 10000),
            ("compute2", ["MSN_S2"], 5000, 10000),
            ("compute3", ["MSN_S1", "MSN_S2"], 1000, 1000),
        ):
            root = world.provider(name, {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 500})
            self.publish(name, root)
            self._build_bridges(world, name, root, networks, bridge_bandwidth)
            self._build_cards(world, name, root, networks, card_bandwidth)

    def _build_bridges(
        self, world: World, name: str, root: str, networks: list[str], bandwidth: int
    ) -> None:
        agent = world.provider(
            f"{name}:Open vSwitch agent",
            {"NET_PACKET_RATE_KILOPACKET_PER_SEC": 1000},
            parent=root,
            traits=self.VNIC_NORMAL,
        )
        self.publish(f"{name}:ovs_agent", agent)
        for number, network in enumerate(networks, start=1):
            suffix = "" if number == 1 else str(number)
            bridge = world.provider(
                f"{name}:Open vSwitch agent:br-ex{suffix}",
                both_directions(bandwidth),
                parent=agent,
                traits=[*self.VNIC_NORMAL, f"CUSTOM_PHYSNET_{network}"],
            )
            self.publish(f"{name}:br_ex{suffix}", bridge)

    def _build_cards(
        self, world: World, name: str, root: str, networks: list[str], bandwidth: int
    ) -> None:
        agent = world.provider(f"{name}:NIC Switch agent", parent=root, traits=self.VNIC_DIRECT)
        self.publish(f"{name}:sriov_agent", agent)
        for number, network in enumerate(networks):
            card = world.provider(
                f"{name}:NIC Switch agent:enp129s0f{number}",
                both_directions(bandwidth),
                parent=agent,
                traits=[*self.VNIC_DIRECT, f"CUSTOM_PHYSNET_{network}"],
            )
            self.publish(f"{name}:pf{number}", card)


def both_directions(bandwidth: int) -> dict[str, int]:
    return {"NET_BW_EGR_KILOBIT_PER_SEC": bandwidth, "NET_BW_IGR_KILOBIT_PER_SEC": bandwidth}


class CORSFixture(APIFixture):
    """On a server that allows requests from pages of another origin."""


class OpenPolicyFixture(APIFixture):
    """On a server whose policy file allows everything to everybody."""


class SecureRBACPolicyFixture(APIFixture):
    """On a server with the present policy defaults."""


class LegacyRBACPolicyFixture(APIFixture):
    """On a server with the former policy defaults."""


FIXTURES = (
    CORSFixture,
    OpenPolicyFixture,
    SecureRBACPolicyFixture,
    LegacyRBACPolicyFixture,
    APIFixture,
    AllocationFixture,
    SharedStorageFixture,
    NUMAAggregateFixture,
    NUMANetworkFixture,
    DeepNUMANetworkFixture,
    NonSharedStorageFixture,
    GranularFixture,
    NeutronQoSMultiSegmentFixture,
)


def for_server(server_url: str) -> SimpleNamespace:
    """What gabbi expects as a module of fixture classes, each bound to this server."""
    return SimpleNamespace(
        **{kind.__name__: functools.partial(kind, server_url) for kind in FIXTURES}
    )
