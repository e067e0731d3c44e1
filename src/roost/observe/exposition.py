"""The metrics as text, in Prometheus' exposition format.

Where several processes serve (PROMETHEUS_MULTIPROC_DIR), each of them answers for all.
"""

import contextlib
import fcntl
import logging
import os
import platform
import struct
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from roost import __version__
from roost.observe import metrics, metrics_files

LOG = logging.getLogger(__name__)

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

READ_ATTEMPTS = 20
READ_PAUSE_SECONDS = 0.05


def scrape() -> bytes:
    """All metrics of all processes that serve."""
    folder = os.environ.get(metrics_files.FOLDER_VARIABLE)
    registry = CollectorRegistry()
    if folder is None:
        processes = [os.getpid()]
        registry.register(metrics.REGISTRY)
    else:
        processes = _alive_processes(Path(folder))
        MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
    registry.register(_ProcessCollector(processes))
    if folder is None:
        return generate_latest(registry)
    with metrics_files.locked(Path(folder), fcntl.LOCK_SH):
        return _read_files(registry)


def _read_files(registry: CollectorRegistry) -> bytes:
    """The metrics, of all files of the folder.

    A process that starts creates its files empty, and fills them at once. In between they cannot be
    read.
    """
    for _ in range(READ_ATTEMPTS - 1):
        try:
            return generate_latest(registry)
        except struct.error:
            time.sleep(READ_PAUSE_SECONDS)
    return generate_latest(registry)


def drop_own_gauges() -> None:
    """Remove the gauges of this process, which serves nothing itself, from those of its workers."""
    folder = os.environ.get(metrics_files.FOLDER_VARIABLE)
    if folder is not None:
        _drop_gauges(os.getpid(), folder)


def add_up_ended() -> None:
    """Keep the counters of processes that have ended in one place, and remove their files.

    Otherwise there would be more files, and more to read for each scrape, whenever one is replaced.
    """
    folder = os.environ.get(metrics_files.FOLDER_VARIABLE)
    if folder is None:
        return
    try:
        # A process that is stopped may hold the lock for ever. They are added up next time, then.
        with metrics_files.locked(Path(folder), fcntl.LOCK_EX | fcntl.LOCK_NB):
            for process, is_alive in metrics_files.processes(Path(folder)).items():
                if not is_alive:
                    _drop_gauges(process, folder)
                    _add_up(Path(folder), process)
    except BlockingIOError:
        LOG.info("the metrics of ended processes are being read, and stay as they are")
    except Exception:
        LOG.exception("the metrics of ended processes cannot be added up")


def _add_up(folder: Path, process: int) -> None:
    for path in folder.glob(f"*_{process}.db"):
        kind = path.name.partition("_")[0]
        total = MmapedDict(str(folder / metrics_files.ENDED.format(kind)))  # type: ignore[no-untyped-call]
        try:
            for key, value, at, _ in MmapedDict.read_all_values_from_file(path):  # type: ignore[no-untyped-call]
                total.write_value(key, total.read_value(key)[0] + value, at)  # type: ignore[no-untyped-call]
        finally:
            total.close()  # type: ignore[no-untyped-call]
        path.unlink()


def _alive_processes(folder: Path) -> list[int]:
    """The processes that serve. Drops the gauges of dead ones, and keeps their counters."""
    processes = metrics_files.processes(folder)
    for process, is_alive in processes.items():
        if not is_alive:
            _drop_gauges(process, str(folder))
    return sorted(process for process, is_alive in processes.items() if is_alive)


def _drop_gauges(process: int, folder: str) -> None:
    # Another process may remove the same files at this moment.
    with contextlib.suppress(FileNotFoundError):
        mark_process_dead(process, folder)  # type: ignore[no-untyped-call]


class _ProcessCollector(Collector):
    """The version of roost, and the operating system's metrics of each process."""

    def __init__(self, processes: Iterable[int]) -> None:
        self._processes = processes

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily(
            "roost_build_info", "The version of roost.", labels=["version", "python"]
        )
        build.add_metric([__version__, platform.python_version()], 1)
        yield build
        families: dict[str, Metric] = {}
        for process in self._processes:
            for family in ProcessCollector(pid=lambda: process, registry=None).collect():  # noqa: B023 - called at once
                merged = families.setdefault(family.name, family)
                samples = [
                    sample._replace(labels={"process": str(process)}) for sample in family.samples
                ]
                merged.samples = samples if merged is family else merged.samples + samples
        yield from families.values()
