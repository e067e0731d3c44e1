"""Which processors and memory nodes the cgroups of consumers allow.

The name of a cgroup may contain the UUID of a consumer, in one of the spellings that exist:

    kubepods-burstable-pod7c1f0d2e_....slice    a pod of Kubernetes
    machine-7c1f0d2e\\x2d....scope              a machine of systemd
    7c1f0d2e...                                 without dashes

libvirt names a cgroup after the domain (machine-qemu\\x2d1\\x2dinstance\\x2d00000001.scope), but it
starts QEMU with `-uuid`, which the process in the cgroup shows.

Both versions of cgroups are read: the cpuset hierarchy of version 1, or the one hierarchy of
version 2. Whatever cannot be read is not known, and a consumer that has no cgroup is not found.
"""

import itertools
import logging
import re
import uuid as uuid_module
from collections.abc import Iterable

from roost.agent.driver import DriverError
from roost.agent.drivers.linux.system_files import SystemFiles
from roost.agent.drivers.machines.whereabouts import Cpuset

LOG = logging.getLogger(__name__)

# A host with thousands of containers has some cgroups for each.
CGROUPS_MAX = 50_000
DEPTH_MAX = 20
# Processes of one cgroup that are looked at for the UUID of a QEMU.
PROCESSES_MAX = 16

_VERSION_1 = "/sys/fs/cgroup/cpuset"
_VERSION_2 = "/sys/fs/cgroup"

# The most reliable first: what the kernel grants, then what was configured.
_CPUS = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
_MEMORY_NODES = ("cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems")
# The threads of a cgroup itself, in version 2 and in version 1.
_THREADS = ("cgroup.threads", "tasks")

_HEX = "[0-9a-f]"
_UUID = re.compile(
    rf"{_HEX}{{8}}([-_]){_HEX}{{4}}\1{_HEX}{{4}}\1{_HEX}{{4}}\1{_HEX}{{12}}(?!{_HEX})"
    # Without dashes. The ID of a container has 64 digits, and is no UUID.
    rf"|(?:(?<!{_HEX})|(?<=pod)){_HEX}{{32}}(?!{_HEX})"
)
_VIRTUAL_PROCESSOR = re.compile(r"vcpu\d+")
_QEMU_HELPERS = re.compile(r"emulator|iothread\d+")


def read_cpusets(files: SystemFiles) -> dict[str, Cpuset]:
    """Consumer UUID -> what its cgroups allow in all."""
    reader = _Reader(files)
    if files.exists(f"{_VERSION_1}/cpuset.cpus"):
        reader.read(_VERSION_1, "", Cpuset(), DEPTH_MAX)
    elif files.exists(f"{_VERSION_2}/cgroup.controllers"):
        reader.read(_VERSION_2, "", Cpuset(), DEPTH_MAX)
    if not reader.is_complete:
        LOG.warning(
            "there are more than %d cgroups, or more than %d below each other; "
            "where some consumers are is not known",
            CGROUPS_MAX,
            DEPTH_MAX,
        )
    return reader.found


class _Reader:
    def __init__(self, files: SystemFiles) -> None:
        self._files = files
        self.cgroups_left = CGROUPS_MAX
        self.is_complete = True
        self.found: dict[str, Cpuset] = {}

    def read(self, folder: str, name: str, inherited: Cpuset, depth_left: int) -> Cpuset:
        """What the threads of a cgroup and of those below it may use.

        A cgroup never has more than its parent. So where we do not look further down, what a
        cgroup itself may use contains what those below it may use.
        """
        own = Cpuset(
            cpus=self._set(folder, _CPUS) or inherited.cpus,
            memory_nodes=self._set(folder, _MEMORY_NODES) or inherited.memory_nodes,
        )
        children = self._files.folders(folder)
        if depth_left == 0 or len(children) > self.cgroups_left:
            self.is_complete = False
            whole = own
        else:
            self.cgroups_left -= len(children)
            whole = _union(
                {
                    each: self.read(f"{folder}/{each}", each, own, depth_left - 1)
                    for each in children
                }
            )
            if self._has_threads(folder, otherwise=not children):
                whole |= own
        for consumer in self._consumers(folder, name):
            self.found[consumer] = self.found.get(consumer, Cpuset()) | whole
        return whole

    def _set(self, folder: str, names: Iterable[str]) -> frozenset[int] | None:
        for name in names:
            try:
                found = self._files.cpus(f"{folder}/{name}")
            except DriverError:  # not a list of numbers
                continue
            if found:
                return found
        return None

    def _has_threads(self, folder: str, *, otherwise: bool) -> bool:
        for name in _THREADS:
            threads = self._files.text(f"{folder}/{name}")
            if threads is not None:
                return threads != ""
        return otherwise

    def _consumers(self, folder: str, name: str) -> set[str]:
        text = name.replace("\\x2d", "-").lower()
        named = {
            str(uuid_module.UUID(found[0].replace("_", "-"))) for found in _UUID.finditer(text)
        }
        return named or (self._qemu_consumers(folder) if "qemu" in text else set())

    def _qemu_consumers(self, folder: str) -> set[str]:
        # Older versions of libvirt have no folder `libvirt`. In version 2 of cgroups, those of
        # threads do not show their processes, but the one above them does.
        for place in (
            folder,
            f"{folder}/libvirt",
            f"{folder}/emulator",
            f"{folder}/libvirt/emulator",
        ):
            processes = (self._files.text(f"{place}/cgroup.procs") or "").split()
            found = map(self._qemu_uuid, processes[:PROCESSES_MAX])
            if consumers := {uuid for uuid in found if uuid is not None}:
                return consumers
        return set()

    def _qemu_uuid(self, process: str) -> str | None:
        words = (self._files.text(f"/proc/{process}/cmdline") or "").split("\0")
        for word, following in itertools.pairwise(words):
            if word == "-uuid":
                try:
                    return str(uuid_module.UUID(following))
                except ValueError:
                    return None
        return None


def _union(below: dict[str, Cpuset]) -> Cpuset:
    """What the cgroups below one may use in all.

    If libvirt tells virtual processors and other threads of QEMU apart, only the virtual
    processors count as users of CPUs. All of them use memory.
    """
    virtual = {name for name in below if _VIRTUAL_PROCESSOR.fullmatch(name)}
    whole = Cpuset()
    for name, each in below.items():
        if name in virtual and each.cpus:
            whole |= Cpuset(cpus=each.cpus, memory_nodes=each.memory_nodes, virtual=(each.cpus,))
        elif virtual and _QEMU_HELPERS.fullmatch(name):
            whole |= Cpuset(memory_nodes=each.memory_nodes)
        else:
            whole |= each
    return whole
