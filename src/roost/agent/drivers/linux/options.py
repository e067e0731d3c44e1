"""The options of the linux driver, parsed and validated."""

from collections.abc import Mapping
from enum import StrEnum

from roost.agent.driver import DriverError
from roost.agent.drivers.linux.system_files import parse_cpus
from roost.model import Value


class NumaProviders(StrEnum):
    """Whether each NUMA node is a provider."""

    AUTO = "auto"  # if there are several nodes
    ALWAYS = "always"
    NEVER = "never"


class HugePages(StrEnum):
    """How huge pages are counted."""

    SEPARATE = "separate"  # each size is a class of its own, and MEMORY_MB is the rest
    MEMORY = "memory"  # as MEMORY_MB, for consumers that hold MEMORY_MB for them


class LinuxOptions(Value, frozen=True, kw_only=True):
    """One field for each option, of the same name."""

    root: str = "/"  # the folder that holds /sys and /proc
    name: str | None = None  # of the root provider; None: the host name
    numa: NumaProviders = NumaProviders.AUTO
    cpu_dedicated_set: frozenset[int] | None = None  # PCPU; None: what the kernel isolates
    cpu_shared_set: frozenset[int] | None = None  # VCPU; None: all others
    huge_pages: HugePages = HugePages.SEPARATE
    reserved_memory_mb: int = 512  # for the host itself, distributed over its NUMA nodes
    reserved_disk_gb: int = 0
    disk_folder: str | None = None  # its file system is DISK_GB; None: all disks
    vgpu_types: tuple[str, ...] = ()
    # None: the ratio of the service, so that operators can set it there; 1.0 for a new inventory.
    vcpu_ratio: float | None = None
    memory_ratio: float | None = None
    disk_ratio: float | None = None


def read_options(options: Mapping[str, str]) -> LinuxOptions:
    known = LinuxOptions.__struct_fields__
    if unknown := sorted(set(options) - set(known)):
        raise DriverError(
            f"The linux driver has no option {', '.join(unknown)}; it has {', '.join(known)}."
        )
    fields: dict[str, object] = {
        **{name: options[name] for name in ("root", "name", "disk_folder") if name in options},
        **_choice(options, "numa", NumaProviders),
        **_choice(options, "huge_pages", HugePages),
    }
    for name in ("cpu_dedicated_set", "cpu_shared_set"):
        if name in options:
            fields[name] = parse_cpus(options[name], f"Option {name}")
    for name in ("reserved_memory_mb", "reserved_disk_gb"):
        if name in options:
            fields[name] = _amount(name, options[name])
    for name in ("vcpu_ratio", "memory_ratio", "disk_ratio"):
        if name in options:
            fields[name] = _ratio(name, options[name])
    if "vgpu_types" in options:
        parts = (part.strip() for part in options["vgpu_types"].split(","))
        fields["vgpu_types"] = tuple(part for part in parts if part)
    read = LinuxOptions(**fields)  # type: ignore[arg-type]
    _check_sets(read)
    return read


def _choice(options: Mapping[str, str], name: str, choices: type[StrEnum]) -> dict[str, StrEnum]:
    if name not in options:
        return {}
    try:
        return {name: choices(options[name])}
    except ValueError:
        raise DriverError(
            f"Option {name}: {options[name]!r} is none of {', '.join(choices)}."
        ) from None


def _amount(name: str, text: str) -> int:
    if not text.isdecimal():
        raise DriverError(f"Option {name}: {text!r} is not an amount.")
    return int(text)


def _ratio(name: str, text: str) -> float:
    try:
        ratio = float(text)
    except ValueError:
        ratio = 0.0
    if not 0 < ratio < float("inf"):
        raise DriverError(f"Option {name}: {text!r} is not a ratio above 0.")
    return ratio


def _check_sets(options: LinuxOptions) -> None:
    both = (options.cpu_dedicated_set or frozenset()) & (options.cpu_shared_set or frozenset())
    if both:
        listed = ", ".join(map(str, sorted(both)))
        raise DriverError(f"CPUs are in cpu_dedicated_set and in cpu_shared_set: {listed}.")
