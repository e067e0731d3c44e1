"""Processor time and memory of a process and its descendants."""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence

import psutil

# The kernel's number for "processor time of that process", see clock_getcpuclockid(3).
_PROCESS_CLOCK = 2


def process_tree(process_id: int) -> Iterator[psutil.Process]:
    process = psutil.Process(process_id)
    yield process
    yield from process.children(recursive=True)


def cpu_seconds(process_ids: Sequence[int]) -> float:
    """Processor time that these processes and their descendants have used so far.

    It is read from the kernel's clock of each process, because /proc/<pid>/stat counts in
    hundredths of a second, and many requests take less. The time of children that have ended is
    included in that of their parents.
    """
    return sum(_cpu_seconds(process) for root in process_ids for process in process_tree(root))


def _cpu_seconds(process: psutil.Process) -> float:
    try:
        own: float = time.clock_gettime((~process.pid << 3) | _PROCESS_CLOCK)
        times = process.cpu_times()
        return own + float(times.children_user + times.children_system)
    except (OSError, psutil.Error):
        # The process has just ended.
        return 0.0


def largest_memory(process_id: int) -> tuple[int, int]:
    """Bytes of the largest process, a worker: resident and proportional set size."""
    pairs = []
    for process in process_tree(process_id):
        try:
            memory = process.memory_full_info()
        except psutil.Error:
            continue
        pairs.append((memory.rss, memory.pss))
    return max(pairs)


def resident_memory(process_id: int) -> int:
    """Bytes of the largest process, resident. Unlike `largest_memory`, a look costs it nothing."""
    found = [0]
    # Some of them, or all, may end at any time.
    with contextlib.suppress(psutil.Error):
        for process in process_tree(process_id):
            found.append(process.memory_info().rss)
    return max(found)


def machine() -> str:
    """A short description of the machine, without its name."""
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
