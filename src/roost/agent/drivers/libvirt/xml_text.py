"""Reading the XML of libvirt."""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from roost.agent.driver import DriverError

_KIB = {"b": 1 / 1024, "bytes": 1 / 1024, "KiB": 1, "k": 1, "MiB": 2**10, "GiB": 2**20}


def parse(xml: str, what: str) -> Element:
    """The root element of a document; `what` it describes is for the error message."""
    try:
        return ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise DriverError(f"libvirt's description of {what} is not XML: {error}") from error


def integer(text: str | None) -> int | None:
    """A number, in decimal or as 0x..."""
    try:
        return int(text.strip(), 0) if text else None
    except ValueError:
        return None


def kibibytes(text: str | None, unit: str | None) -> int:
    """An amount of memory in KiB, which is also the unit if none is given."""
    return int((integer(text) or 0) * _KIB.get(unit or "KiB", 1))


def pci_address(element: Element) -> str:
    """<address domain='0x0000' bus='0x3b' slot='0x00' function='0x0'/> as 0000:3b:00.0."""
    domain, bus, slot, function = (
        integer(element.get(name)) or 0 for name in ("domain", "bus", "slot", "function")
    )
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"
