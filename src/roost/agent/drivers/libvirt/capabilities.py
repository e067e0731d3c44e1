"""The processors, memory and NUMA cells of a host, as libvirt's capabilities describe them."""

from collections import Counter
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import os_traits  # type: ignore[import-untyped]

from roost.agent.drivers.libvirt.connection import Connection
from roost.agent.drivers.libvirt.xml_text import integer, kibibytes, parse
from roost.agent.drivers.machines.cpu_lists import parse_cpus
from roost.agent.drivers.machines.machine import NumaNode, Processors
from roost.agent.drivers.machines.processor_traits import (
    architecture_traits,
    arm_traits,
    x86_traits,
)

# Kinds of domains that run on the processor itself instead of being emulated.
_NATIVE = ("kvm", "xen")
# Architectures that os-traits spells otherwise.
_TRAIT_NAMES = {"armv6l": "ARMV6", "armv7l": "ARMV7"}
_KIB_PER_MIB = 1024


class HostCapabilities(NamedTuple):
    """What is known of a host."""

    uuid: str | None
    processors: Processors
    nodes: list[NumaNode]
    whole: NumaNode  # the host as if it were one node


def read_host_uuid(connection: Connection) -> str | None:
    return parse(connection.capabilities(), "the host").findtext("host/uuid")


def read_capabilities(connection: Connection) -> HostCapabilities:
    document = parse(connection.capabilities(), "the host")
    cells = [_node(cell) for cell in document.iterfind("host/topology/cells/cell")]
    # A host without cells does not say which CPUs are online, but how many.
    numbered = frozenset(range(connection.cpus_online()))
    online = frozenset[int]().union(*(cell.cpus for cell in cells)) or numbered
    nodes = [cell for cell in cells if cell.cpus or cell.memory_mb]
    pages: Counter[int] = Counter()
    for cell in cells:
        pages.update(cell.huge_pages)
    whole = NumaNode(
        number=nodes[0].number if nodes else 0,
        cpus=online,
        memory_mb=connection.memory_mb(),
        huge_pages=dict(pages),
    )
    return HostCapabilities(
        uuid=document.findtext("host/uuid"),
        processors=Processors(
            online=online,
            present=frozenset(range(connection.cpus_present())) | online,
            isolated=frozenset(),  # libvirt does not say
            traits=_traits(connection, document) | _smt_traits(document),
        ),
        nodes=nodes if len(nodes) > 1 else [whole],
        whole=whole,
    )


def _node(cell: Element) -> NumaNode:
    memory = cell.find("memory")
    sizes = {
        kibibytes(each.get("size"), each.get("unit")): integer(each.text) or 0
        for each in cell.iterfind("pages")
    }
    # The smallest size is that of ordinary pages.
    ordinary = min(sizes, default=0)
    return NumaNode(
        number=integer(cell.get("id")) or 0,
        # A CPU that is offline has no topology.
        cpus=frozenset(
            integer(each.get("id")) or 0
            for each in cell.iterfind("cpus/cpu")
            if each.get("siblings") is not None
        ),
        memory_mb=kibibytes(memory.text, memory.get("unit")) // _KIB_PER_MIB
        if memory is not None
        else 0,
        huge_pages={size: count for size, count in sizes.items() if count and size != ordinary},
    )


def _smt_traits(document: Element) -> frozenset[str]:
    for cpu in document.iterfind("host/topology/cells/cell/cpus/cpu"):
        if len(parse_cpus(cpu.get("siblings", ""), "siblings")) > 1:
            return frozenset({os_traits.HW_CPU_HYPERTHREADING})
    return frozenset()


def _traits(connection: Connection, document: Element) -> frozenset[str]:
    cpu = document.find("host/cpu")
    if cpu is None:
        return frozenset()
    name = cpu.findtext("arch") or ""
    is_native = any(
        arch.get("name") == name
        and any(domain.get("type") in _NATIVE for domain in arch.iterfind("domain"))
        for arch in document.iterfind("guest/arch")
    )
    architecture = architecture_traits(_TRAIT_NAMES.get(name, name.upper()), runs=is_native)
    match name:
        case "x86_64" | "i686":
            vendor = cpu.findtext("vendor") or ""
            return architecture | x86_traits(_features(connection, cpu), vendor)
        case "aarch64":
            return architecture | arm_traits(_features(connection, cpu))
        case _:
            return architecture


def _features(connection: Connection, cpu: Element) -> set[str]:
    """The features of the processor: those of its model, and those that it has besides."""
    found = {each.get("name", "") for each in cpu.iterfind("feature")}
    # The model alone, because libvirt refuses the whole description if it does not know a feature.
    model = Element("cpu")
    model.extend(each for each in cpu if each.tag in ("arch", "model"))
    if len(model):
        expanded = connection.expand_cpu(ElementTree.tostring(model, encoding="unicode"))
        implied = [] if expanded is None else parse(expanded, "the CPU").iterfind("feature")
        found |= {each.get("name", "") for each in implied if each.get("policy") == "require"}
    return found
