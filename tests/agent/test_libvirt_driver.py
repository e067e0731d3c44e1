"""The providers that the libvirt driver reports for several hosts."""

import builtins
import sys
from xml.etree import ElementTree

import pytest

from roost.agent.driver import DriverError
from roost.agent.drivers import load_driver
from roost.agent.provider_tree import ProviderTree
from tests.agent import libvirt_hosts, machines
from tests.agent.hosts import totals
from tests.agent.libvirt_hosts import libvirt

ROOT = "3f5e0d4c-1c58-4b43-9f66-4f6f4c3dbd5e"


@pytest.fixture
def epyc(monkeypatch):
    """The server in the files, at every URI."""
    host = libvirt_hosts.DescribedHost()
    monkeypatch.setattr(libvirt, "openReadOnly", lambda uri: host)
    return host


@pytest.fixture
def node_file(tmp_path):
    """A file for libvirt's test driver with the devices and domains of the server."""
    document = ElementTree.Element("node")
    for xml in libvirt_hosts.parts("epyc_devices") + libvirt_hosts.parts("epyc_domains"):
        element = ElementTree.XML(xml)
        if element.tag == "domain":
            element.set("type", "test")
        document.append(element)
    path = tmp_path / "node.xml"
    ElementTree.ElementTree(document).write(path)
    return path


def new_tree(nodename="host"):
    tree = ProviderTree()
    tree.new_root(nodename, ROOT)
    return tree


def tree_of(tree=None, **options):
    driver = load_driver("libvirt", {"name": "host", **options})
    tree = tree or new_tree()
    driver.update_provider_tree(tree, "host")
    return tree


# -- libvirt's own test driver


def test_the_test_driver_has_two_numa_nodes():
    tree = tree_of(uri="test:///default")
    assert totals(tree) == {
        "host": {},
        "host_numa0": {"VCPU": 8, "MEMORY_MB": 2048},
        "host_numa1": {"VCPU": 8, "MEMORY_MB": 4096},
    }
    assert tree.data("host").traits == {"COMPUTE_NODE", "HW_ARCH_I686"}
    assert tree.data("host_numa1").traits == {"HW_NUMA_ROOT"}


def test_options_shape_the_providers():
    options = {
        "uri": "test:///default",
        "pool": "default-pool",
        "reserved_disk_gb": "10",
        "reserved_memory_mb": "600",
        "cpu_dedicated_set": "6-9",
        "vcpu_ratio": "4",
    }
    tree = tree_of(**options)
    assert totals(tree) == {
        "host": {"DISK_GB": 100},
        "host_numa0": {"VCPU": 6, "PCPU": 2, "MEMORY_MB": 2048},
        "host_numa1": {"VCPU": 6, "PCPU": 2, "MEMORY_MB": 4096},
    }
    assert tree.data("host").inventory["DISK_GB"]["reserved"] == 10
    nodes = [tree.data(f"host_numa{number}").inventory for number in (0, 1)]
    assert [each["MEMORY_MB"]["reserved"] for each in nodes] == [200, 400]
    assert nodes[0]["VCPU"]["allocation_ratio"] == 4.0
    assert totals(tree_of(numa="never", **options)) == {
        "host": {"VCPU": 12, "PCPU": 4, "MEMORY_MB": 3072, "DISK_GB": 100}
    }


def test_the_name_is_that_of_the_host():
    driver = load_driver("libvirt", {"uri": "test:///default"})
    assert driver.nodenames() == [libvirt.openReadOnly("test:///default").getHostname()]
    assert driver.root_uuid("host") is None


def test_libvirt_accepts_the_files_and_its_test_driver_shows_the_same(node_file, epyc, monkeypatch):
    """So the files are in libvirt's own form."""
    described = totals(tree_of(numa="never", vgpu_types="nvidia-1055:4,nvidia-230"))
    monkeypatch.undo()
    options = {"uri": f"test://{node_file}", "vgpu_types": "nvidia-1055:4,nvidia-230"}
    found = totals(tree_of(**options))
    assert found.pop("host") == {"VCPU": 16, "MEMORY_MB": 3072}
    described.pop("host")
    assert found == described
    driver = load_driver("libvirt", options)
    where = driver.where("host", libvirt_hosts.GRAPHICS)
    assert where["VGPU"] == "host_0000:a1:00.0"


# -- a server with four NUMA nodes


def test_a_server_has_a_provider_for_each_cell_and_card(epyc):
    tree = tree_of(vgpu_types="nvidia-1055:4,nvidia-231")
    assert totals(tree) == {
        "host": {},
        "host_numa0": {"VCPU": 32, "MEMORY_MB": 96036, "CUSTOM_MEMORY_PAGES_1048576KB": 32},
        "host_0000:21:00.0": {"VGPU": 4},
        "host_numa1": {"VCPU": 32, "MEMORY_MB": 96241, "CUSTOM_MEMORY_PAGES_1048576KB": 32},
        "host_0000:41:00.0": {"SRIOV_NET_VF": 8},
        "host_numa2": {"VCPU": 32, "MEMORY_MB": 120805, "CUSTOM_MEMORY_PAGES_2048KB": 4096},
        # Divided otherwise already, so there is no room for the type that the operator wants.
        "host_0000:a1:00.0": {"VGPU": 16},
        "host_numa3": {"VCPU": 32, "MEMORY_MB": 128983},
        "host_0000:c1:00.0": {"VGPU": 8},
        "host_0000:e1:00.0": {"PGPU": 1},
    }
    assert tree.data("host_0000:41:00.0").traits == {"HW_NIC_SRIOV", "CUSTOM_PCI_15B3_1017"}
    assert tree.data("host_0000:c1:00.0").traits == {
        "CUSTOM_GPU_NVIDIA",
        "CUSTOM_PCI_10DE_1EB8",
        "CUSTOM_VGPU_NVIDIA_231",
    }


def test_mediated_devices_count_as_long_as_they_exist(epyc):
    assert totals(tree_of())["host_0000:a1:00.0"] == {"VGPU": 16}
    for device in epyc.devices:
        if "mdev_c05e7a10" in device.XMLDesc():
            device._is_active = False
    assert totals(tree_of())["host_0000:a1:00.0"] == {"VGPU": 15}


def test_devices_of_the_host_itself_are_left_out(epyc):
    found = totals(tree_of(excluded_devices="0000:E1:00.0,0000:41:00.0"))
    assert {name for name in found if ":" in name} == {"host_0000:a1:00.0", "host_0000:c1:00.0"}


def test_the_features_of_the_model_of_the_processor_are_traits(epyc):
    """The capabilities name what the processor has besides its model, which libvirt expands."""
    found = tree_of().data("host").traits
    assert found >= {
        "COMPUTE_NODE",
        "COMPUTE_ARCH_X86_64",
        "HW_ARCH_X86_64",
        "HW_CPU_HYPERTHREADING",
        "HW_CPU_X86_AESNI",
        "HW_CPU_X86_AMD_IBPB",
        "HW_CPU_X86_AMD_SVM",
        "HW_CPU_X86_AVX2",
        "HW_CPU_X86_BMI",
        "HW_CPU_X86_CLMUL",
        "HW_CPU_X86_SHA",
        "HW_CPU_X86_SSE41",
        "HW_CPU_X86_SVM",
    }
    # Whether firmware and kernel enabled it, libvirt's capabilities do not say.
    assert not {name for name in found if "SEV" in name or "INTEL" in name}
    assert "HW_CPU_X86_SSE41" in tree_of().data("host_numa3").traits


def test_an_unknown_model_has_the_features_that_are_listed(epyc):
    epyc.capabilities = epyc.capabilities.replace("EPYC-Rome", "EPYC-Next")
    found = tree_of().data("host").traits
    assert "HW_CPU_X86_AMD_IBPB" in found
    assert "HW_CPU_X86_AVX2" not in found


def test_an_arm_server(epyc):
    epyc.capabilities = """
    <capabilities>
      <host>
        <cpu>
          <arch>aarch64</arch>
          <model>Neoverse-N1</model>
          <vendor>ARM</vendor>
          <feature name='asimd'/>
          <feature name='sha2'/>
        </cpu>
      </host>
      <guest>
        <os_type>hvm</os_type>
        <arch name='aarch64'><domain type='qemu'/><domain type='kvm'/></arch>
      </guest>
    </capabilities>
    """
    epyc.devices = []
    tree = tree_of()
    assert tree.data("host").traits == {
        "COMPUTE_NODE",
        "COMPUTE_ARCH_AARCH64",
        "HW_ARCH_AARCH64",
        "HW_CPU_AARCH64_ASIMD",
        "HW_CPU_AARCH64_SHA2",
    }
    # No cells: what the node info counts.
    assert totals(tree) == {"host": {"VCPU": 128, "MEMORY_MB": 515793}}


def test_the_uuid_of_the_root(epyc):
    def uuid(**options):
        return load_driver("libvirt", options).root_uuid("host")

    assert uuid() is None
    assert uuid(uuid=ROOT.upper()) == ROOT
    assert uuid(uuid="host") == "30353036-3635-5a43-3230-343830305831"
    epyc.capabilities = "<capabilities><host/></capabilities>"
    with pytest.raises(DriverError, match="qemu:///system gives the host no UUID"):
        uuid(uuid="host")


def test_a_host_of_the_linux_driver_keeps_its_providers(tmp_path, epyc):
    """What both drivers know has the same names; what libvirt does not know, stays."""
    machine = machines.MachineFolder(tmp_path)
    machine.processors(128, machines.EPYC_FLAGS, vendor="AuthenticAMD")
    machine.write("/sys/module/kvm_amd/parameters/sev", "Y")
    for number in range(4):
        machine.node(number, f"{16 * number}-{16 * number + 15}", 128000)
    machine.network_card("0000:41:00.0", "enp65s0f0np0", 1, functions=6)
    tree = new_tree()
    load_driver("linux", {"root": str(tmp_path)}).update_provider_tree(tree, "host")
    before = {tree.data(uuid).name: uuid for uuid in tree.get_provider_uuids()}
    tree_of(tree)
    after = {tree.data(uuid).name: uuid for uuid in tree.get_provider_uuids()}
    assert before.items() <= after.items()
    assert "HW_NIC_MULTIQUEUE" in tree.data("host_0000:41:00.0").traits
    assert tree.data("host").traits >= {"HW_CPU_X86_AMD_SEV", "HW_CPU_X86_AVX2"}


# -- what goes wrong


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ratio": "1"}, "The libvirt driver has no option ratio; it has name, numa"),
        ({"numa": "sometimes"}, "numa: 'sometimes' is none of auto, always, never"),
        ({"uuid": "12"}, "Option uuid: '12' is neither a UUID nor host"),
        ({"excluded_devices": "3b:00.0"}, "excluded_devices: '3b:00.0' is not an address"),
        ({"cpu_dedicated_set": "15,16"}, "cpu_dedicated_set: the machine has no CPU 16"),
        ({"pool": "images"}, "Option pool: the storage pool 'images' at .* does not exist"),
        ({"uri": "nothing"}, "libvirt at nothing: cannot connect: "),
        ({"uri": "qemu+tcp://localhost:1/system"}, "cannot connect: .* Connection refused"),
        ({"uri": "qemu+unix:///system?socket=/nowhere"}, "cannot connect: .*/nowhere"),
    ],
)
def test_errors_are_one_line(capfd, options, words):
    with pytest.raises(DriverError, match=words) as caught:
        tree_of(**{"uri": "test:///default", **options})
    assert "\n" not in str(caught.value)
    # libvirt's own handler would have printed the error.
    assert capfd.readouterr().err == ""


def test_a_pool_that_is_not_active(capfd):
    connection = libvirt.open("test:///default")
    pool = connection.storagePoolLookupByName("default-pool")
    pool.destroy()
    try:
        with pytest.raises(DriverError, match="'default-pool' at test:///default is not active"):
            tree_of(uri="test:///default", pool="default-pool")
    finally:
        pool.create()
        connection.close()


def test_broken_xml_is_an_error(epyc):
    epyc.capabilities = "<capabilities>"
    with pytest.raises(DriverError, match="description of the host is not XML: no element found"):
        tree_of()


@pytest.fixture
def lost(epyc, monkeypatch):
    """A driver whose daemon has been stopped since its last update."""
    driver = load_driver("libvirt", {})
    assert driver.nodenames() == ["host"]
    driver.update_provider_tree(new_tree(), "host")
    monkeypatch.setattr(epyc, "isAlive", lambda: 0, raising=False)

    def lose():
        raise libvirt.libvirtError("Cannot recv data:\nConnection reset by peer")

    monkeypatch.setattr(epyc, "getCapabilities", lose, raising=False)
    return driver


def test_a_daemon_that_is_restarted_is_connected_to_again(lost, monkeypatch):
    opened = []
    other = libvirt_hosts.DescribedHost()
    monkeypatch.setattr(libvirt, "openReadOnly", lambda uri: opened.append(uri) or other)
    lost.update_provider_tree(new_tree(), "host")
    assert opened == ["qemu:///system"]


def test_a_daemon_that_is_gone_is_an_error_until_it_is_back(lost, monkeypatch):
    def refuse(uri):
        raise libvirt.libvirtError("Failed to connect:\nConnection refused")

    other = libvirt_hosts.DescribedHost()
    monkeypatch.setattr(libvirt, "openReadOnly", refuse)
    for _ in range(2):
        with pytest.raises(DriverError) as caught:
            lost.update_provider_tree(new_tree(), "host")
        assert str(caught.value) == (
            "libvirt at qemu:///system: cannot connect: Failed to connect: Connection refused"
        )
    monkeypatch.setattr(libvirt, "openReadOnly", lambda uri: other)
    lost.update_provider_tree(new_tree(), "host")


def test_an_answer_that_fails_is_an_error(epyc, monkeypatch):
    def fail():
        raise libvirt.libvirtError("internal error: no capabilities")

    monkeypatch.setattr(epyc, "getCapabilities", fail, raising=False)
    with pytest.raises(DriverError) as caught:
        tree_of()
    assert str(caught.value) == (
        "libvirt at qemu:///system: cannot read the capabilities: internal error: no capabilities"
    )


def test_a_device_that_disappears_while_it_is_read_is_left_out(epyc):
    gone = libvirt.libvirtError("no such device")
    gone.err = (libvirt.VIR_ERR_NO_NODE_DEVICE, 0, "no such device", 0, "", "", "", 0, 0)

    class Gone(libvirt_hosts.Described):
        def XMLDesc(self, flags=0):
            raise gone

    epyc.devices.append(Gone(""))
    assert "host_0000:41:00.0" in totals(tree_of())


def test_libvirt_python_is_missing(monkeypatch):
    found = builtins.__import__

    def without_libvirt(name, *arguments, **others):
        if name == "libvirt":
            raise ModuleNotFoundError("No module named 'libvirt'")
        return found(name, *arguments, **others)

    monkeypatch.delitem(sys.modules, "libvirt")
    monkeypatch.setattr(builtins, "__import__", without_libvirt)
    with pytest.raises(DriverError, match=r"pip install 'roost\[libvirt\]'"):
        load_driver("libvirt", {})
