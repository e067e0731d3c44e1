"""Where the domains of a host are, as the libvirt driver knows it."""

from xml.etree import ElementTree

import pytest

from roost.agent.driver import DriverError
from roost.agent.drivers import load_driver
from roost.agent.provider_tree import ProviderTree
from tests.agent import libvirt_hosts
from tests.agent.libvirt_hosts import (
    EMULATOR_APART,
    FLOATING,
    GRAPHICS,
    MIXED,
    PINNED,
    TWO_CELLS,
    domains_of_test_driver,
    libvirt,
    pinned_domain,
)

ROOT = "3f5e0d4c-1c58-4b43-9f66-4f6f4c3dbd5e"
# As Nova is configured on the server: CPUs for the domains that are pinned, and for the others.
SETS = {
    "cpu_dedicated_set": "4-7,20-23,36-39,52-55,68-71,84-87,100-103,116-119",
    "cpu_shared_set": "8-15,24-31,40-47,56-63,104-111",
}
PAGES = "CUSTOM_MEMORY_PAGES_1048576KB"
NODE_0, NODE_1, NODE_2 = (f"host_numa{number}" for number in range(3))


@pytest.fixture
def epyc(monkeypatch):
    host = libvirt_hosts.DescribedHost()
    monkeypatch.setattr(libvirt, "openReadOnly", lambda uri: host)
    return host


def where(consumer, held=None, **options):
    """Where a domain is, as far as the driver knows if the consumer holds these amounts."""
    created = load_driver("libvirt", {"name": "host", **SETS, **options})
    if held is not None:
        tree = ProviderTree()
        tree.new_root("host", ROOT)
        record = {"allocations": {ROOT: {"resources": held}}}
        created.update_provider_tree(tree, "host", {consumer: record})
    return created.where("host", consumer)


def edit(host, domain, path, /, **attributes):
    """Change the elements of a domain at a path."""
    document = ElementTree.XML(host.domains[domain])
    for element in document.findall(path):
        element.attrib.update(attributes)
    host.domains[domain] = ElementTree.tostring(document, encoding="unicode")


def remove(host, uuid, parent, tag):
    document = ElementTree.XML(host.domains[uuid])
    for element in document.findall(f"{parent}/{tag}"):
        document.find(parent).remove(element)
    host.domains[uuid] = ElementTree.tostring(document, encoding="unicode")


def test_a_pinned_domain_is_on_its_node_and_its_functions_on_their_card(epyc):
    found = where(PINNED, {"PCPU": 4, "MEMORY_MB": 8192, "SRIOV_NET_VF": 2})
    assert found == {
        "PCPU": NODE_1,
        "MEMORY_MB": NODE_1,
        PAGES: NODE_1,
        "SRIOV_NET_VF": "host_0000:41:00.0",
    }


def test_a_guest_with_two_cells_has_amounts_on_both_nodes(epyc):
    found = where(TWO_CELLS, {"PCPU": 6, "MEMORY_MB": 12288, PAGES: 12})
    assert found == {
        "PCPU": {NODE_0: 4, NODE_1: 2},
        "MEMORY_MB": {NODE_0: 8192, NODE_1: 4096},
        PAGES: {NODE_0: 8, NODE_1: 4},
    }


def test_amounts_that_the_consumer_does_not_hold_are_not_said(epyc):
    """A domain that was resized while its allocations were not, or the other way round."""
    assert where(TWO_CELLS, {"PCPU": 8, "MEMORY_MB": 12000, PAGES: 12}) == {
        PAGES: {NODE_0: 8, NODE_1: 4}
    }
    assert "SRIOV_NET_VF" not in where(PINNED, {"SRIOV_NET_VF": 3})


def test_memory_that_was_added_later_is_not_guessed(epyc):
    document = ElementTree.XML(epyc.domains[TWO_CELLS])
    document.find("memory").text = str(13 * 2**20)
    epyc.domains[TWO_CELLS] = ElementTree.tostring(document, encoding="unicode")
    assert "MEMORY_MB" not in where(TWO_CELLS)


def test_a_domain_with_pinned_and_floating_processors(epyc):
    found = where(MIXED, {"PCPU": 2, "VCPU": 2, "MEMORY_MB": 4096})
    assert (found["PCPU"], found["VCPU"], found["MEMORY_MB"]) == (NODE_2, NODE_2, NODE_2)
    # Pinned on one node, floating on another.
    edit(epyc, MIXED, "cputune/vcpupin[@vcpu='2']", cpuset="8-15")
    edit(epyc, MIXED, "cputune/vcpupin[@vcpu='3']", cpuset="8-15")
    found = where(MIXED, {"PCPU": 2, "VCPU": 2, "MEMORY_MB": 4096})
    assert (found["PCPU"], found["VCPU"]) == (NODE_2, NODE_0)
    # Floating over two nodes.
    edit(epyc, MIXED, "cputune/vcpupin[@vcpu='3']", cpuset="8-15,24-31")
    found = where(MIXED, {"PCPU": 2, "VCPU": 2, "MEMORY_MB": 4096})
    assert found["PCPU"] == NODE_2
    assert "VCPU" not in found


def test_an_emulator_with_a_processor_of_its_own_holds_one(epyc):
    assert where(EMULATOR_APART, {"PCPU": 3})["PCPU"] == {NODE_0: 2, NODE_1: 1}
    # One that shares the processors of the domain holds none.
    edit(epyc, EMULATOR_APART, "cputune/emulatorpin", cpuset="6")
    assert where(EMULATOR_APART, {"PCPU": 2})["PCPU"] == {NODE_0: 1, NODE_1: 1}


def test_a_domain_of_which_one_processor_floats_is_not_where_the_others_are(epyc):
    remove(epyc, EMULATOR_APART, "cputune", "vcpupin[@vcpu='1']")
    assert "PCPU" not in where(EMULATOR_APART, {"PCPU": 3})


def test_a_domain_that_floats_over_nodes_is_left_to_the_agent(epyc):
    assert where(FLOATING) == {}


def test_processors_that_are_not_offered_are_not_divided_by_class(epyc):
    found = where(TWO_CELLS, cpu_dedicated_set="100-103")
    assert "PCPU" not in found
    assert "VCPU" not in found


@pytest.mark.parametrize("mode", ["preferred", "interleave"])
def test_memory_that_is_only_preferred_may_be_anywhere(epyc, mode):
    for path in ("numatune/memory", "numatune/memnode"):
        edit(epyc, PINNED, path, mode=mode)
    found = where(PINNED)
    assert "MEMORY_MB" not in found
    assert found["PCPU"] == NODE_1


def test_a_guest_without_cells_has_its_memory_where_it_is_bound(epyc):
    remove(epyc, PINNED, "cpu", "numa")
    remove(epyc, PINNED, "numatune", "memnode")
    assert where(PINNED)["MEMORY_MB"] == NODE_1


def test_devices_of_a_domain_are_found_by_whatever_names_them(epyc):
    """A mediated device, a whole card, and a virtual function by its network interface."""
    held = {"VGPU": 1, "PGPU": 1, "SRIOV_NET_VF": 1, "VCPU": 2}
    assert where(GRAPHICS, held) == {
        "VGPU": "host_0000:a1:00.0",
        "PGPU": "host_0000:e1:00.0",
        "SRIOV_NET_VF": "host_0000:41:00.0",
    }


def test_a_mediated_device_of_a_virtual_function_is_on_the_card(epyc):
    path = "devices/hostdev[@type='mdev']/source/address"
    edit(epyc, GRAPHICS, path, uuid="d7a90f4e-0a67-4f0d-b1a5-6f1c3a4be703")
    found = where(GRAPHICS, vgpu_types="nvidia-1055:4")
    assert found["VGPU"] == "host_0000:21:00.0"


def test_a_mediated_device_that_does_not_exist_is_anywhere(epyc):
    path = "devices/hostdev[@type='mdev']/source/address"
    edit(epyc, GRAPHICS, path, uuid="00000000-0a67-4f0d-b1a5-6f1c3a4be703")
    found = where(GRAPHICS)
    assert "VGPU" not in found
    assert found["PGPU"] == "host_0000:e1:00.0"


def test_functions_of_two_cards_are_counted(epyc):
    other = ElementTree.XML(
        next(each.XMLDesc() for each in epyc.devices if "pci_0000_41_00_1<" in each.XMLDesc())
    )
    functions = other.find("capability/capability[@type='virt_functions']")
    address = {"domain": "0x0000", "bus": "0x41", "slot": "0x02", "function": "0x0"}
    ElementTree.SubElement(functions, "address", address)
    function = next(each.XMLDesc() for each in epyc.devices if "_41_01_1<" in each.XMLDesc())
    function = function.replace("_41_01_1<", "_41_02_0<").replace("<slot>1<", "<slot>2<")
    function = function.replace("<function>1<", "<function>0<")
    function = function.replace('slot="0x00" function="0x0"', 'slot="0x00" function="0x1"')
    epyc.devices += [
        libvirt_hosts.Described(ElementTree.tostring(other, encoding="unicode")),
        libvirt_hosts.Described(function),
    ]
    edit(epyc, PINNED, "devices/interface[last()]/source/address", slot="0x02", function="0x0")
    assert where(PINNED, {"SRIOV_NET_VF": 2})["SRIOV_NET_VF"] == {
        "host_0000:41:00.0": 1,
        "host_0000:41:00.1": 1,
    }


def test_without_providers_for_nodes_only_devices_have_a_place(epyc):
    """Everything else can only be on the root."""
    assert where(PINNED, numa="never") == {"SRIOV_NET_VF": "host_0000:41:00.0"}


def test_a_class_that_gets_another_name_is_told_by_the_processors(epyc):
    """Some VCPU become PCPU: those of the domains that are pinned to dedicated processors."""
    held = {"VCPU": 4, "MEMORY_MB": 4096}
    renames = {"renamed_classes": "VCPU:PCPU"}
    assert where(PINNED, held, **renames)["PCPU"] == {NODE_1: 4}
    found = where(MIXED, held, **renames)
    assert (found["PCPU"], found["VCPU"]) == ({NODE_2: 2}, {NODE_2: 2})


@pytest.mark.parametrize("consumer", ["11111111-6c2f-4a57-8f13-5a1f5d3c0001", "not-a-uuid"])
def test_a_consumer_that_is_no_domain_is_not_known(capfd, consumer):
    found = load_driver("libvirt", {"uri": "test:///default"}).where("host", consumer)
    assert found == {}
    assert capfd.readouterr().err == ""


def test_a_domain_of_the_test_driver():
    driver = load_driver("libvirt", {"uri": "test:///default"})
    [domain] = libvirt.openReadOnly("test:///default").listAllDomains()
    assert driver.where("host", domain.UUIDString()) == {}
    uuid = "5b0f8ee1-2a0e-4d57-92a4-7d9b0a6bd2c4"
    with domains_of_test_driver(pinned_domain(uuid, 1, [10, 11], 1024)):
        found = driver.where("host", uuid)
    assert found == {"VCPU": NODE_1, "MEMORY_MB": NODE_1}


def test_a_domain_that_is_not_xml(epyc):
    epyc.domains[PINNED] = "<domain>"
    with pytest.raises(DriverError, match="libvirt's description of a domain is not XML"):
        where(PINNED)
