"""Which resources of its host a domain uses, as its description says."""

from typing import NamedTuple
from xml.etree.ElementTree import Element

from roost.agent.drivers.libvirt.xml_text import integer, kibibytes, parse, pci_address
from roost.agent.drivers.machines.cpu_lists import parse_cpus

# With the other modes the kernel may take memory of any node.
_BINDING_MODES = ("strict", "restrictive")

# The CPUs, or NUMA nodes, of the host that something may use. None: the domain does not say.
Places = frozenset[int] | None


class GuestCell(NamedTuple):
    """A NUMA cell of a guest, or all the memory of a guest that has none."""

    memory_kib: int
    nodes: Places
    page_kib: int | None  # the size of the huge pages it consists of; None: not known, or ordinary


class Domain(NamedTuple):
    """A domain, and what of the host it is bound to."""

    vcpus: list[Places]  # one for each virtual CPU
    emulator: Places
    memory_kib: int
    cells: list[GuestCell]
    pci_addresses: list[str]
    interfaces: list[str]  # network interfaces of the host that it has for itself
    mediated_devices: list[str]  # UUIDs


def read_domain(xml: str) -> Domain:
    document = parse(xml, "a domain")
    memory = document.find("memory")
    return Domain(
        vcpus=_vcpus(document),
        emulator=_places(document.find("cputune/emulatorpin"), "cpuset"),
        memory_kib=0 if memory is None else kibibytes(memory.text, memory.get("unit")),
        cells=_cells(document),
        pci_addresses=[
            pci_address(address)
            for address in (
                *document.iterfind("devices/hostdev[@type='pci']/source/address"),
                *document.iterfind("devices/interface[@type='hostdev']/source/address"),
            )
        ],
        interfaces=[
            source.get("dev", "")
            for source in document.iterfind("devices/interface[@type='direct']/source")
            if source.get("mode") == "passthrough"
        ],
        mediated_devices=[
            address.get("uuid", "").lower()
            for address in document.iterfind("devices/hostdev[@type='mdev']/source/address")
        ],
    )


def _vcpus(document: Element) -> list[Places]:
    vcpu = document.find("vcpu")
    count = 0 if vcpu is None else integer(vcpu.text) or 0
    pins = {
        integer(each.get("vcpu")): _places(each, "cpuset")
        for each in document.iterfind("cputune/vcpupin")
    }
    everywhere = _places(vcpu, "cpuset")
    return [pins.get(number, everywhere) for number in range(count)]


def _cells(document: Element) -> list[GuestCell]:
    common = document.find("numatune/memory")
    nodes = {
        integer(each.get("cellid")): _bound_nodes(each)
        for each in document.iterfind("numatune/memnode")
    }
    found = [
        GuestCell(
            memory_kib=kibibytes(cell.get("memory"), cell.get("unit")),
            nodes=nodes.get(integer(cell.get("id")), _bound_nodes(common)),
            page_kib=_page_kib(document, integer(cell.get("id"))),
        )
        for cell in document.iterfind("cpu/numa/cell")
    ]
    if found:
        return found
    memory = document.find("memory")
    total = 0 if memory is None else kibibytes(memory.text, memory.get("unit"))
    return [GuestCell(total, _bound_nodes(common), _page_kib(document, 0))]


def _bound_nodes(element: Element | None) -> Places:
    if element is None or element.get("mode", "strict") not in _BINDING_MODES:
        return None
    return _places(element, "nodeset")


def _page_kib(document: Element, cell: int | None) -> int | None:
    for page in document.iterfind("memoryBacking/hugepages/page"):
        cells = _places(page, "nodeset")
        if cells is None or cell in cells:
            return kibibytes(page.get("size"), page.get("unit"))
    return None


def _places(element: Element | None, attribute: str) -> Places:
    text = None if element is None else element.get(attribute)
    return parse_cpus(text, f"{attribute} of a domain") if text else None
