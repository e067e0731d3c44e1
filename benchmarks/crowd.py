"""More and more clients at once, each claiming: from one provider that all want, or here and there.

What all want is storage that is shared: each claim takes a little of it beside a host's processors.
"""

import json
import random
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.client import Connection, Request, TooSlow
from benchmarks.databases import Database
from benchmarks.load import create_schema
from benchmarks.results import CrowdPoint, CrowdResult
from benchmarks.sides import Side

CLIENTS = (1, 2, 5, 10, 20, 50)
HOSTS = 200
# Nothing gets full: what is measured is how clients get in each other's way.
HOST_VCPUS = 1_000_000
STORAGE_DISK = 2_000_000_000
CASES = {"hot": "from storage that all share", "spread": f"from one of {HOSTS} hosts"}

Say = Callable[[str], None]


def crowd(database: Database, sides: Sequence[type[Side]], seconds: float, say: Say) -> CrowdResult:
    """Every number of clients, both cases, one side after the other."""
    result = CrowdResult(database=database.title)
    with tempfile.TemporaryDirectory(prefix="roost-benchmark-") as path:
        for kind in sides:
            url = database.create_database()
            try:
                create_schema(url)
                with kind(url, Path(path)) as side:
                    result.points[side.name] = list(measure_side(side, seconds, say))
            finally:
                database.drop_database(url)
    return result


def measure_side(side: Side, seconds: float, say: Say) -> list[CrowdPoint]:
    with side.connect() as connection:
        hosts = [make_provider(connection, f"host{n}", VCPU=HOST_VCPUS) for n in range(HOSTS)]
        storage = make_provider(connection, "storage", DISK_GB=STORAGE_DISK)
    points = []
    for case in CASES:
        shared = storage if case == "hot" else None
        for count in CLIENTS:
            say(f"{side.name}: {count} clients claim {CASES[case]}")
            points.append(measure_point(side, case, count, hosts, shared, seconds))
    return points


def make_provider(connection: Connection, name: str, **totals: int) -> str:
    """A provider with inventories: its UUID."""
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
    side: Side, case: str, count: int, hosts: Sequence[str], shared: str | None, seconds: float
) -> CrowdPoint:
    start = threading.Barrier(count + 1)

    def run(number: int) -> list[int]:
        chance = random.Random(f"{case}-{count}-{number}")
        statuses: list[int] = []
        with side.connect() as connection:
            start.wait()
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                request = claim(chance.choice(hosts), shared)
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
    return CrowdPoint(
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
