"""The metrics as text, as Prometheus asks for them.

Where several processes serve (PROMETHEUS_MULTIPROC_DIR), the one that is asked answers for all.
"""

import contextlib
import os
import platform
from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from roost import __version__
from roost.observe import metrics, metrics_files

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


def scrape() -> bytes:
    """Every metric, of every process that serves."""
    folder = os.environ.get(metrics_files.VARIABLE)
    registry = CollectorRegistry()
    if folder is None:
        processes = [os.getpid()]
        registry.register(metrics.REGISTRY)
    else:
        processes = _living(Path(folder))
        MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
    registry.register(_Facts(processes))
    return generate_latest(registry)


def leave() -> None:
    """This process serves nothing itself: its gauges shall not be added to those of its workers."""
    folder = os.environ.get(metrics_files.VARIABLE)
    if folder is not None:
        _forget(os.getpid(), folder)


def _living(folder: Path) -> list[int]:
    """The processes that serve; gauges of dead ones are forgotten, what they counted is not."""
    writers = metrics_files.writers(folder)
    for process, lives in writers.items():
        if not lives:
            _forget(process, str(folder))
    return sorted(process for process, lives in writers.items() if lives)


def _forget(process: int, folder: str) -> None:
    # Another process may be at the same.
    with contextlib.suppress(FileNotFoundError):
        mark_process_dead(process, folder)  # type: ignore[no-untyped-call]


class _Facts(Collector):
    """The version that runs, and what the operating system says of its processes."""

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
                kept = families.setdefault(family.name, family)
                samples = [
                    sample._replace(labels={"process": str(process)}) for sample in family.samples
                ]
                kept.samples = samples if kept is family else kept.samples + samples
        yield from families.values()
