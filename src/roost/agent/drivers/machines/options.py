"""The options of drivers that describe a machine, parsed and validated."""

import uuid as uuid_module
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

from msgspec import field

from roost.agent.driver import DriverError
from roost.agent.drivers.class_names import problems_of_renames
from roost.agent.drivers.machines.cpu_lists import parse_cpus
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


class MachineOptions(Value, frozen=True, kw_only=True):
    """One field for each option, of the same name. A driver derives its own options from these."""

    name: str | None = None  # of the root provider; None: the host name
    numa: NumaProviders = NumaProviders.AUTO
    cpu_dedicated_set: frozenset[int] | None = None  # PCPU; None: what the kernel isolates
    cpu_shared_set: frozenset[int] | None = None  # VCPU; None: all others
    huge_pages: HugePages = HugePages.SEPARATE
    reserved_memory_mb: int = 512  # for the host itself, distributed over its NUMA nodes
    reserved_disk_gb: int = 0
    # Type -> how many of it a card has room for; None: what the card says.
    vgpu_types: dict[str, int | None] = field(default_factory=dict)
    # None: the ratio of the service, so that operators can set it there; 1.0 for a new inventory.
    vcpu_ratio: float | None = None
    memory_ratio: float | None = None
    disk_ratio: float | None = None
    renamed_classes: dict[str, str] = field(default_factory=dict)  # old -> new


Options = TypeVar("Options", bound=MachineOptions)

# Takes the name of an option and its text.
Parser = Callable[[str, str], object]


def read_options(
    kind: type[Options],
    driver: str,
    options: Mapping[str, str],
    parsers: Mapping[str, Parser] | None = None,
) -> Options:
    """The options of a driver, whose name is for error messages; `parsers` are of its own ones."""
    known = kind.__struct_fields__
    if unknown := sorted(set(options) - set(known)):
        raise DriverError(
            f"The {driver} driver has no option {', '.join(unknown)}; it has {', '.join(known)}."
        )
    known_parsers = {**_PARSERS, **(parsers or {})}
    fields: dict[str, Any] = {
        name: known_parsers.get(name, _text)(name, text) for name, text in options.items()
    }
    read = kind(**fields)
    _check_sets(read)
    return read


def _text(name: str, text: str) -> str:
    return text


def parse_list(name: str, text: str) -> tuple[str, ...]:
    """Parts that are separated by commas."""
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def _vgpu_types(name: str, text: str) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for part in parse_list(name, text):
        vgpu_type, colon, maximum = part.partition(":")
        if not vgpu_type or (colon and not (maximum.isdecimal() and int(maximum))):
            raise DriverError(f"Option {name}: {part!r} is neither TYPE nor TYPE:NUMBER.")
        found[vgpu_type] = int(maximum) if colon else None
    return found


def parse_uuid(keyword: str, name: str, text: str) -> str:
    """A UUID, or a keyword that says where to find one."""
    if text == keyword:
        return text
    try:
        return str(uuid_module.UUID(text))
    except ValueError:
        raise DriverError(f"Option {name}: {text!r} is neither a UUID nor {keyword}.") from None


def _renamed_classes(name: str, text: str) -> dict[str, str]:
    """VCPU:PCPU,CUSTOM_GPUZ:PGPU"""
    renamed_classes: dict[str, str] = {}
    for part in parse_list(name, text):
        old, _, new = (word.strip() for word in part.partition(":"))
        if not (old and new):
            raise DriverError(f"Option {name}: {part!r} is not OLD:NEW.")
        if renamed_classes.setdefault(old, new) != new:
            raise DriverError(f"Option {name}: {old} has two new names.")
    for _, problem in problems_of_renames(renamed_classes):
        raise DriverError(f"Option {name}: {problem}{'' if problem.endswith('?') else '.'}")
    return renamed_classes


def _cpus(name: str, text: str) -> frozenset[int]:
    return parse_cpus(text, f"Option {name}")


def _choice(choices: type[StrEnum], name: str, text: str) -> StrEnum:
    try:
        return choices(text)
    except ValueError:
        raise DriverError(f"Option {name}: {text!r} is none of {', '.join(choices)}.") from None


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


# Option -> its parser. All others are taken as they are.
_PARSERS: dict[str, Parser] = {
    "numa": partial(_choice, NumaProviders),
    "cpu_dedicated_set": _cpus,
    "cpu_shared_set": _cpus,
    "huge_pages": partial(_choice, HugePages),
    "reserved_memory_mb": _amount,
    "reserved_disk_gb": _amount,
    "vgpu_types": _vgpu_types,
    "vcpu_ratio": _ratio,
    "memory_ratio": _ratio,
    "disk_ratio": _ratio,
    "renamed_classes": _renamed_classes,
}


def _check_sets(options: MachineOptions) -> None:
    both = (options.cpu_dedicated_set or frozenset()) & (options.cpu_shared_set or frozenset())
    if both:
        listed = ", ".join(map(str, sorted(both)))
        raise DriverError(f"CPUs are in cpu_dedicated_set and in cpu_shared_set: {listed}.")
