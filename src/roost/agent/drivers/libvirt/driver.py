"""The driver for a host that libvirt manages: its resources, and where its domains are."""

import uuid as uuid_module
from collections.abc import Mapping
from typing import NamedTuple

import os_traits  # type: ignore[import-untyped]

from roost.agent.desired_tree import Ownership, apply
from roost.agent.driver import Allocations, Driver, DriverError, Whereabouts
from roost.agent.drivers.libvirt.capabilities import read_capabilities, read_host_uuid
from roost.agent.drivers.libvirt.connection import Connection
from roost.agent.drivers.libvirt.domains import read_domain
from roost.agent.drivers.libvirt.node_devices import NodeDevices, read_node_devices
from roost.agent.drivers.libvirt.options import HOST_UUID, LibvirtOptions, read_options
from roost.agent.drivers.libvirt.whereabouts import find_providers
from roost.agent.drivers.machines import providers
from roost.agent.drivers.machines.devices import offer
from roost.agent.drivers.machines.machine import Machine, choose_cpus
from roost.agent.drivers.machines.providers import (
    allocation_ratios,
    check_renamed_classes,
    desired_root,
)
from roost.agent.drivers.machines.whereabouts import Holdings
from roost.agent.provider_tree import ProviderTree

_BYTES_PER_GIB = 2**30

# Traits of machines of which libvirt says nothing. Whoever set them knows better.
_UNKNOWN_TRAITS = (os_traits.HW_NIC_MULTIQUEUE, "HW_CPU_X86_AMD_SEV", "HW_CPU_X86_INTEL_TDX")
OWNERSHIP = Ownership(
    resource_class=providers.OWNERSHIP.resource_class,
    trait=lambda name: not name.startswith(_UNKNOWN_TRAITS) and providers.OWNERSHIP.trait(name),
    removes_unknown=False,
)


class Host(NamedTuple):
    """A host as it was at the last update."""

    machine: Machine
    devices: NodeDevices


class LibvirtDriver(Driver):
    """Describes one host, with one root. The domains are consumers of the same UUID."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._options = read_options(options)
        check_renamed_classes(self._options)
        self._connection = Connection(self._options.uri)
        self._name = self._options.name
        self._host: Host | None = None
        self._holdings = Holdings({}, frozenset())

    def nodenames(self) -> list[str]:
        if self._name is None:
            # Kept, because a host that is renamed while the agent runs is still the same root.
            self._name = self._connection.hostname()
        return [self._name]

    def root_uuid(self, nodename: str) -> str | None:
        if self._options.uuid != HOST_UUID:
            return self._options.uuid
        found = read_host_uuid(self._connection)
        if found is None:
            raise DriverError(
                f"Option uuid: libvirt at {self._options.uri} gives the host no UUID."
            )
        return found

    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        self._host = _read_host(self._connection, self._options)
        before = provider_tree.get_provider_uuids(nodename)
        ratios = allocation_ratios(provider_tree, nodename, self._options)
        desired = desired_root(self._host.machine, nodename, self._options, ratios)
        apply(provider_tree, desired, OWNERSHIP, renamed_classes=self._options.renamed_classes)
        self._holdings = Holdings.collect(before, provider_tree, nodename, allocations)

    def where(self, nodename: str, consumer: str) -> Whereabouts:
        """Where a domain is: by what its CPUs and memory are bound to, and by its devices."""
        xml = self._connection.domain(consumer) if _is_uuid(consumer) else None
        if xml is None:
            return {}
        if self._host is None:
            self._host = _read_host(self._connection, self._options)
        return find_providers(
            read_domain(xml),
            self._host.machine,
            self._host.devices,
            nodename,
            self._options,
            self._holdings.of(consumer),
        )


def _read_host(connection: Connection, options: LibvirtOptions) -> Host:
    found = read_capabilities(connection)
    dedicated, shared = choose_cpus(found.processors, options)
    devices = read_node_devices(connection.devices())
    offers = (
        offer(card, options.vgpu_types)
        for card in devices.cards
        if card.address not in options.excluded_devices
    )
    machine = Machine(
        dedicated=dedicated,
        shared=shared,
        traits=found.processors.traits,
        nodes=found.nodes,
        whole=found.whole,
        devices=[each for each in offers if each is not None],
        disk_gb=connection.pool_bytes(options.pool) // _BYTES_PER_GIB,
    )
    return Host(machine, devices)


def _is_uuid(text: str) -> bool:
    try:
        uuid_module.UUID(text)
    except ValueError:
        return False
    return True
