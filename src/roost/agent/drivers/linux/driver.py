"""The driver for a Linux machine: it turns what /sys and /proc say into a tree of providers."""

import uuid as uuid_module
from collections.abc import Mapping

from roost.agent.desired_tree import apply
from roost.agent.driver import Allocations, Driver, DriverError, Whereabouts
from roost.agent.drivers.linux.cgroups import read_cpusets
from roost.agent.drivers.linux.machine import read_machine
from roost.agent.drivers.linux.options import MACHINE_ID, read_options
from roost.agent.drivers.linux.system_files import SystemFiles
from roost.agent.drivers.machines.machine import Machine
from roost.agent.drivers.machines.providers import (
    OWNERSHIP,
    allocation_ratios,
    check_renamed_classes,
    desired_root,
)
from roost.agent.drivers.machines.whereabouts import Cpuset, Holdings, find_whereabouts
from roost.agent.provider_tree import ProviderTree


class LinuxDriver(Driver):
    """Describes one machine, with one root."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._options = read_options(options)
        check_renamed_classes(self._options)
        self._files = SystemFiles(self._options.root)
        self._root_uuid = self._options.uuid
        if self._options.uuid == MACHINE_ID:
            self._root_uuid = _machine_uuid(self._files)
        self._machine: Machine | None = None  # as of the last update
        self._cpusets: dict[str, Cpuset] | None = None  # of consumers; read once per update
        self._holdings = Holdings({}, frozenset())

    def nodenames(self) -> list[str]:
        return [self._options.name] if self._options.name else super().nodenames()

    def root_uuid(self, nodename: str) -> str | None:
        """The UUID that the options give, so that the root is found under another host name."""
        return self._root_uuid

    def where(self, nodename: str, consumer: str) -> Whereabouts:
        """The NUMA nodes of a consumer, if its cgroups allow no others."""
        if self._machine is None:
            self._machine = read_machine(self._files, self._options)
        if self._cpusets is None:
            self._cpusets = read_cpusets(self._files)
        return find_whereabouts(
            self._machine,
            nodename,
            self._options,
            self._cpusets.get(consumer, Cpuset()),
            self._holdings.of(consumer),
        )

    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        self._machine = read_machine(self._files, self._options)
        self._cpusets = None
        before = provider_tree.get_provider_uuids(nodename)
        ratios = allocation_ratios(provider_tree, nodename, self._options)
        desired = desired_root(self._machine, nodename, self._options, ratios)
        apply(provider_tree, desired, OWNERSHIP, renamed_classes=self._options.renamed_classes)
        self._holdings = Holdings.collect(before, provider_tree, nodename, allocations)


def _machine_uuid(files: SystemFiles) -> str:
    try:
        machine_id = uuid_module.UUID(files.text("/etc/machine-id") or "")
    except ValueError:
        path = files.path("/etc/machine-id")
        raise DriverError(f"Option uuid: {path} has no machine ID.") from None
    # Derived, because the machine's own ID should not leave it: machine-id(5).
    return str(uuid_module.uuid5(machine_id, "resource provider"))
