"""Where consumers are, as the cgroups of a machine show."""

import logging
import uuid

import pytest

from roost.agent.drivers import load_driver
from roost.agent.drivers.linux import cgroups
from roost.agent.drivers.linux.system_files import SystemFiles
from roost.agent.provider_tree import ProviderTree
from roost.uuids import canonical_uuid
from tests.agent import machines
from tests.support.names import uid

ONE, TWO, THREE = uid("one"), uid("two"), uid("three")
CONTAINER = "3f5e0d4c1c584b439f664f6f4c3dbd5e" * 2  # 64 digits, as Docker and containerd have


@pytest.fixture
def server(tmp_path):
    """NUMA node 0 has the processors 0-3 and 8-11, node 1 has 4-7 and 12-15."""
    return machines.server(tmp_path)


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def groups(request, server):
    return machines.Cgroups(server, request.param, "0-15", "0-1")


def driver_of(machine, **options):
    return load_driver("linux", {"root": str(machine.path), **options})


def where(machine, consumer, **options):
    return driver_of(machine, **options).where("host", consumer)


def where_with(machine, consumer, held, **options):
    """The same in a reshape, in which the consumer holds these resources of the root."""
    tree = ProviderTree()
    root = tree.new_root("host", str(uuid.uuid4()))
    driver = driver_of(machine, **options)
    driver.update_provider_tree(
        tree, "host", {consumer: {"allocations": {root: {"resources": held}}}}
    )
    return driver.where("host", canonical_uuid(consumer))


PAGES_0, PAGES_1 = "CUSTOM_MEMORY_PAGES_2048KB", "CUSTOM_MEMORY_PAGES_1048576KB"
ON_NODE_1 = dict.fromkeys(["VCPU", "MEMORY_MB", PAGES_1], "host_numa1")


# -- names of cgroups


@pytest.mark.parametrize(
    "name",
    [
        f"machine.slice/machine-{ONE}.scope",
        "machine.slice/machine-" + ONE.replace("-", r"\x2d") + ".scope",
        "kubepods.slice/kubepods-pod" + ONE.replace("-", "_") + ".slice",
        f"kubepods/burstable/pod{ONE}",
        "kubepods/pod" + ONE.replace("-", ""),
        f"containers/{ONE.upper()}",
        "containers/" + ONE.replace("-", ""),
        "machine.slice/machine-qemu" + rf"\x2d7\x2d{ONE}".replace("-", r"\x2d") + ".scope",
    ],
)
def test_a_cgroup_is_named_after_a_consumer(server, groups, name):
    groups.add(name, "4-5", "1", process=17)
    assert where(server, ONE) == {
        "VCPU": "host_numa1",
        "MEMORY_MB": "host_numa1",
        PAGES_1: "host_numa1",
    }
    assert where(server, TWO) == {}


def test_the_id_of_a_container_is_no_uuid(server, groups):
    groups.add(f"docker/{CONTAINER}", "4-5", "1", process=17)
    assert where(server, str(uuid.UUID(CONTAINER[:32]))) == {}


def test_the_containers_of_a_pod_are_within_it(server, groups):
    pod = "kubepods.slice/kubepods-pod" + ONE.replace("-", "_") + ".slice"
    groups.add(pod, "0-15", "0-1")
    groups.add(f"{pod}/cri-containerd-{CONTAINER}.scope", "4-5", "1", process=17)
    assert where(server, ONE)["VCPU"] == "host_numa1"
    # Another container may be anywhere.
    groups.add(f"{pod}/cri-containerd-{CONTAINER[::-1]}.scope", "0-15", "0-1", process=18)
    assert where(server, ONE) == {}


def test_a_container_with_cgroups_of_its_own(server, groups):
    groups.add(f"lxc/{ONE}", "4-7", "1")
    groups.add(f"lxc/{ONE}/init.scope", "4-7", "1", process=1)
    groups.add(f"lxc/{ONE}/system.slice", "4", "1")
    assert where(server, ONE)["VCPU"] == "host_numa1"
    # Threads of the cgroup itself count as those below it.
    groups.add(f"lxc/{ONE}", "0-15", "0-1", process=1)
    assert where(server, ONE) == {}


# -- libvirt


@pytest.mark.parametrize("folder", ["libvirt/", ""], ids=["since 7.1", "before 7.1"])
def test_a_domain_of_libvirt_is_known_by_the_uuid_of_qemu(server, groups, folder):
    groups.domain(1, ONE, ["4", "5"], "1", emulator="0-15", folder=folder)
    groups.domain(2, TWO, ["0-3", "0-3"], "0-1", emulator="0-3", folder=folder)
    assert where(server, ONE) == {
        "VCPU": "host_numa1",
        "MEMORY_MB": "host_numa1",
        PAGES_1: "host_numa1",
    }
    assert where(server, TWO) == {"VCPU": "host_numa0"}


def test_version_2_shows_the_process_above_the_threads(server):
    groups = machines.Cgroups(server, 2, "0-15", "0-1")
    groups.domain(1, ONE, ["4"], "1", emulator="4")
    scope = r"/sys/fs/cgroup/machine.slice/machine-qemu\x2d1\x2dinstance\x2d00000001.scope"
    for name in ("emulator", "vcpu0"):  # they cannot be read there
        (server.path / f"{scope}/libvirt/{name}/cgroup.procs".lstrip("/")).unlink()
    assert where(server, ONE) == {}
    server.write(f"{scope}/libvirt/cgroup.procs", 4001)
    assert where(server, ONE)["VCPU"] == "host_numa1"


@pytest.mark.parametrize("words", ["", "qemu\0-uuid", "qemu\0-uuid\0no", "qemu\0-m\0512"])
def test_a_process_without_a_uuid_is_nobody(server, groups, words):
    groups.domain(1, ONE, ["4"], "1", emulator="4")
    server.write("/proc/4001/cmdline", words)
    assert where(server, ONE) == {}


def test_virtual_processors_on_two_nodes_are_counted(server, groups):
    groups.domain(1, ONE, ["0-3", "0-3", "0-3", "4-7"], "0-1", emulator="0-7")
    amounts = {"VCPU": {"host_numa0": 3, "host_numa1": 1}}
    assert where_with(server, ONE, {"VCPU": 4}) == amounts
    # Clients may have spelled its UUID in another way.
    assert where_with(server, ONE.upper(), {"VCPU": 4}) == amounts
    # The consumer holds another amount than the domain has.
    assert where_with(server, ONE, {"VCPU": 5}) == {}
    assert where(server, ONE) == {}


def test_a_virtual_processor_that_may_run_on_both_nodes_is_not_known(server, groups):
    groups.domain(1, ONE, ["0-3", "0-7"], "0-1", emulator="0-7")
    assert where_with(server, ONE, {"VCPU": 2}) == {}


def test_shared_and_dedicated_processors_of_a_domain(server, groups):
    groups.domain(1, ONE, ["0-1", "4", "8"], "0-1", emulator="0-1")
    options = {"cpu_dedicated_set": "4-15"}
    found = where_with(server, ONE, {"VCPU": 1, "PCPU": 2}, **options)
    assert found == {"VCPU": "host_numa0", "PCPU": {"host_numa0": 1, "host_numa1": 1}}


# -- processors and memory


def test_dedicated_processors_on_two_nodes_are_counted_if_they_are_all_that_is_held(server, groups):
    groups.add(f"containers/{ONE}", "2-3,6", "0-1", process=17)
    options = {"cpu_dedicated_set": "2-3,6-7"}
    amounts = {"PCPU": {"host_numa0": 2, "host_numa1": 1}}
    assert where_with(server, ONE, {"PCPU": 3}, **options) == amounts
    assert where_with(server, ONE, {"PCPU": 2}, **options) == {}
    # Shared processors say nothing about amounts.
    assert where_with(server, ONE, {"VCPU": 3}) == {}


def test_memory_is_known_without_processors(server, groups):
    groups.add(f"containers/{ONE}", "0-15", "0", process=17)
    assert where(server, ONE) == {"MEMORY_MB": "host_numa0", PAGES_0: "host_numa0"}
    assert where(server, ONE, huge_pages="memory") == {"MEMORY_MB": "host_numa0"}


def test_without_numa_providers_nothing_is_said(server, groups):
    groups.add(f"containers/{ONE}", "4", "1", process=17)
    assert where(server, ONE, numa="never") == {}


def test_a_machine_without_cgroups(server):
    assert where(server, ONE) == {}


def test_a_cgroup_without_a_cpuset_has_that_of_its_parent(server):
    groups = machines.Cgroups(server, 2, "0-15", "0-1")
    groups.add("pinned.slice", "4-7", "1")
    groups.add(f"pinned.slice/{ONE}.scope", process=17)
    groups.add(f"free.slice/{TWO}.scope", process=18)
    assert where(server, ONE)["VCPU"] == "host_numa1"
    assert where(server, TWO) == {}


def test_a_file_that_cannot_be_read_is_ignored(server):
    groups = machines.Cgroups(server, 2, "0-15", "0-1")
    groups.add(f"{ONE}.scope", "4-7", "1", process=17)
    server.write(f"/sys/fs/cgroup/{ONE}.scope/cpuset.cpus.effective", "what")
    assert where(server, ONE)["VCPU"] == "host_numa1"  # as configured
    server.write(f"/sys/fs/cgroup/{ONE}.scope/cpuset.cpus", "what")
    assert "VCPU" not in where(server, ONE)


# -- effort


def test_cgroups_are_read_once_in_an_update(server, groups, monkeypatch):
    groups.add(f"containers/{ONE}", "4", "1", process=17)
    reads = []

    def counted(files):
        reads.append(files)
        return cgroups.read_cpusets(files)

    monkeypatch.setattr("roost.agent.drivers.linux.driver.read_cpusets", counted)
    tree = ProviderTree()
    tree.new_root("host", str(uuid.uuid4()))
    driver = driver_of(server)
    driver.update_provider_tree(tree, "host")
    assert reads == []
    for consumer in (ONE, TWO, ONE):
        driver.where("host", consumer)
    assert len(reads) == 1
    # The next update sees what has changed.
    groups.add(f"containers/{ONE}", "0", "0", process=17)
    assert driver.where("host", ONE)["VCPU"] == "host_numa1"
    driver.update_provider_tree(tree, "host")
    assert driver.where("host", ONE)["VCPU"] == "host_numa0"


def test_where_reading_ends_the_cgroup_above_counts(server, groups, monkeypatch, caplog):
    groups.add(ONE, "0-15", "0-1")
    groups.add(f"{ONE}/below", "4", "1", process=17)
    groups.add(TWO, "4-7", "1")
    groups.add(f"{TWO}/below", "4", "1", process=18)
    files = SystemFiles(str(server.path))
    assert cgroups.read_cpusets(files)[ONE].cpus == {4}
    assert caplog.messages == []
    for limit, value in (("DEPTH_MAX", 1), ("CGROUPS_MAX", 2)):
        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
            patch.setattr(cgroups, limit, value)
            found = cgroups.read_cpusets(files)
        assert found[ONE].cpus == frozenset(range(16))
        assert found[TWO].cpus == {4, 5, 6, 7}
        assert "where some consumers are is not known" in caplog.text
        caplog.clear()


# -- classes that get another name


def test_processors_of_both_kinds_say_who_has_which_class(server, groups):
    options = {"cpu_dedicated_set": "4-15", "renamed_classes": "VCPU:PCPU"}
    groups.domain(1, ONE, ["4", "5"], "0-1", emulator="0-3")
    groups.domain(2, TWO, ["0-3", "0-3"], "0-1", emulator="0-3")
    assert where_with(server, ONE, {"VCPU": 2}, **options) == {"PCPU": {"host_numa1": 2}}
    assert where_with(server, TWO, {"VCPU": 2}, **options) == {"VCPU": {"host_numa0": 2}}
    # It has processors of both kinds, on both nodes.
    groups.domain(3, THREE, ["0-3", "4", "8"], "0-1", emulator="0-3")
    found = where_with(server, THREE, {"VCPU": 3}, **options)
    assert found == {"VCPU": {"host_numa0": 1}, "PCPU": {"host_numa0": 1, "host_numa1": 1}}
    # The domain has another number of processors than the consumer holds.
    assert where_with(server, THREE, {"VCPU": 4}, **options) == {}


def test_a_container_that_may_use_processors_of_both_kinds_has_neither_for_certain(server, groups):
    options = {"cpu_dedicated_set": "4-7", "renamed_classes": "VCPU:PCPU"}
    groups.add(f"containers/{ONE}", "0-15", "0-1", process=17)
    assert where_with(server, ONE, {"VCPU": 2}, **options) == {}
    groups.add(f"containers/{ONE}", "4-5", "0-1", process=17)
    assert where_with(server, ONE, {"VCPU": 2}, **options) == {"PCPU": "host_numa1"}
    groups.add(f"containers/{ONE}", "8-9", "0-1", process=17)
    assert where_with(server, ONE, {"VCPU": 2}, **options) == {"VCPU": "host_numa0"}


def test_what_was_held_under_another_name_is_counted(server, groups):
    options = {"cpu_dedicated_set": "0-15", "renamed_classes": "CUSTOM_CORE:PCPU"}
    groups.add(f"containers/{ONE}", "0,4-5", "0-1", process=17)
    amounts = {"PCPU": {"host_numa0": 1, "host_numa1": 2}}
    assert where_with(server, ONE, {"CUSTOM_CORE": 2, "PCPU": 1}, **options) == amounts
    assert where_with(server, ONE, {"CUSTOM_CORE": 2}, **options) == {}
