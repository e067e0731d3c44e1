"""The options of the linux driver, read and checked."""

from collections.abc import Mapping

from roost.agent.drivers.base import DriverError
from roost.agent.drivers.linux_files import parse_cpus
from roost.model import Value

NUMA_CHOICES = ("auto", "always", "never")
HUGE_PAGES_CHOICES = ("separate", "memory")


class LinuxOptions(Value, frozen=True, kw_only=True):
    """Each field is an option of the same name."""

    root: str = "/"  # the folder that holds /sys and /proc
    name: str | None = None  # of the root provider; None: the host name
    numa: str = "auto"  # NUMA nodes as providers: auto is where there is more than one
    cpu_dedicated_set: frozenset[int] | None = None  # PCPU; None: what the kernel isolates
    cpu_shared_set: frozenset[int] | None = None  # VCPU; None: all others
    # Huge pages: `separate` is a class for each size, and the rest is MEMORY_MB; `memory` leaves
    # them in MEMORY_MB, for consumers that hold MEMORY_MB for them.
    huge_pages: str = "separate"
    reserved_memory_mb: int = 512  # for the host itself, spread over its NUMA nodes
    reserved_disk_gb: int = 0
    disk_folder: str | None = None  # its file system is DISK_GB; None: all disks are
    vgpu_types: tuple[str, ...] = ()
    # None: as the service has it, so that operators may set it there; 1.0 at first.
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
        **_choices(options, "numa", NUMA_CHOICES),
        **_choices(options, "huge_pages", HUGE_PAGES_CHOICES),
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


def _choices(options: Mapping[str, str], name: str, choices: tuple[str, ...]) -> dict[str, str]:
    if name not in options:
        return {}
    if options[name] not in choices:
        raise DriverError(f"Option {name}: {options[name]!r} is none of {', '.join(choices)}.")
    return {name: options[name]}


def _amount(name: str, text: str) -> int:
    if not text.isdecimal():
        raise DriverError(f"Option {name}: {text!r} is no amount.")
    return int(text)


def _ratio(name: str, text: str) -> float:
    try:
        ratio = float(text)
    except ValueError:
        ratio = 0.0
    if not 0 < ratio < float("inf"):
        raise DriverError(f"Option {name}: {text!r} is no ratio above 0.")
    return ratio


def _check_sets(options: LinuxOptions) -> None:
    both = (options.cpu_dedicated_set or frozenset()) & (options.cpu_shared_set or frozenset())
    if both:
        listed = ", ".join(map(str, sorted(both)))
        raise DriverError(f"CPUs are in cpu_dedicated_set and in cpu_shared_set: {listed}.")
