"""Measures claims by growing numbers of concurrent clients, with and without contention.

With contention every claim takes some storage from one sharing provider, in addition to the
processors of a host. Without contention each claim takes processors of a random host only.
"""

import json
import random
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.client import Connection, Request, TooSlow
from benchmarks.databases import Database
from benchmarks.load import create_schema
from benchmarks.measure import ShowProgress
from benchmarks.results import ContentionPoint, ContentionResult
from benchmarks.services import Service

CLIENTS = (1, 2, 5, 10, 20, 50)
HOSTS = 200
# No provider gets full, so the only thing that slows clients down is other clients.
HOST_VCPUS = 1_000_000
STORAGE_DISK = 2_000_000_000
CASES = {"hot": "from storage that all share", "spread": f"from one of {HOSTS} hosts"}


def measure_contention(
    database: Database,
    services: Sequence[type[Service]],
    seconds: float,
    show_progress: ShowProgress,
) -> ContentionResult:
    """Measure both cases with every number of clients, one service after the other."""
    result = ContentionResult(database=database.title)
    with tempfile.TemporaryDirectory(prefix="roost-benchmark-") as path:
        for kind in services:
            url = database.create_database()
            try:
                create_schema(url)
                with kind(url, Path(path)) as service:
                    result.points[service.name] = list(
                        measure_service(service, seconds, show_progress)
                    )
            finally:
                database.drop_database(url)
    return result


def measure_service(
    service: Service, seconds: float, show_progress: ShowProgress
) -> list[ContentionPoint]:
    with service.connect() as connection:
        hosts = [make_provider(connection, f"host{n}", VCPU=HOST_VCPUS) for n in range(HOSTS)]
        storage = make_provider(connection, "storage", DISK_GB=STORAGE_DISK)
    points = []
    for case in CASES:
        shared = storage if case == "hot" else None
        for count in CLIENTS:
            show_progress(f"{service.name}: {count} clients claim {CASES[case]}")
            points.append(measure_point(service, case, count, hosts, shared, seconds))
    return points


def make_provider(connection: Connection, name: str, **totals: int) -> str:
    """Create a provider with inventories and return its UUID."""
    provider = str(uuid.uuid4())
    send(connection, "POST", "/resource_providers", {"name": name, "uuid": provider})
    body = {
        "resource_provider_generation": 0,
        "inventories": {key: {"total": total} for key, total in totals.items()},
    }
    send(connection, "PUT", f"/resource_providers/{provider}/inventories", body)
    return provider


def send(connection: Connection, method: str, target: str, body: Any) -> None:
    answer = connection.send(Request(method, target, json.dumps(body).encode()))
    if answer.status >= 300:
        raise RuntimeError(f"{method} {target}: {answer.status} {answer.body.decode()}")


def measure_point(
    service: Service,
    case: str,
    count: int,
    hosts: Sequence[str],
    shared: str | None,
    seconds: float,
) -> ContentionPoint:
    start = threading.Barrier(count + 1)

    def run(number: int) -> list[int]:
        rng = random.Random(f"{case}-{count}-{number}")
        statuses: list[int] = []
        with service.connect() as connection:
            start.wait()
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                request = claim(rng.choice(hosts), shared)
                try:
                    statuses.append(connection.send(request).status)
                except (TooSlow, OSError):
                    statuses.append(0)
        return statuses

    with ThreadPoolExecutor(count) as pool:
        running = [pool.submit(run, number) for number in range(count)]
        start.wait()
        began = time.monotonic()
        statuses = [status for each in running for status in each.result()]
        elapsed = time.monotonic() - began
    claims, refused = statuses.count(204), statuses.count(409)
    return ContentionPoint(
        case=case,
        clients=count,
        claims=claims,
        refused=refused,
        failures=len(statuses) - claims - refused,
        seconds=elapsed,
    )


def claim(host: str, shared: str | None) -> Request:
    allocations = {host: {"resources": {"VCPU": 1}}}
    if shared is not None:
        allocations[shared] = {"resources": {"DISK_GB": 1}}
    body = {
        "allocations": allocations,
        "project_id": "project-1",
        "user_id": "user-1",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    return Request("PUT", f"/allocations/{uuid.uuid4()}", json.dumps(body).encode())
