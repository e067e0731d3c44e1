"""Hosts of libvirt: its own test driver, and one that is described in files.

The files describe a server with two EPYC processors in four NUMA nodes, a network card with virtual
functions, graphics cards with mediated devices, and domains as Nova defines them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.support.database_servers import missing

try:
    import libvirt
except ImportError:
    missing("libvirt-python", "libvirt-dev pkg-config, then run scripts/test again")

FOLDER = Path(__file__).parent

# Tests replace the function by one that opens a described host.
_open_test_driver = libvirt.openReadOnly

# UUIDs of the domains of the server.
PINNED = "0a6f3d51-6c2f-4a57-8f13-5a1f5d3c0001"
TWO_CELLS = "0a6f3d51-6c2f-4a57-8f13-5a1f5d3c0002"
MIXED = "0a6f3d51-6c2f-4a57-8f13-5a1f5d3c0003"
FLOATING = "0a6f3d51-6c2f-4a57-8f13-5a1f5d3c0004"
GRAPHICS = "0a6f3d51-6c2f-4a57-8f13-5a1f5d3c0005"
EMULATOR_APART = "0a6f3d51-6c2f-4a57-8f13-5a1f5d3c0006"


def read(name: str) -> str:
    return (FOLDER / f"{name}.xml").read_text()


def parts(name: str) -> list[str]:
    """The elements of a file, each as a document."""
    return [ElementTree.tostring(each, encoding="unicode") for each in ElementTree.XML(read(name))]


class Described:
    """A device or a domain."""

    def __init__(self, xml: str, is_active: bool = True) -> None:
        self._xml = xml
        self._is_active = is_active

    def XMLDesc(self, flags: int = 0) -> str:
        return self._xml

    def isActive(self) -> int:
        return int(self._is_active)


class DescribedHost:
    """A connection to the server in the files. What a CPU implies, libvirt itself is asked."""

    def __init__(self) -> None:
        self.capabilities = read("epyc_capabilities")
        self.devices = [Described(each) for each in parts("epyc_devices")]
        self.domains = {
            ElementTree.XML(each).findtext("uuid"): each for each in parts("epyc_domains")
        }
        self._libvirt = _open_test_driver("test:///default")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._libvirt, name)

    def getHostname(self) -> str:
        return "host"

    def getCapabilities(self) -> str:
        return self.capabilities

    def getInfo(self) -> list[Any]:
        return ["x86_64", 515793, 128, 2350, 4, 1, 16, 2]

    def getCPUMap(self) -> tuple[int, list[bool], int]:
        return 128, [True] * 128, 128

    def listAllDevices(self, flags: int) -> list[Described]:
        return self.devices

    def lookupByUUIDString(self, uuid: str) -> Any:
        return Described(self.domains[uuid]) if uuid in self.domains else self._missing(uuid)

    def _missing(self, uuid: str) -> Any:
        return self._libvirt.lookupByUUIDString(uuid)


@contextmanager
def domains_of_test_driver(*domains: str) -> Iterator[Any]:
    """Start domains in test:///default, which all connections of a process share."""
    connection = libvirt.open("test:///default")
    started = [connection.createXML(xml, 0) for xml in domains]
    try:
        yield connection
    finally:
        for domain in started:
            domain.destroy()
        connection.close()


def pinned_domain(uuid: str, node: int, cpus: list[int], memory_mb: int) -> str:
    """A domain that is bound to one NUMA node of test:///default."""
    pins = "".join(f"<vcpupin vcpu='{number}' cpuset='{cpu}'/>" for number, cpu in enumerate(cpus))
    return f"""
    <domain type='test'>
      <name>{uuid}</name>
      <uuid>{uuid}</uuid>
      <memory unit='MiB'>{memory_mb}</memory>
      <vcpu>{len(cpus)}</vcpu>
      <cputune>{pins}</cputune>
      <numatune><memory mode='strict' nodeset='{node}'/></numatune>
      <os><type>hvm</type></os>
    </domain>
    """
