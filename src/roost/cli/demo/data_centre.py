"""The data centre of the demo: its racks, and the hosts in each."""

from typing import NamedTuple

from roost.cli.demo import hosts
from roost.cli.demo.hosts import DemoProvider, demo_uuid


class Rack(NamedTuple):
    """A rack, which is an aggregate."""

    name: str
    about: str  # what is in it, for people

    @property
    def aggregate(self) -> str:
        return demo_uuid("rack", self.name)


RACKS = (
    Rack("r1", "compute hosts, nearly full"),
    Rack("r2", "NUMA nodes with SR-IOV NICs"),
    Rack("r3", "GPUs and bare metal"),
    Rack("r4", "diskless hosts that share storage, nearly empty"),
)

# Its servers are being moved away.
DISABLED_HOST = "r1-compute-07"
# More memory is used than it has left since a part of it was taken out.
OVERUSED_HOST = "r1-compute-09"
STORAGE = "r4-storage"


def _names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{number:02}" for number in range(1, count + 1)]


COMPUTE_HOSTS = _names("r1-compute", 12)
NUMA_HOSTS = _names("r2-numa", 8)
NETWORK_FUNCTION_HOSTS = _names("r2-nfv", 2)
A100_HOSTS = _names("r3-gpu", 4)
H100_HOSTS = _names("r3-hgx", 2)
VIRTUAL_GPU_HOST = "r3-vgpu-01"
BARE_METAL_HOSTS = _names("r3-metal", 6)
BARE_METAL_IN_MAINTENANCE = "r3-metal-05"
DISKLESS_HOSTS = _names("r4-compute", 8)


def _all_providers() -> list[DemoProvider]:
    found: list[DemoProvider] = []
    for name in COMPUTE_HOSTS:
        lost = 65536 if name == OVERUSED_HOST else 0
        found.append(hosts.plain("r1", name, disabled=name == DISABLED_HOST, lost_memory=lost))
    for name in NUMA_HOSTS:
        found += hosts.numa("r2", name)
    for name in NETWORK_FUNCTION_HOSTS:
        found += hosts.network_functions("r2", name)
    for name in A100_HOSTS:
        found += hosts.a100("r3", name)
    for name in H100_HOSTS:
        found += hosts.h100("r3", name)
    found += hosts.virtual_gpus("r3", VIRTUAL_GPU_HOST)
    for name in BARE_METAL_HOSTS:
        in_maintenance = name == BARE_METAL_IN_MAINTENANCE
        found.append(hosts.bare_metal("r3", name, in_maintenance=in_maintenance))
    found.append(hosts.storage("r4", STORAGE))
    found += [hosts.diskless("r4", name) for name in DISKLESS_HOSTS]
    return found


# Parents come before their children.
#
# The first provider is created before everything else and deleted after everything else. So the
# demo has left something behind exactly if that provider exists. It needs no custom names.
PROVIDERS = _all_providers()
BY_UUID = {each.uuid: each for each in PROVIDERS}
BY_NAME = {each.name: each for each in PROVIDERS}
FIRST = PROVIDERS[0]

# What has to be in the catalogue.
CUSTOM_TRAITS = sorted(
    {trait for each in PROVIDERS for trait in each.traits if trait.startswith("CUSTOM_")}
)
CUSTOM_CLASSES = sorted(
    {name for each in PROVIDERS for name in each.inventories if name.startswith("CUSTOM_")}
)
