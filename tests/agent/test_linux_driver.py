"""The providers that the Linux driver reports for several machines."""

import os
import re
import uuid
from pathlib import Path

import os_traits
import pytest

from roost.agent.driver import DriverError, ReshapeNeeded
from roost.agent.drivers import load_driver
from roost.agent.drivers.machines.cpu_lists import parse_cpus
from roost.agent.drivers.machines.providers import distribute
from roost.agent.provider_tree import ProviderTree
from tests.agent import machines
from tests.agent.hosts import totals
from tests.agent.settling import update_and_settle

ROOT = "3f5e0d4c-1c58-4b43-9f66-4f6f4c3dbd5e"


def driver_of(machine, **options):
    return load_driver("linux", {"root": str(getattr(machine, "path", machine)), **options})


def tree_of(machine, tree=None, **options):
    if tree is None:
        tree = ProviderTree()
        tree.new_root("host", ROOT)
    driver_of(machine, **options).update_provider_tree(tree, "host")
    return tree


@pytest.fixture
def server(tmp_path):
    return machines.server(tmp_path)


# -- the machines


def test_a_server_has_a_provider_for_each_numa_node_and_card(server):
    tree = tree_of(server)
    assert totals(tree) == {
        "host": {"DISK_GB": 2000},
        "host_numa0": {"VCPU": 8, "MEMORY_MB": 30720, "CUSTOM_MEMORY_PAGES_2048KB": 1024},
        "host_0000:3b:00.0": {"SRIOV_NET_VF": 8},
        "host_0000:5e:00.0": {"PGPU": 1},
        "host_numa1": {"VCPU": 8, "MEMORY_MB": 28672, "CUSTOM_MEMORY_PAGES_1048576KB": 4},
        "host_0000:af:00.0": {"SRIOV_NET_VF": 4},
        "host_0000:d8:00.0": {"PGPU": 1},
    }
    assert tree.data("host_0000:5e:00.0").parent_uuid == tree.data("host_numa0").uuid
    assert tree.data("host_0000:af:00.0").parent_uuid == tree.data("host_numa1").uuid
    assert tree.data("host_0000:5e:00.0").traits == {"CUSTOM_PCI_10DE_20B5", "CUSTOM_GPU_NVIDIA"}
    assert tree.data("host_0000:3b:00.0").traits == {
        "HW_NIC_SRIOV",
        "HW_NIC_MULTIQUEUE",
        "CUSTOM_PCI_15B3_1017",
    }


def test_the_traits_of_a_server(server):
    tree = tree_of(server)
    found = tree.data("host").traits
    assert found >= {
        "COMPUTE_NODE",
        "COMPUTE_ARCH_X86_64",
        "HW_ARCH_X86_64",
        "HW_CPU_HYPERTHREADING",
        "HW_CPU_X86_AESNI",
        "HW_CPU_X86_AVX2",
        "HW_CPU_X86_AVX512GFNI",
        "HW_CPU_X86_AVX512VNNI",
        "HW_CPU_X86_BMI",
        "HW_CPU_X86_CLMUL",
        "HW_CPU_X86_FMA3",
        "HW_CPU_X86_INTEL_MD_CLEAR",
        "HW_CPU_X86_INTEL_SSBD",
        "HW_CPU_X86_INTEL_VMX",
        "HW_CPU_X86_SSE3",
        "HW_CPU_X86_SSE42",
        "HW_CPU_X86_VMX",
    }
    assert "HW_NUMA_ROOT" not in found
    assert not {name for name in found if "AMD" in name}
    on_node = tree.data("host_numa1").traits
    assert on_node >= {"HW_NUMA_ROOT", "HW_CPU_X86_AVX2", "HW_CPU_HYPERTHREADING"}
    assert not on_node & {"COMPUTE_NODE", "HW_ARCH_X86_64"}


def test_a_laptop(tmp_path):
    tree = tree_of(machines.laptop(tmp_path))
    assert totals(tree) == {
        "host": {"VCPU": 8, "MEMORY_MB": 16384, "DISK_GB": 512},
        "host_0000:01:00.0": {"PGPU": 1},
    }
    found = tree.data("host").traits
    assert "HW_CPU_HYPERTHREADING" in found
    # It has GFNI but no AVX-512, and KVM is off.
    assert "HW_CPU_X86_AVX512GFNI" not in found
    assert "COMPUTE_ARCH_X86_64" not in found


def test_an_arm_board(tmp_path):
    tree = tree_of(machines.board(tmp_path))
    assert totals(tree) == {"host": {"VCPU": 4, "MEMORY_MB": 4096, "DISK_GB": 32}}
    found = tree.data("host").traits
    assert found >= {"HW_ARCH_AARCH64", "HW_CPU_AARCH64_CRC32", "HW_CPU_AARCH64_ASIMD"}
    assert "HW_CPU_HYPERTHREADING" not in found
    assert not {name for name in found if "X86" in name}


def test_a_virtual_machine(tmp_path):
    machine = machines.virtual_machine(tmp_path)
    tree = tree_of(machine)
    assert totals(tree) == {"host": {"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 40}}
    found = tree.data("host").traits
    assert found >= {"HW_CPU_X86_AMD_SVM", "HW_CPU_X86_AMD_SSBD", "HW_CPU_X86_SHA"}
    # The processor has SEV, but it is off.
    assert "HW_CPU_X86_AMD_SEV" not in found
    machine.write("/sys/module/kvm_amd/parameters/sev", "Y")
    assert "HW_CPU_X86_AMD_SEV" in tree_of(machine).data("host").traits


@pytest.mark.skipif(not Path("/sys/devices/system/cpu/online").exists(), reason="needs Linux")
def test_the_machine_that_runs_the_test():
    driver = load_driver("linux", {"numa": "never"})
    [name] = driver.nodenames()
    tree = ProviderTree()
    tree.new_root(name, str(uuid.uuid4()))
    driver.update_provider_tree(tree, name)
    found = tree.data(name).inventory
    processors = sum(found[each]["total"] for each in ("VCPU", "PCPU") if each in found)
    assert processors == os.cpu_count()
    meminfo = Path("/proc/meminfo").read_text()
    memory_mb = int(re.search(r"MemTotal:\s+(\d+)", meminfo)[1]) // 1024
    huge_mb = int(re.search(r"Hugetlb:\s+(\d+)", meminfo + "\nHugetlb: 0")[1]) // 1024
    assert found["MEMORY_MB"]["total"] == pytest.approx(memory_mb - huge_mb, abs=8)
    assert {name for name in tree.data(name).traits if name.startswith("HW_")} <= set(
        os_traits.get_traits()
    )


@pytest.mark.parametrize("build", [machines.server, machines.laptop, machines.board])
def test_a_second_update_changes_nothing(tmp_path, build):
    machine = build(tmp_path)
    tree = tree_of(machine)
    before = [tree.data(each) for each in tree.get_provider_uuids()]
    tree_of(machine, tree)
    assert [tree.data(each) for each in tree.get_provider_uuids()] == before


def test_uuids_of_children_are_stable(server):
    assert tree_of(server).get_provider_uuids() == tree_of(server).get_provider_uuids()


def test_a_machine_without_files_has_no_inventory(tmp_path):
    assert totals(tree_of(tmp_path)) == {"host": {}}


# -- options


def test_with_numa_never_the_root_has_everything(server):
    tree = tree_of(server, numa="never")
    assert totals(tree)["host"] == {
        "DISK_GB": 2000,
        "VCPU": 16,
        "MEMORY_MB": 59392,
        "CUSTOM_MEMORY_PAGES_2048KB": 1024,
        "CUSTOM_MEMORY_PAGES_1048576KB": 4,
    }
    assert tree.data("host_0000:3b:00.0").parent_uuid == ROOT


def test_with_numa_always_a_single_node_is_a_child(tmp_path):
    tree = tree_of(machines.laptop(tmp_path), numa="always")
    assert totals(tree) == {
        "host": {"DISK_GB": 512},
        "host_numa0": {"VCPU": 8, "MEMORY_MB": 16384},
        "host_0000:01:00.0": {"PGPU": 1},
    }
    # Its numa_node is -1.
    assert tree.data("host_0000:01:00.0").parent_uuid == ROOT


def test_dedicated_processors_are_pcpus(server):
    found = totals(tree_of(server, cpu_dedicated_set="2-3,10-11,12"))
    assert (found["host_numa0"]["VCPU"], found["host_numa0"]["PCPU"]) == (4, 4)
    assert (found["host_numa1"]["VCPU"], found["host_numa1"]["PCPU"]) == (7, 1)
    found = totals(tree_of(server, cpu_dedicated_set="4-7", cpu_shared_set="0-1"))
    assert "PCPU" not in found["host_numa0"]
    assert found["host_numa0"]["VCPU"] == 2
    assert "VCPU" not in found["host_numa1"]


def test_isolated_processors_are_pcpus_and_offline_ones_do_not_count(server):
    server.cpu_lists(isolated="1,9", online="0-13", present="0-15")
    found = totals(tree_of(server))
    assert (found["host_numa0"]["VCPU"], found["host_numa0"]["PCPU"]) == (6, 2)
    assert found["host_numa1"]["VCPU"] == 6
    assert "PCPU" not in totals(tree_of(server, cpu_dedicated_set=""))["host_numa0"]
    # A dedicated processor that is offline cannot be allocated.
    assert totals(tree_of(server, cpu_dedicated_set="13-15"))["host_numa1"]["PCPU"] == 1


def test_offline_siblings_are_no_hyperthreads(server):
    server.cpu_lists(online="0-7", present="0-15")
    assert "HW_CPU_HYPERTHREADING" not in tree_of(server).data("host").traits


def test_reserved_memory_is_spread_over_the_nodes(server):
    tree = tree_of(server, reserved_memory_mb="1001", reserved_disk_gb="50")
    reserved = [tree.data(f"host_numa{n}").inventory["MEMORY_MB"]["reserved"] for n in (0, 1)]
    assert sum(reserved) == 1001
    assert max(reserved) - min(reserved) <= 1
    assert tree.data("host").inventory["DISK_GB"]["reserved"] == 50


def test_distributed_parts_add_up():
    assert distribute(512, [0, 1, 2]) == [0, 170, 342]
    assert distribute(7, []) == []
    assert distribute(7, [0]) == [0]


def test_huge_pages_may_count_as_memory(server):
    found = totals(tree_of(server, huge_pages="memory"))
    assert found["host_numa0"] == {"VCPU": 8, "MEMORY_MB": 32768}


def test_ratios_are_configured_or_kept(server):
    tree = tree_of(server, vcpu_ratio="16")
    assert tree.data("host_numa0").inventory["VCPU"]["allocation_ratio"] == 16.0
    # An operator sets another ratio in the service.
    inventory = tree.data("host_numa0").inventory
    inventory["MEMORY_MB"]["allocation_ratio"] = 1.5
    tree.update_inventory("host_numa0", inventory)
    tree_of(server, tree)
    assert tree.data("host_numa0").inventory["VCPU"]["allocation_ratio"] == 16.0
    assert tree.data("host_numa0").inventory["MEMORY_MB"]["allocation_ratio"] == 1.5


def test_the_disk_is_the_file_system_of_a_folder(server):
    (server.path / "var/lib/instances").mkdir(parents=True)
    found = totals(tree_of(server, disk_folder="/var/lib/instances"))
    stat = os.statvfs(server.path)
    assert found["host"].get("DISK_GB", 0) == stat.f_blocks * stat.f_frsize // 2**30


def test_a_divided_gpu_has_vgpus(server):
    server.gpu("0000:5e:00.0", 0, nvidia_35=(0, 3), nvidia_36=(0, 0))
    server.gpu("0000:d8:00.0", 1, nvidia_35=(8, 0), nvidia_36=(4, 0))
    found = totals(tree_of(server))
    # One card is divided already; for the other one an operator must choose a type.
    assert found["host_0000:5e:00.0"] == {"VGPU": 3}
    assert found["host_0000:d8:00.0"] == {"PGPU": 1}
    tree = tree_of(server, vgpu_types="nvidia-36, nvidia-35")
    assert totals(tree)["host_0000:d8:00.0"] == {"VGPU": 4}
    assert "CUSTOM_VGPU_NVIDIA_36" in tree.data("host_0000:d8:00.0").traits


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ratio": "1"}, "no option ratio; it has name, numa"),
        ({"numa": "sometimes"}, "numa: 'sometimes' is none of auto, always, never"),
        ({"huge_pages": "no"}, "huge_pages"),
        ({"vcpu_ratio": "0"}, "vcpu_ratio: '0'"),
        ({"memory_ratio": "nan"}, "memory_ratio"),
        ({"reserved_memory_mb": "-1"}, "reserved_memory_mb: '-1'"),
        ({"cpu_dedicated_set": "1-x"}, "cpu_dedicated_set: '1-x'"),
        ({"cpu_dedicated_set": "0-3", "cpu_shared_set": "3-5"}, "and in cpu_shared_set: 3"),
        ({"cpu_dedicated_set": "15,16"}, "no CPU 16"),
        (
            {"cpu_dedicated_set": "0-99999999999"},
            "no machine has a CPU 99999999999",
        ),
        ({"disk_folder": "/nowhere"}, "disk_folder"),
        ({"root": "/nowhere/at/all"}, "/nowhere/at/all"),
        ({"uuid": "host"}, "uuid: 'host' is neither a UUID nor machine-id"),
        ({"renamed_classes": "VCPU"}, "renamed_classes: 'VCPU' is not OLD:NEW"),
        ({"renamed_classes": "VCPU:"}, "renamed_classes: 'VCPU:' is not OLD:NEW"),
        ({"renamed_classes": "VCPU:VCPU"}, "VCPU would keep its name"),
        ({"renamed_classes": "VCPU:PCPU,PCPU:VCPU"}, "PCPU is renamed, too, to VCPU"),
        ({"renamed_classes": "VCPU:PCPU,VCPU:VGPU"}, "VCPU has two new names"),
        ({"renamed_classes": "GPU:PGPU"}, r"GPU is neither .*; did you mean VGPU\?$"),
        ({"renamed_classes": "CUSTOM_A:CUSTOM_B"}, "the driver does not report CUSTOM_B"),
    ],
)
def test_bad_options_are_refused(server, options, words):
    with pytest.raises(DriverError, match=words):
        tree_of(server, **options)


def test_the_uuid_of_the_root_is_given_or_derived_from_the_machine(server):
    def root_uuid(**options):
        return load_driver("linux", {"root": str(server.path), **options}).root_uuid("host")

    assert root_uuid() is None
    assert root_uuid(uuid=ROOT.upper()) == ROOT
    with pytest.raises(DriverError, match="etc/machine-id has no machine ID"):
        root_uuid(uuid="machine-id")
    machine_id = "b08dfa6083e7567a1921a715000001fb"
    server.write("/etc/machine-id", machine_id)
    derived = root_uuid(uuid="machine-id")
    assert derived == root_uuid(uuid="machine-id", name="another")
    assert uuid.UUID(derived).hex != machine_id
    server.write("/etc/machine-id", "uninitialized")
    with pytest.raises(DriverError, match="has no machine ID"):
        root_uuid(uuid="machine-id")


def test_lists_of_processors_are_parsed():
    assert parse_cpus("0-2, 8,^1", "here") == {0, 2, 8}
    assert parse_cpus("", "here") == set()


# -- what others wrote


def test_what_others_wrote_is_kept(server):
    tree = tree_of(server)
    tree.new_child("host:ovs agent", "host")
    tree.update_inventory("host:ovs agent", {"NET_BW_EGR_KILOBIT_PER_SEC": {"total": 10}})
    tree.update_inventory("host", {"CUSTOM_LICENCE": {"total": 3}})
    tree.add_traits("host", "COMPUTE_STATUS_DISABLED", "CUSTOM_RACK_7", "HW_CPU_X86_XOP")
    tree.add_aggregates("host", "aggregate-1")
    tree_of(server, tree)
    assert totals(tree)["host"] == {"CUSTOM_LICENCE": 3, "DISK_GB": 2000}
    assert totals(tree)["host:ovs agent"] == {"NET_BW_EGR_KILOBIT_PER_SEC": 10}
    assert tree.has_traits("host", ["COMPUTE_STATUS_DISABLED", "CUSTOM_RACK_7"])
    assert not tree.has_traits("host", ["HW_CPU_X86_XOP"])
    assert tree.in_aggregates("host", ["aggregate-1"])


def test_a_removed_card_is_deleted(server):
    tree = tree_of(server)
    server.write("/sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs", 0)
    tree_of(server, tree)
    assert not tree.exists("host_0000:3b:00.0")


# -- reshapes


def flat_tree():
    """A host that was reported without NUMA, as the service has it."""
    tree = ProviderTree()
    tree.new_root("host", ROOT)
    tree.update_inventory(
        "host",
        {
            "VCPU": {"total": 16, "allocation_ratio": 4.0},
            "MEMORY_MB": {"total": 65536},
            "SRIOV_NET_VF": {"total": 12},
            "DISK_GB": {"total": 2000},
        },
    )
    return tree


def consumer(**resources):
    return {
        "allocations": {ROOT: {"resources": resources}},
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": 0,
    }


def reshape(machine, tree, allocations=None, **options):
    update_and_settle(driver_of(machine, **options), tree, "host", allocations)


def test_a_reshape_from_the_root_to_numa_nodes(server):
    tree = flat_tree()
    before = tree.data("host")
    with pytest.raises(
        ReshapeNeeded, match=r"VCPU moves from host \(.*\) to host_numa0, host_numa1"
    ):
        reshape(server, tree)
    assert tree.data("host") == before
    assert tree.get_provider_uuids() == [ROOT]

    allocations = {
        f"c{n}": consumer(VCPU=4, MEMORY_MB=14000, SRIOV_NET_VF=2, DISK_GB=100) for n in range(4)
    }
    reshape(server, tree, allocations)
    assert totals(tree) == totals(tree_of(server))
    assert tree.data("host_numa0").inventory["VCPU"]["allocation_ratio"] == 4.0
    names = {
        name: {tree.data(each).name for each in record["allocations"]}
        for name, record in allocations.items()
    }
    assert all("host" in found for found in names.values())
    assert sorted(len([n for n in found if "numa0" in n]) for found in names.values()) == [
        0,
        0,
        1,
        1,
    ]
    for record in allocations.values():
        assert record["allocations"][ROOT] == {"resources": {"DISK_GB": 100}}
    functions = [
        each["resources"]["SRIOV_NET_VF"]
        for record in allocations.values()
        for each in record["allocations"].values()
        if "SRIOV_NET_VF" in each["resources"]
    ]
    assert functions == [2, 2, 2, 2]


def test_a_reshape_from_numa_nodes_to_the_root(server):
    tree = tree_of(server)
    nodes = [tree.data(f"host_numa{n}").uuid for n in (0, 1)]
    with pytest.raises(ReshapeNeeded):
        reshape(server, tree, numa="never")
    allocations = {
        "a": {"allocations": {each: {"resources": {"VCPU": 2}} for each in nodes}},
        "b": {"allocations": {nodes[1]: {"resources": {"VCPU": 1, "MEMORY_MB": 512}}}},
    }
    reshape(server, tree, allocations, numa="never")
    assert not tree.exists("host_numa0")
    assert totals(tree) == totals(tree_of(server, numa="never"))
    assert allocations["a"]["allocations"] == {ROOT: {"resources": {"VCPU": 4}}}
    assert allocations["b"]["allocations"] == {ROOT: {"resources": {"VCPU": 1, "MEMORY_MB": 512}}}


def test_a_reshape_that_does_not_fit_changes_nothing(server):
    tree = flat_tree()
    allocations = {"big": consumer(MEMORY_MB=65000)}
    with pytest.raises(DriverError, match=r"MEMORY_MB moves .* 65000 .*do not fit"):
        reshape(server, tree, allocations)
    assert tree.get_provider_uuids() == [ROOT]
    assert allocations == {"big": consumer(MEMORY_MB=65000)}
