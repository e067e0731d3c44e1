"""On which providers the resources of a domain are.

Only what is certain is said. A domain that floats over several NUMA nodes, or whose devices are not
all known, is left to the agent for the classes concerned.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import os_resource_classes  # type: ignore[import-untyped]

from roost.agent.driver import Whereabouts
from roost.agent.drivers.libvirt.domains import Domain, Places
from roost.agent.drivers.libvirt.node_devices import NodeDevices
from roost.agent.drivers.machines.machine import Machine
from roost.agent.drivers.machines.options import MachineOptions
from roost.agent.drivers.machines.providers import (
    MEMORY_MB,
    device_name,
    has_numa_providers,
    node_name,
    pages_class,
)
from roost.agent.drivers.machines.whereabouts import Cpuset, find_whereabouts

_KIB_PER_MIB = 1024

# Resource class -> provider -> amount.
Amounts = dict[str, Counter[str]]


def find_providers(
    domain: Domain,
    machine: Machine,
    devices: NodeDevices,
    nodename: str,
    options: MachineOptions,
    held: Mapping[str, int],
) -> Whereabouts:
    """Resource class -> provider, or how much is on which provider.

    `held` is what the consumer holds in all. Of a class of which the domain shows another amount,
    nothing is said, unless all of it can only be on one NUMA node.
    """
    cpuset = _cpuset(domain, machine)
    found = dict(find_whereabouts(machine, nodename, options, cpuset, held))
    amounts = _devices(domain, machine, devices, nodename)
    if has_numa_providers(machine, options) and len(cpuset.memory_nodes) > 1:
        amounts |= _memory(domain, nodename)
    for name, places in amounts.items():
        if places and held.get(name, places.total()) == places.total():
            found[name] = next(iter(places)) if len(places) == 1 else dict(places)
    return found


def _cpuset(domain: Domain, machine: Machine) -> Cpuset:
    """The CPUs and NUMA nodes that a domain is bound to; none if a part of it is not bound."""
    virtual = _bound(domain.vcpus)
    emulator = domain.emulator
    if virtual and emulator and emulator <= machine.dedicated.difference(*virtual):
        # Dedicated processors that no virtual CPU uses are the emulator's own.
        virtual += [frozenset({cpu}) for cpu in emulator]
    return Cpuset(
        cpus=frozenset[int]().union(*virtual),
        memory_nodes=frozenset[int]().union(*_bound([cell.nodes for cell in domain.cells])),
        virtual=tuple(virtual),
    )


def _bound(places: list[Places]) -> list[frozenset[int]]:
    """The places of all parts, or of none if one of them may be anywhere."""
    found = [each for each in places if each]
    return found if len(found) == len(places) else []


def _memory(domain: Domain, nodename: str) -> Amounts:
    """How much memory of which nodes the cells of the guest have."""
    if sum(cell.memory_kib for cell in domain.cells) != domain.memory_kib:
        return {}  # memory was added to the domain, and no cell says where
    found: Amounts = {MEMORY_MB: Counter()}
    for cell in domain.cells:
        if cell.nodes is None or len(cell.nodes) != 1:
            return {}
        [node] = cell.nodes
        name = node_name(nodename, node)
        found[MEMORY_MB][name] += cell.memory_kib // _KIB_PER_MIB
        if cell.page_kib:
            pages = found.setdefault(pages_class(cell.page_kib), Counter())
            pages[name] += cell.memory_kib // cell.page_kib
    return found


def _devices(domain: Domain, machine: Machine, devices: NodeDevices, nodename: str) -> Amounts:
    """The cards whose virtual functions, mediated devices or selves the domain has."""
    classes = {device.address: device.resource_class for device in machine.devices}
    found: Amounts = {}
    for address in _addresses(domain, devices):
        if address is None:
            # A mediated device that is not there at the moment, of whichever card.
            found[os_resource_classes.VGPU] = Counter()
            break
        card = devices.card(address)
        if card in classes:
            places = found.setdefault(classes[card], Counter())
            places[device_name(nodename, card)] += 1
    return found


def _addresses(domain: Domain, devices: NodeDevices) -> Iterable[str | None]:
    yield from domain.pci_addresses
    for name in domain.interfaces:
        if name in devices.address_of_interface:
            yield devices.address_of_interface[name]
    # Last, so that what is not known of them hides nothing else.
    for uuid in domain.mediated_devices:
        yield devices.address_of_mediated.get(uuid)
