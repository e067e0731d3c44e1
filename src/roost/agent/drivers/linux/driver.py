"""The driver for a Linux machine: it turns what /sys and /proc say into a tree of providers."""

from collections.abc import Mapping

from roost.agent.desired_tree import apply
from roost.agent.driver import Allocations, Driver
from roost.agent.drivers.linux.machine import read_machine
from roost.agent.drivers.linux.options import LinuxOptions, read_options
from roost.agent.drivers.linux.providers import DISK_GB, MEMORY_MB, OWNERSHIP, VCPU, desired_root
from roost.agent.drivers.linux.system_files import SystemFiles
from roost.agent.provider_tree import ProviderTree


class LinuxDriver(Driver):
    """Describes one machine, with one root."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._options = read_options(options)
        self._files = SystemFiles(self._options.root)

    def nodenames(self) -> list[str]:
        return [self._options.name] if self._options.name else super().nodenames()

    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        machine = read_machine(self._files, self._options)
        ratios = _ratios(provider_tree, nodename, self._options)
        desired = desired_root(machine, nodename, self._options, ratios)
        apply(provider_tree, desired, OWNERSHIP, allocations)


def _ratios(provider_tree: ProviderTree, nodename: str, options: LinuxOptions) -> dict[str, float]:
    """Resource class -> allocation ratio: the configured one, or else that of the service.

    If providers of the tree differ, the one nearest to the root counts.
    """
    ratios: dict[str, float] = {
        name: fields["allocation_ratio"]
        for uuid in reversed(provider_tree.get_provider_uuids(nodename))
        for name, fields in provider_tree.data(uuid).inventory.items()
    }
    configured = {
        VCPU: options.vcpu_ratio,
        MEMORY_MB: options.memory_ratio,
        DISK_GB: options.disk_ratio,
    }
    return ratios | {name: ratio for name, ratio in configured.items() if ratio is not None}
