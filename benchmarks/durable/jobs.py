"""The clients of C1M: they place one job after the other and remember every answer."""

import itertools
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection as Pipe
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.durable.clients import Client, exchange, sleep_until
from benchmarks.durable.holdings import HOLDINGS, class_id, uuid_words
from benchmarks.durable.work import placement, uuid_prefix

# A job that loses a race for the last free hosts is sent again.
ATTEMPTS_MAX = 20


class JobPlan(NamedTuple):
    jobs: int
    consumers: int  # of each job
    order: str | None = None


class JobsReport(NamedTuple):
    """What the clients of one process saw. The answers themselves are in a file."""

    seconds: list[float]  # of each job that was placed
    repeated: int
    failed: int
    example: str
    ended: float
    cpu_seconds: float


class Resources(msgspec.Struct):
    resources: dict[str, int]


class PlacedConsumer(msgspec.Struct):
    allocations: dict[str, Resources]


class Answer(msgspec.Struct):
    """The part of an answer that is compared with the tables."""

    placements: dict[str, PlacedConsumer]


class Jobs:
    """The jobs of one process. Its clients take them from a number that all processes share."""

    def __init__(
        self, plan: JobPlan, taken: "Synchronized[int]", placed: "Synchronized[int]"
    ) -> None:
        self._plan = plan
        self._taken = taken
        self._placed = placed
        self.answers: list[bytes] = []
        self.repeated = 0
        self.failed = 0

    def messages(self, number: int, client: Client) -> Iterator[bytes]:
        prefix = uuid_prefix()
        for first in itertools.count(0, self._plan.consumers):
            with self._taken.get_lock():
                if self._taken.value == self._plan.jobs:
                    return
                self._taken.value += 1
            message = placement(prefix, first, self._plan.consumers, self._plan.order)
            for _ in range(ATTEMPTS_MAX):
                yield message
                if client.status != 409:
                    break
                self.repeated += 1
            if client.status != 200:
                self.failed += 1
                continue
            self.answers.append(client.body)
            with self._placed.get_lock():
                self._placed.value += 1


def run_jobs(
    port: int,
    plan: JobPlan,
    numbers: Sequence[int],
    taken: "Synchronized[int]",
    placed: "Synchronized[int]",
    path: Path,
    pipe: Pipe,
) -> None:
    """Runs in a process of its own. What the answers said is written to the file at `path`."""
    jobs = Jobs(plan, taken, placed)
    clients = [Client(port, jobs, number) for number in numbers]
    pipe.send("ready")
    sleep_until(pipe.recv())
    report = exchange(clients, float("inf"))
    ended = time.monotonic()
    # Decoded only now, when that does not take time from the service.
    np.save(path, decode_answers(jobs.answers))
    pipe.send(
        JobsReport(
            [outcome.seconds for outcome in report.outcomes if outcome.status == 200],
            jobs.repeated,
            jobs.failed,
            report.example,
            ended,
            report.cpu_seconds,
        )
    )


def decode_answers(answers: Sequence[bytes]) -> NDArray[np.void]:
    """What each consumer got, according to these answers."""
    decoder = msgspec.json.Decoder(Answer)
    consumers, providers, classes, used = [], [], [], []
    for answer in answers:
        for consumer, placed in decoder.decode(answer).placements.items():
            for provider, held in placed.allocations.items():
                for name, amount in held.resources.items():
                    consumers.append(consumer)
                    providers.append(provider)
                    classes.append(class_id(name))
                    used.append(amount)
    rows = np.empty(len(consumers), HOLDINGS)
    rows["consumer"] = uuid_words(consumers)
    rows["provider"] = uuid_words(providers)
    rows["resource_class"] = classes
    rows["used"] = used
    return rows
