"""The processors of a Linux machine, and their features as traits."""

import os_traits  # type: ignore[import-untyped]

from roost.agent.drivers.linux.system_files import SystemFiles
from roost.model import Value

_CPUS = "/sys/devices/system/cpu"
_X86, _ARM = "HW_CPU_X86_", "HW_CPU_AARCH64_"

# Flags for which the kernel and os-traits have different names; both without underscores.
_ALIASES = {
    "AES": "AESNI",
    "BMI1": "BMI",
    "FMA": "FMA3",
    "IBRS": "SPECCTRL",
    "PCLMULQDQ": "CLMUL",
    "PNI": "SSE3",
    "RTM": "TSX",
    "SHANI": "SHA",
    "TDXHOSTPLATFORM": "TDX",
}
# These flags also exist without AVX-512, but their traits are about the AVX-512 form.
_WITH_AVX512 = {"GFNI", "VAES", "VPCLMULQDQ"}
# The flag says what the processor supports; the parameter of kvm_amd says whether it is enabled.
_KVM_AMD_PARAMETERS = {"sev": "sev", "sev_es": "sev_es", "sev_snp": "sev_snp"}
_VENDORS = {"GenuineIntel": "INTEL", "AuthenticAMD": "AMD", "HygonGenuine": "AMD"}


class Processors(Value, frozen=True, kw_only=True):
    """The CPUs that can be used."""

    online: frozenset[int]
    present: frozenset[int]  # including those that are offline
    isolated: frozenset[int]  # the kernel's scheduler leaves them alone (isolcpus)
    traits: frozenset[str]


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
    return found | _architecture_traits(files, records)


def _record_traits(files: SystemFiles, record: dict[str, str]) -> frozenset[str]:
    if "Features" in record:
        names = {f"{_ARM}{flag.upper()}" for flag in record["Features"].split()}
        return frozenset(names & _known(_ARM))
    flags = {flag for flag in record["flags"].split() if _is_enabled(files, flag)}
    vendor = _VENDORS.get(record.get("vendor_id", ""))
    wanted = {f"{_X86}{name}" for name in _names(flags)}
    if vendor:
        wanted |= {f"{_X86}{vendor}{name}" for name in _names(flags)}
    known = {_without_underscores(name): name for name in _known(_X86)}
    found = {_without_underscores(name) for name in wanted} & known.keys()
    return frozenset(known[name] for name in found)


def _names(flags: set[str]) -> set[str]:
    """The kernel's flags under the names that os-traits may have for them."""
    names = {_without_underscores(flag) for flag in flags}
    wide = {f"AVX512{name}" for name in names & _WITH_AVX512 if "AVX512F" in names}
    return names | {_ALIASES[name] for name in names & _ALIASES.keys()} | wide


def _is_enabled(files: SystemFiles, flag: str) -> bool:
    if flag not in _KVM_AMD_PARAMETERS:
        return True
    return files.text(f"/sys/module/kvm_amd/parameters/{_KVM_AMD_PARAMETERS[flag]}") in ("1", "Y")


def _without_underscores(name: str) -> str:
    return name.upper().replace("_", "")


def _known(prefix: str) -> set[str]:
    return set(os_traits.get_traits(prefix))


def _architecture_traits(files: SystemFiles, records: list[dict[str, str]]) -> frozenset[str]:
    architecture = _architecture(records)
    if architecture is None:
        return frozenset()
    traits = {f"HW_ARCH_{architecture}"}
    if files.exists("/dev/kvm"):
        # KVM runs guests of the machine's own architecture.
        traits.add(f"COMPUTE_ARCH_{architecture}")
    return frozenset(traits & set(os_traits.get_traits()))


def _architecture(records: list[dict[str, str]]) -> str | None:
    for record in records:
        if "flags" in record:
            return "X86_64" if "lm" in record["flags"].split() else "I686"
        if record.get("CPU architecture") in ("8", "AArch64"):
            return "AARCH64"
        if record.get("CPU architecture", "").startswith("7"):
            return "ARMV7"
    return None
