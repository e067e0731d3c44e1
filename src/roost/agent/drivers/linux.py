"""The driver for a Linux machine: what /sys and /proc say, as a tree of providers."""

from collections.abc import Mapping

from roost.agent.description import apply
from roost.agent.drivers.base import Allocations, Driver
from roost.agent.drivers.linux_files import Files
from roost.agent.drivers.linux_machine import read_machine
from roost.agent.drivers.linux_options import LinuxOptions, read_options
from roost.agent.drivers.linux_tree import DISK_GB, MEMORY_MB, OWNERSHIP, VCPU, describe
from roost.agent.provider_tree import ProviderTree


class LinuxDriver(Driver):
    """One machine, one root."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._options = read_options(options)
        self._files = Files(self._options.root)

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
        description = describe(machine, nodename, self._options, ratios)
        apply(provider_tree, description, OWNERSHIP, allocations)


def _ratios(provider_tree: ProviderTree, nodename: str, options: LinuxOptions) -> dict[str, float]:
    """What is configured, or else what the service has, the nearest to the root first."""
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
