"""The PCI devices and mediated devices of a host, as libvirt's node devices describe them."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree.ElementTree import Element

from roost.agent.drivers.libvirt.connection import DeviceXml
from roost.agent.drivers.libvirt.xml_text import integer, parse, pci_address
from roost.agent.drivers.machines.devices import Instances, MediatedTypes, PciDevice

_VGA_CONTROLLER = 0x0300
_UUID = re.compile(r"[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}")


class NodeDevices(NamedTuple):
    """The devices of a host, and how those that domains use belong to them."""

    cards: list[PciDevice]  # without virtual functions, which belong to their cards
    card_of_function: dict[str, str]  # address of a virtual function -> that of its card
    address_of_interface: dict[str, str]  # name of a network interface -> PCI address
    address_of_mediated: dict[str, str]  # UUID of a mediated device -> PCI address of its parent

    def card(self, address: str) -> str:
        """The card that a device is, or is a virtual function of."""
        return self.card_of_function.get(address, address)


class _Pci(NamedTuple):
    capability: Element
    address: str


def read_node_devices(devices: Iterable[DeviceXml]) -> NodeDevices:
    functions: dict[str, _Pci] = {}  # by the name of the device
    interfaces: dict[str, str] = {}  # name of the interface -> name of the device
    mediated: dict[str, str] = {}
    used: Counter[tuple[str, str]] = Counter()  # (name of the device, type of mediated device)
    for device in devices:
        document = parse(device.xml, "a device")
        name, parent = document.findtext("name") or "", document.findtext("parent") or ""
        for capability in document.iterfind("capability"):
            match capability.get("type"):
                case "pci":
                    functions[name] = _Pci(capability, _own_address(capability))
                case "net":
                    interfaces[capability.findtext("interface") or ""] = parent
                case "mdev":
                    mediated[_mediated_uuid(name, capability)] = parent
                    if device.is_active:
                        used[parent, _type_id(capability)] += 1
    types = {pci.address: _types(name, pci.capability, used) for name, pci in functions.items()}
    cards = {pci.address: _parent_card(pci) for pci in functions.values()}
    addresses = {name: pci.address for name, pci in functions.items()}
    return NodeDevices(
        cards=sorted(
            (_device(pci, types) for pci in functions.values() if cards[pci.address] is None),
            key=lambda each: each.address,
        ),
        card_of_function={name: card for name, card in cards.items() if card is not None},
        address_of_interface=_follow(interfaces, addresses),
        address_of_mediated=_follow(mediated, addresses),
    )


def _follow(parents: dict[str, str], addresses: dict[str, str]) -> dict[str, str]:
    return {name: addresses[parent] for name, parent in parents.items() if parent in addresses}


def _own_address(capability: Element) -> str:
    domain, bus, slot, function = (
        integer(capability.findtext(name)) or 0 for name in ("domain", "bus", "slot", "function")
    )
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"


def _mediated_uuid(name: str, capability: Element) -> str:
    # Older versions of libvirt have the UUID in the name alone.
    found = _UUID.search(capability.findtext("uuid") or name)
    return found[0].replace("_", "-") if found else name


def _type_id(capability: Element) -> str:
    found = capability.find("type")
    return "" if found is None else found.get("id", "")


def _parent_card(pci: _Pci) -> str | None:
    found = pci.capability.find("capability[@type='phys_function']/address")
    return None if found is None else pci_address(found)


def _types(name: str, capability: Element, used: Counter[tuple[str, str]]) -> MediatedTypes:
    return {
        each.get("id", ""): Instances(
            available=integer(each.findtext("availableInstances")) or 0,
            used=used[name, each.get("id", "")],
        )
        for each in capability.iterfind("capability[@type='mdev_types']/type")
    }


def _device(pci: _Pci, types: dict[str, MediatedTypes]) -> PciDevice:
    code = integer(pci.capability.findtext("class")) or 0
    numa = pci.capability.find("numa")
    functions = pci.capability.iterfind("capability[@type='virt_functions']/address")
    return PciDevice(
        address=pci.address,
        code=code,
        vendor=_identifier(pci.capability.find("vendor")),
        product=_identifier(pci.capability.find("product")),
        numa_node=None if numa is None else integer(numa.get("node")),
        # libvirt does not say which card shows the console. Integrated graphics are on bus 0.
        is_console=code >> 8 == _VGA_CONTROLLER and pci.address.startswith("0000:00:"),
        mediated_types=types[pci.address],
        functions=tuple(types.get(pci_address(each), {}) for each in functions),
    )


def _identifier(element: Element | None) -> int:
    return 0 if element is None else integer(element.get("id")) or 0
