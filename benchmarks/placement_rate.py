"""Measures ten concurrent clients that each search, choose a candidate at random, and claim it."""

import multiprocessing
import random
import time
import uuid
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from typing import NamedTuple

import msgspec

from benchmarks.client import Connection, Request, TooSlow
from benchmarks.load import CONSUMER_TYPE
from benchmarks.processes import cpu_seconds
from benchmarks.requests import MACHINE
from benchmarks.results import PlacementRate
from benchmarks.services import REQUEST_SECONDS_MAX, Service

CLIENTS = 10
# Few enough that the smallest cloud in docs/performance.md is far from full afterwards.
PLACEMENTS_MAX = 5_000
SEARCH = Request("GET", f"/allocation_candidates?resources={MACHINE}&limit=10")
READY_SECONDS_MAX = 60

# The rest of a claim. The client sends the bytes of the chosen candidate back unchanged.
CLAIM_END = (
    b',"project_id":"project-1","user_id":"user-1","consumer_generation":null,'
    b'"consumer_type":"' + CONSUMER_TYPE.encode() + b'"}'
)


class Candidates(msgspec.Struct):
    """The only part of an answer that the client reads."""

    allocation_requests: list[msgspec.Raw]


class NothingFits(Exception):
    """The cloud is full, after a long run on a small one."""


class Count(NamedTuple):
    placements: int = 0
    conflicts: int = 0
    failures: int = 0
    example: str = ""


def measure_placement_rate(
    service: Service, database_id: int | None, seconds: float
) -> PlacementRate:
    """Run ten clients, each in its own process, for that long and until their last answer."""
    context = multiprocessing.get_context("spawn")
    start, counts, ready = context.Event(), context.Queue(), context.Queue()
    clients = [
        context.Process(
            target=run_client,
            args=(service.port, number, seconds, start, ready, counts),
            daemon=True,
        )
        for number in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    for _ in clients:
        ready.get(timeout=READY_SECONDS_MAX)
    databases = [] if database_id is None else [database_id]
    service_before, database_before = cpu_seconds([service.process_id]), cpu_seconds(databases)
    began = time.monotonic()
    start.set()
    total, example = Count(), ""
    for _ in clients:
        count = counts.get(timeout=seconds + 2 * REQUEST_SECONDS_MAX)
        total = Count(*(a + b for a, b in zip(total[:3], count[:3], strict=True)))
        example = count.example or example
    elapsed = time.monotonic() - began
    service_cpu = cpu_seconds([service.process_id]) - service_before
    database_cpu = cpu_seconds(databases) - database_before
    for client in clients:
        client.join()
    return PlacementRate(
        placements=total.placements,
        conflicts=total.conflicts,
        failures=total.failures,
        seconds=elapsed,
        example=example,
        cpu_service_ms=service_cpu * 1000 / max(1, total.placements),
        cpu_database_ms=database_cpu * 1000 / max(1, total.placements),
    )


def run_client(
    port: int,
    number: int,
    seconds: float,
    start: Event,
    ready: "Queue[int]",
    counts: "Queue[Count]",
) -> None:
    rng = random.Random(number)
    decoder = msgspec.json.Decoder(Candidates)
    count = Count()
    with Connection(port, seconds_max=REQUEST_SECONDS_MAX) as connection:
        ready.put(number)
        start.wait()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and count.placements < PLACEMENTS_MAX // CLIENTS:
            try:
                count = place_one(connection, decoder, rng, count)
            except NothingFits:
                break
            except (TooSlow, ConnectionError):
                count = count._replace(failures=count.failures + 1)
    counts.put(count)


def place_one(
    connection: Connection,
    decoder: "msgspec.json.Decoder[Candidates]",
    rng: random.Random,
    count: Count,
) -> Count:
    """Try one placement and count its outcome."""
    answer = connection.send(SEARCH)
    if answer.status != 200:
        example = answer.body[:500].decode(errors="replace")
        return count._replace(failures=count.failures + 1, example=example)
    candidates = decoder.decode(answer.body).allocation_requests
    if not candidates:
        raise NothingFits
    body = bytes(rng.choice(candidates)).rstrip()[:-1] + CLAIM_END
    answer = connection.send(Request("PUT", f"/allocations/{uuid.uuid4()}", body))
    if answer.status == 204:
        return count._replace(placements=count.placements + 1)
    example = answer.body[:500].decode(errors="replace")
    if answer.status == 409:
        return count._replace(conflicts=count.conflicts + 1, example=example)
    return count._replace(failures=count.failures + 1, example=example)
