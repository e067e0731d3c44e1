"""The features of processors as traits."""

from collections.abc import Iterable

import os_traits  # type: ignore[import-untyped]

_X86, _ARM = "HW_CPU_X86_", "HW_CPU_AARCH64_"

# Flags for which the kernel or libvirt and os-traits have different names; without separators.
_ALIASES = {
    "AES": "AESNI",
    "BMI1": "BMI",
    "FMA": "FMA3",
    "IBRS": "SPECCTRL",
    "PCLMULDQ": "CLMUL",
    "PCLMULQDQ": "CLMUL",
    "PNI": "SSE3",
    "RTM": "TSX",
    "SHANI": "SHA",
    "TDXHOSTPLATFORM": "TDX",
}
# These flags also exist without AVX-512, but their traits are about the AVX-512 form.
_WITH_AVX512 = {"GFNI", "VAES", "VPCLMULQDQ"}
# As the kernel names them, and as libvirt does.
_VENDORS = {
    "GenuineIntel": "INTEL",
    "Intel": "INTEL",
    "AuthenticAMD": "AMD",
    "AMD": "AMD",
    "HygonGenuine": "AMD",
    "Hygon": "AMD",
}


def x86_traits(flags: Iterable[str], vendor: str) -> frozenset[str]:
    """The traits of an x86 processor with these flags."""
    names = _names(flags)
    wanted = {f"{_X86}{name}" for name in names}
    if vendor in _VENDORS:
        wanted |= {f"{_X86}{_VENDORS[vendor]}{name}" for name in names}
    known = {_without_separators(name): name for name in _known(_X86)}
    found = {_without_separators(name) for name in wanted} & known.keys()
    return frozenset(known[name] for name in found)


def arm_traits(features: Iterable[str]) -> frozenset[str]:
    """The traits of an ARM processor with these features."""
    return frozenset({f"{_ARM}{name.upper()}" for name in features} & _known(_ARM))


def architecture_traits(architecture: str | None, *, runs: bool) -> frozenset[str]:
    """The traits of an architecture, such as X86_64. `runs`: the host runs guests of it."""
    if architecture is None:
        return frozenset()
    traits = {f"HW_ARCH_{architecture}"}
    if runs:
        traits.add(f"COMPUTE_ARCH_{architecture}")
    return frozenset(traits & set(os_traits.get_traits()))


def _names(flags: Iterable[str]) -> set[str]:
    """Flags under the names that os-traits may have for them."""
    names = {_without_separators(flag) for flag in flags}
    wide = {f"AVX512{name}" for name in names & _WITH_AVX512 if "AVX512F" in names}
    return names | {_ALIASES[name] for name in names & _ALIASES.keys()} | wide


def _without_separators(name: str) -> str:
    return name.upper().translate({ord(separator): None for separator in "_-."})


def _known(prefix: str) -> set[str]:
    return set(os_traits.get_traits(prefix))
