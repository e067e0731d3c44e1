"""The processors of a Linux machine, and their features as traits."""

import os_traits  # type: ignore[import-untyped]

from roost.agent.drivers.linux.system_files import SystemFiles
from roost.agent.drivers.machines.machine import Processors
from roost.agent.drivers.machines.processor_traits import (
    architecture_traits,
    arm_traits,
    x86_traits,
)

_CPUS = "/sys/devices/system/cpu"
# The flag says what the processor supports; the parameter of kvm_amd says whether it is enabled.
_KVM_AMD_PARAMETERS = {"sev": "sev", "sev_es": "sev_es", "sev_snp": "sev_snp"}


def read_processors(files: SystemFiles) -> Processors:
    records = _cpuinfo(files)
    listed = frozenset(range(sum(1 for record in records if "processor" in record)))
    online = files.cpus(f"{_CPUS}/online") or listed
    return Processors(
        online=online,
        present=(files.cpus(f"{_CPUS}/present") or online) | online,
        isolated=(files.cpus(f"{_CPUS}/isolated") or frozenset()) & online,
        traits=_traits(files, records) | _smt_traits(files, online),
    )


def _cpuinfo(files: SystemFiles) -> list[dict[str, str]]:
    """/proc/cpuinfo, one record for each CPU."""
    return [
        {
            key.strip(): value.strip()
            for key, colon, value in (line.partition(":") for line in block.splitlines())
            if colon
        }
        for block in (files.text("/proc/cpuinfo") or "").split("\n\n")
    ]


def _smt_traits(files: SystemFiles, online: frozenset[int]) -> frozenset[str]:
    """Hyperthreading counts only if two threads of one core are online."""
    for cpu in online:
        siblings = files.cpus(f"{_CPUS}/cpu{cpu}/topology/thread_siblings_list") or frozenset()
        if len(siblings & online) > 1:
            return frozenset({os_traits.HW_CPU_HYPERTHREADING})
    return frozenset()


def _traits(files: SystemFiles, records: list[dict[str, str]]) -> frozenset[str]:
    """The features that all CPUs have: big and little cores of one machine may differ."""
    sets = [
        _record_traits(files, each) for each in records if "flags" in each or "Features" in each
    ]
    found = frozenset.intersection(*sets) if sets else frozenset()
    # KVM runs guests of the machine's own architecture.
    return found | architecture_traits(_architecture(records), runs=files.exists("/dev/kvm"))


def _record_traits(files: SystemFiles, record: dict[str, str]) -> frozenset[str]:
    if "Features" in record:
        return arm_traits(record["Features"].split())
    flags = {flag for flag in record["flags"].split() if _is_enabled(files, flag)}
    return x86_traits(flags, record.get("vendor_id", ""))


def _is_enabled(files: SystemFiles, flag: str) -> bool:
    if flag not in _KVM_AMD_PARAMETERS:
        return True
    return files.text(f"/sys/module/kvm_amd/parameters/{_KVM_AMD_PARAMETERS[flag]}") in ("1", "Y")


def _architecture(records: list[dict[str, str]]) -> str | None:
    for record in records:
        if "flags" in record:
            return "X86_64" if "lm" in record["flags"].split() else "I686"
        if record.get("CPU architecture") in ("8", "AArch64"):
            return "AARCH64"
        if record.get("CPU architecture", "").startswith("7"):
            return "ARMV7"
    return None
