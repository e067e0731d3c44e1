"""Lists of CPUs, and of NUMA nodes, as text."""

from roost.agent.driver import DriverError

# More than a kernel can be built for. A larger number would only fill the memory.
CPUS_MAX = 2**16


def parse_cpus(text: str, where: str) -> frozenset[int]:
    """Parse a list of CPUs as the kernel writes it (0-3,8) or as operators do (0-7,^4)."""
    chosen: set[int] = set()
    excluded: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, dash, last = part.removeprefix("^").partition("-")
        try:
            found = range(int(first), int(last if dash else first) + 1)
        except ValueError as error:
            raise DriverError(f"{where}: {part!r} is not a list of CPUs such as 0-3,8.") from error
        if found.stop > CPUS_MAX:
            raise DriverError(f"{where}: no machine has a CPU {found.stop - 1}.")
        (excluded if part.startswith("^") else chosen).update(found)
    return frozenset(chosen - excluded)
