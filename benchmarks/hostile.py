"""Attacks one worker and measures what the sender and a neighbour see: `scripts/hostile --help`.

Each attack meets a service that has just started. A neighbour, in a process of its own, sends
ordinary requests at a fixed pace; first alone, then beside the attack.
"""

import contextlib
import multiprocessing
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

import click
import httpx
import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.databases import DATABASES, start_database
from benchmarks.datasets import build
from benchmarks.load import Dump, create_schema
from benchmarks.processes import machine, resident_memory
from benchmarks.services import RoostService, versions
from tests.support import world
from tests.support.hostile.attacks import ATTACKS, Target
from tests.support.hostile.cloud import hostile_cloud
from tests.support.hostile.neighbour import KINDS, Neighbour, Sample

ALONE_SECONDS = 2.0
# The neighbour goes on for a moment, since an attack may be felt after its answer.
AFTER_SECONDS = 0.5
MEMORY_MEGABYTES_MAX = 6000
THREADS = 4


class Delays(msgspec.Struct, kw_only=True):
    """How long the neighbour waited for one kind of request, in milliseconds."""

    served: int
    unanswered: int
    refused: int  # an answer that is not a success
    median_ms: float
    worst_ms: float


class Measurement(msgspec.Struct, kw_only=True):
    """One attack: what came back, and what others noticed."""

    key: str
    title: str
    answers: dict[str, int]  # status, code and problem -> number of senders
    seconds: float  # until the last sender had its answer, or gave up
    bytes_read: int
    memory_peak: int  # bytes of the largest process
    memory_before: int
    ended_early: str  # why the service was stopped, if it was
    alone: dict[str, Delays]  # by kind of request
    beside: dict[str, Delays]

    def worst_ms(self) -> float:
        return max((one.worst_ms for one in self.beside.values()), default=0.0)

    def worst_alone_ms(self) -> float:
        return max((one.worst_ms for one in self.alone.values()), default=0.0)

    def median_ms(self) -> float:
        return max((one.median_ms for one in self.beside.values()), default=0.0)

    def median_alone_ms(self) -> float:
        return max((one.median_ms for one in self.alone.values()), default=0.0)


class HostileResults(msgspec.Struct, kw_only=True):
    machine: str
    versions: dict[str, str]
    database: str
    hosts: int
    measurements: list[Measurement]


class AttackedService(RoostService):
    """One worker, as a small deployment runs it."""

    def command(self) -> list[str]:
        # Of two options of one name the last one counts.
        return [*super().command(), "--workers", "1", "--threads", str(THREADS)]

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process_id, signal.SIGKILL)

    def _stop(self) -> None:
        # SIGTERM would wait for requests that may never end.
        if self._process is not None:
            self.kill()
            self._process.wait()


class MemoryWatch:
    """The largest memory of a service; it kills one that takes too much for this machine."""

    def __init__(self, service: AttackedService) -> None:
        self._service = service
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.peak = 0
        self.killed = False
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            self.peak = max(self.peak, resident_memory(self._service.process_id))
            if self.peak > MEMORY_MEGABYTES_MAX * 1_000_000 and not self.killed:
                self.killed = True
                self._service.kill()


def be_neighbour(port: int, seconds_max: float, pipe: Pipe) -> None:
    """Runs in a process of its own until it is told to stop, and sends what it saw."""
    with Neighbour(port, seconds_max=seconds_max) as neighbour:
        pipe.recv()
    pipe.send(neighbour.samples)


def delays(samples: Sequence[Sample]) -> dict[str, Delays]:
    return {kind: _delays([one for one in samples if one.kind == kind]) for kind in KINDS}


def _delays(samples: Sequence[Sample]) -> Delays:
    times = [1000 * one.delay for one in samples] or [0.0]
    return Delays(
        served=sum(one.status is not None for one in samples),
        unanswered=sum(one.status is None for one in samples),
        refused=sum(one.status is not None and one.status >= 300 for one in samples),
        median_ms=statistics.median(times),
        worst_ms=max(times),
    )


def measure(key: str, service: AttackedService, target: Target) -> Measurement:
    title, attack = ATTACKS[key]
    memory_before = resident_memory(service.process_id)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(
        target=be_neighbour, args=(service.port, target.slow_seconds_max, there), daemon=True
    )
    process.start()
    # It takes a while to start, and its first requests are slower than the others.
    time.sleep(1.5)
    alone_from = time.monotonic()
    time.sleep(ALONE_SECONDS)
    watch = MemoryWatch(service)
    began = time.monotonic()
    outcomes = attack(target)
    ended = time.monotonic()
    time.sleep(AFTER_SECONDS)
    watch.stop()
    here.send("stop")
    # A service that does not answer must not keep the neighbour from telling so.
    if not here.poll(1.0):
        service.kill()
    samples: list[Sample] = here.recv()
    process.join()
    return Measurement(
        key=key,
        title=title,
        answers=dict(Counter(outcome.text for outcome in outcomes)),
        seconds=max(one.seconds for one in outcomes) if outcomes else ended - began,
        bytes_read=sum(outcome.bytes_read for outcome in outcomes),
        memory_peak=watch.peak,
        memory_before=memory_before,
        ended_early=f"killed at {MEMORY_MEGABYTES_MAX:,} MB" if watch.killed else "",
        alone=delays([one for one in samples if alone_from <= one.due and one.ended < began]),
        beside=delays([one for one in samples if one.ended >= began]),
    )


def run_attacks(
    keys: Sequence[str], kind: str, hosts: int, target: Target, console: Console
) -> Iterator[Measurement]:
    with (
        tempfile.TemporaryDirectory(prefix="roost-hostile-") as path,
        start_database(kind) as database,
    ):
        folder = Path(path)
        url = database.create_database()
        create_schema(url)
        if hosts:
            Dump(build(f"flat-{hosts}"), folder).load(url)
        with (
            AttackedService(url, folder) as service,
            httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=30) as client,
        ):
            world.load(hostile_cloud(), client)
        for key in keys:
            console.print(f"{key}: {ATTACKS[key][0]}", highlight=False)
            with AttackedService(url, folder) as service:
                measurement = measure(key, service, target._replace(port=service.port))
                console.print(f"    {sender_text(measurement)}", highlight=False)
                console.print(f"    {neighbour_text(measurement)}", highlight=False)
                yield measurement


# ---------------------------------------------------------------------------------------------
# The table


def sender_text(one: Measurement) -> str:
    answers = [
        text if number == 1 else f"{number} x {text}" for text, number in one.answers.items()
    ]
    parts = [", ".join(answers), f"{one.seconds:.2f} s", size(one.bytes_read)]
    return "; ".join(filter(None, [*parts, one.ended_early]))


def neighbour_text(one: Measurement) -> str:
    unanswered = sum(each.unanswered for each in one.beside.values())
    refused = sum(each.refused for each in one.beside.values())
    served = sum(each.served for each in one.beside.values())
    parts = [
        f"worst {one.worst_ms():,.0f} ms (alone {one.worst_alone_ms():,.0f})",
        f"median {one.median_ms():,.0f} ms (alone {one.median_alone_ms():,.0f})",
        f"{served} served",
        f"{unanswered} unanswered" if unanswered else "",
        f"{refused} refused" if refused else "",
    ]
    return ", ".join(filter(None, parts))


def memory_text(one: Measurement) -> str:
    return f"{one.memory_before / 1e6:,.0f} -> {one.memory_peak / 1e6:,.0f}"


def size(number: int) -> str:
    if number >= 1_000_000:
        return f"{number / 1e6:,.1f} MB"
    return f"{number / 1e3:,.1f} kB"


def result_table(results: HostileResults, earlier: HostileResults | None) -> Table:
    """One row for each attack; with earlier results, two columns of each kind."""
    table = Table(
        title=f"One worker of {THREADS} threads, {results.database}, {results.hosts:,} more hosts; "
        f"{results.machine}"
    )
    before: Mapping[str, Measurement] = (
        {one.key: one for one in earlier.measurements} if earlier else {}
    )
    columns = {
        "sender": sender_text,
        "neighbour": neighbour_text,
        "MB": memory_text,
    }
    table.add_column("attack", overflow="fold")
    for name in columns:
        if earlier is not None:
            table.add_column(f"{name}, before", overflow="fold")
        table.add_column(f"{name}, after" if earlier is not None else name, overflow="fold")
    for one in results.measurements:
        cells = [one.title]
        for show in columns.values():
            if earlier is not None:
                cells.append(show(before[one.key]) if one.key in before else "-")
            cells.append(show(one))
        table.add_row(*cells)
    return table


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--only", "keys", multiple=True, type=click.Choice(list(ATTACKS)), help="Repeatable.")
@click.option(
    "--database", "kind", type=click.Choice(DATABASES), default="sqlite", show_default=True
)
@click.option("--hosts", default=0, show_default=True, help="More hosts, to make the cloud large.")
@click.option("--seconds", default=30.0, show_default=True, help="When a sender gives up.")
@click.option("--small", is_flag=True, help="Fewer senders, shorter bodies: to try it out.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Save the results.")
@click.option(
    "--before",
    "before_path",
    type=click.Path(exists=True, path_type=Path),
    help="Show results that an earlier run saved beside the new ones.",
)
@click.option(
    "--report-only", type=click.Path(exists=True, path_type=Path), help="Show saved results."
)
def main(
    keys: Sequence[str],
    kind: str,
    hosts: int,
    seconds: float,
    small: bool,
    json_path: Path | None,
    before_path: Path | None,
    report_only: Path | None,
) -> None:
    """Attack one worker in every known way, and measure what a neighbour notices."""
    earlier = read(before_path) if before_path else None
    if report_only is not None:
        results = read(report_only)
    else:
        results = HostileResults(
            machine=machine(), versions=versions(), database=kind, hosts=hosts, measurements=[]
        )
        target = Target(port=0, seconds_max=seconds, slow_seconds_max=seconds + 10)
        if small:
            target = target._replace(
                senders=8,
                streams=50,
                body_bytes=2_000_000,
                keys=50_000,
                wait_seconds=1,
                groups_many=4,
            )
        progress = Console(stderr=True, soft_wrap=True)
        for one in run_attacks(keys or list(ATTACKS), kind, hosts, target, progress):
            results.measurements.append(one)
            if json_path is not None:
                json_path.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1))
    Console(width=None if sys.stdout.isatty() else 200).print(result_table(results, earlier))


def read(path: Path) -> HostileResults:
    return msgspec.json.decode(path.read_bytes(), type=HostileResults)


if __name__ == "__main__":
    main()
