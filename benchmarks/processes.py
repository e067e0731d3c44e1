"""What processes cost: processor time and memory, of a process and all below it."""

import os
import time
from collections.abc import Iterator, Sequence

import psutil

# The kernel's number for "processor time of that process", see clock_getcpuclockid(3).
_PROCESS_CLOCK = 2


def family(process_id: int) -> Iterator[psutil.Process]:
    process = psutil.Process(process_id)
    yield process
    yield from process.children(recursive=True)


def cpu_seconds(process_ids: Sequence[int]) -> float:
    """Processor time that these processes and all below them have used so far.

    Read from the kernel's clock of each process: /proc/<pid>/stat counts in hundredths of a
    second, and many requests take less. What children used that are gone is with their parents.
    """
    return sum(_cpu_seconds(process) for root in process_ids for process in family(root))


def _cpu_seconds(process: psutil.Process) -> float:
    try:
        own: float = time.clock_gettime((~process.pid << 3) | _PROCESS_CLOCK)
        times = process.cpu_times()
        return own + float(times.children_user + times.children_system)
    except (OSError, psutil.Error):
        # It ended in this moment.
        return 0.0


def largest_memory(process_id: int) -> tuple[int, int]:
    """Bytes of the largest process below this one, a worker: resident, and its fair share."""
    pairs = []
    for process in family(process_id):
        try:
            memory = process.memory_full_info()
        except psutil.Error:
            continue
        pairs.append((memory.rss, memory.pss))
    return max(pairs)


def machine() -> str:
    """The machine in a few words, without its name."""
    model = "unknown processor"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    memory = psutil.virtual_memory().total / 2**30
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB of memory, Linux {_release()}"


def _release() -> str:
    return ".".join(os.uname().release.split(".")[:2])
