"""Machines as folders that contain files of /sys and /proc."""

from pathlib import Path

XEON_FLAGS = (
    "fpu mmx sse sse2 ht lm pdpe1gb pni pclmulqdq vmx ssse3 fma pcid sse4_1 sse4_2 aes avx f16c "
    "abm ibrs ibpb stibp bmi1 avx2 bmi2 avx512f avx512dq avx512cd avx512bw avx512vl avx512_vnni "
    "gfni vaes vpclmulqdq ssbd md_clear"
)
LAPTOP_FLAGS = "fpu mmx sse sse2 ht lm pni ssse3 fma sse4_1 sse4_2 aes avx f16c avx2 gfni vaes"
EPYC_FLAGS = "fpu mmx sse sse2 lm pni svm sse4a aes avx avx2 sev sev_es ssbd sha_ni"
ARM_FEATURES = "fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid"


class MachineFolder:
    """A folder that is filled with the files of one machine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, path: str, content: str | int = "") -> None:
        target = self.path / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"{content}\n")

    def processors(self, count: int, flags: str, *, vendor="GenuineIntel", siblings=None) -> None:
        """`siblings(cpu)` lists the threads of its core."""
        records = [
            f"processor\t: {cpu}\nvendor_id\t: {vendor}\nflags\t\t: {flags}" for cpu in range(count)
        ]
        self.write("/proc/cpuinfo", "\n\n".join(records))
        self.cpu_lists(online=f"0-{count - 1}", present=f"0-{count - 1}")
        for cpu in range(count):
            threads = siblings(cpu) if siblings else str(cpu)
            self.write(f"{CPUS}/cpu{cpu}/topology/thread_siblings_list", threads)

    def cpu_lists(self, **lists: str) -> None:
        for name, cpus in lists.items():
            self.write(f"{CPUS}/{name}", cpus)

    def memory(self, mebibytes: int) -> None:
        self.write("/proc/meminfo", f"MemTotal:       {mebibytes * 1024} kB\nMemFree:  12 kB")

    def node(self, number: int, cpus: str, mebibytes: int, **pages: int) -> None:
        """Pages by size: kB2048=512."""
        folder = f"{NODES}/node{number}"
        self.write(f"{folder}/cpulist", cpus)
        self.write(f"{folder}/meminfo", f"Node {number} MemTotal:       {mebibytes * 1024} kB")
        for size, count in ({"kB2048": 0, "kB1048576": 0} | pages).items():
            name = f"hugepages-{size.removeprefix('kB')}kB"
            self.write(f"{folder}/hugepages/{name}/nr_hugepages", count)

    def pci(self, address: str, code: str, vendor: str, device: str, **files: str | int) -> str:
        folder = f"{PCI}/{address}"
        self.write(f"{folder}/class", code)
        self.write(f"{folder}/vendor", vendor)
        self.write(f"{folder}/device", device)
        for name, content in ({"numa_node": -1} | files).items():
            self.write(f"{folder}/{name}", content)
        return folder

    def network_card(self, address: str, interface: str, node: int, functions: int) -> None:
        folder = self.pci(
            address,
            "0x020000",
            "0x15b3",
            "0x1017",
            numa_node=node,
            sriov_totalvfs=16,
            sriov_numvfs=functions,
        )
        for queue in ("rx-0", "tx-0", "tx-1"):
            self.write(f"{folder}/net/{interface}/queues/{queue}/numa_node")
        for function in range(functions):
            self.virtual_function(address, function)

    def virtual_function(self, card: str, number: int) -> None:
        folder = self.pci(f"{card[:-1]}{number + 2:x}", "0x020000", "0x15b3", "0x1018")
        (self.path / folder.lstrip("/") / "physfn").symlink_to(f"../{card}")

    def gpu(self, address: str, node: int, **types: tuple[int, int]) -> None:
        """Types of virtual GPUs: how many can still be created, and how many exist."""
        folder = self.pci(address, "0x030200", "0x10de", "0x20b5", numa_node=node)
        for name, (left, used) in types.items():
            kind = f"{folder}/mdev_supported_types/{name.replace('_', '-')}"
            self.write(f"{kind}/available_instances", left)
            for number in range(used):
                self.write(f"{kind}/devices/mdev-{number}/uevent")

    def disk(self, name: str, gibibytes: int, *, removable: int = 0, physical: bool = True) -> None:
        self.write(f"/sys/block/{name}/size", gibibytes * 2**21)
        self.write(f"/sys/block/{name}/removable", removable)
        if physical:
            self.write(f"/sys/block/{name}/device/model", "a disk")


class Cgroups:
    """The cgroups of a machine, in one of the two versions."""

    def __init__(self, machine: MachineFolder, version: int, cpus: str, nodes: str) -> None:
        self._machine = machine
        self._version = version
        self._folder = "/sys/fs/cgroup/cpuset" if version == 1 else "/sys/fs/cgroup"
        if version == 1:
            # The hierarchies of other controllers, and of systemd, limit no processors.
            machine.write("/sys/fs/cgroup/memory/machine.slice/cgroup.procs")
            machine.write("/sys/fs/cgroup/unified/cgroup.controllers")
        else:
            machine.write("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids")
        self.add("", cpus, nodes)

    def add(self, path: str, cpus: str = "", nodes: str = "", *, process: int | None = None) -> str:
        """A cgroup. Without processors, version 2 shows those of its parent as effective."""
        folder = f"{self._folder}/{path}".rstrip("/")
        threads = "" if process is None else process
        self._machine.write(f"{folder}/cgroup.procs", threads)
        if self._version == 1:
            self._machine.write(f"{folder}/tasks", threads)
            self._machine.write(f"{folder}/cpuset.cpus", cpus)
            self._machine.write(f"{folder}/cpuset.effective_cpus", cpus)
            self._machine.write(f"{folder}/cpuset.mems", nodes)
            self._machine.write(f"{folder}/cpuset.effective_mems", nodes)
            return path
        self._machine.write(f"{folder}/cgroup.threads", threads)
        for name, value in (("cpus", cpus), ("mems", nodes)):
            if path:
                self._machine.write(f"{folder}/cpuset.{name}", value)
            if value:
                self._machine.write(f"{folder}/cpuset.{name}.effective", value)
        return path

    def domain(
        self,
        number: int,
        uuid: str,
        vcpus: list[str],
        nodes: str,
        *,
        emulator: str,
        folder: str = "libvirt/",
    ) -> None:
        """A domain of libvirt as nova starts it; its cgroup has the name but not the UUID."""
        process = 4000 + number
        scope = f"machine.slice/machine-qemu\\x2d{number}\\x2dinstance\\x2d{number:08x}.scope"
        self.add("machine.slice")
        self.add(scope)
        self.add(f"{scope}/{folder}".rstrip("/"), "", nodes)
        self.add(f"{scope}/{folder}emulator", emulator, nodes, process=process)
        for position, cpus in enumerate(vcpus):
            self.add(f"{scope}/{folder}vcpu{position}", cpus, nodes, process=process)
        words = ["/usr/bin/qemu-system-x86_64", "-name", f"guest=instance-{number:08x}"]
        words += ["-smp", str(len(vcpus)), "-uuid", uuid, "-no-user-config"]
        self._machine.write(f"/proc/{process}/cmdline", "\0".join(words))


CPUS = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"
PCI = "/sys/bus/pci/devices"


def server(path: Path) -> MachineFolder:
    """Two sockets of four cores and eight threads, cards on each, and a display for the BMC."""
    machine = MachineFolder(path)
    machine.processors(16, XEON_FLAGS, siblings=lambda cpu: f"{cpu % 8},{cpu % 8 + 8}")
    machine.memory(64 * 1024)
    machine.node(0, "0-3,8-11", 32 * 1024, kB2048=1024)
    machine.node(1, "4-7,12-15", 32 * 1024, kB1048576=4)
    machine.network_card("0000:3b:00.0", "ens1f0", 0, 8)
    machine.network_card("0000:af:00.0", "ens5f0", 1, 4)
    machine.network_card("0000:af:00.1", "ens5f1", 1, 0)
    machine.gpu("0000:5e:00.0", 0)
    machine.gpu("0000:d8:00.0", 1)
    machine.pci("0000:02:00.0", "0x030000", "0x1a03", "0x2000", boot_vga=1)
    machine.pci("0000:00:14.0", "0x0c0330", "0x8086", "0xa1af")
    machine.disk("nvme0n1", 1000)
    machine.disk("nvme1n1", 1000)
    machine.disk("dm-0", 900, physical=False)
    machine.write("/dev/kvm")
    return machine


def laptop(path: Path) -> MachineFolder:
    machine = MachineFolder(path)
    machine.processors(8, LAPTOP_FLAGS, siblings=lambda cpu: f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}")
    machine.memory(16 * 1024)
    machine.node(0, "0-7", 16 * 1024)
    machine.pci("0000:00:02.0", "0x030000", "0x8086", "0x9a49", boot_vga=1)
    machine.gpu("0000:01:00.0", -1)
    machine.pci("0000:00:14.3", "0x028000", "0x8086", "0xa0f0")
    machine.disk("nvme0n1", 512)
    machine.disk("sda", 32, removable=1)
    return machine


def board(path: Path) -> MachineFolder:
    """An ARM board: no NUMA, no PCI, hardly any topology, and its system on a memory card."""
    machine = MachineFolder(path)
    record = f"processor\t: {{}}\nBogoMIPS\t: 108.00\nFeatures\t: {ARM_FEATURES}"
    record += "\nCPU implementer\t: 0x41\nCPU architecture: 8"
    machine.write("/proc/cpuinfo", "\n\n".join(record.format(cpu) for cpu in range(4)))
    machine.cpu_lists(online="0-3", present="0-3")
    machine.memory(4096)
    machine.disk("mmcblk0", 32)
    return machine


def virtual_machine(path: Path) -> MachineFolder:
    """A guest without NUMA; some of its processors are not plugged in."""
    machine = MachineFolder(path)
    machine.processors(4, EPYC_FLAGS, vendor="AuthenticAMD")
    machine.cpu_lists(online="0-3", present="0-3", possible="0-15")
    machine.memory(8192)
    machine.pci("0000:00:01.0", "0x030000", "0x1234", "0x1111", boot_vga=1)
    machine.disk("vda", 40)
    return machine
