"""A service that had a bit of everything happen to it, so that its metrics have values."""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.support.claimers import Claimers, add_hosts
from tests.support.headers import HEADERS
from tests.support.roost_server import RoostServer

PROJECT = "11111111-1111-4111-8111-111111111111"
# A hold is for whoever may reshape.
OPERATOR = {**HEADERS, "x-roles": "admin,service"}
HOLD_SECONDS = 1
CONFIGURATION = "[roost]\nsummary_metrics = total\n"


class MonitoredService(NamedTuple):
    """A service, and how it was started."""

    server: RoostServer
    database_url: str
    configuration: Path


@contextmanager
def monitored_service(database_url: str, folder: Path) -> Iterator[MonitoredService]:
    """A running service of two processes, with clients that go on until the block ends."""
    configuration = folder / "placement.conf"
    configuration.write_text(CONFIGURATION)
    service = RoostServer(
        database_url, folder, config_file=configuration, arguments=["--workers", "2"]
    )
    with service as server, httpx.Client(base_url=server.url, headers=OPERATOR, timeout=60) as http:
        add_hosts(server.url)
        stop = threading.Event()
        visitors = [
            threading.Thread(target=_probe, args=[server.url, stop], name="probe"),
            threading.Thread(target=_watch, args=[server.url, stop], name="watcher"),
        ]
        for visitor in visitors:
            visitor.start()
        try:
            _lose_a_race(http)
            _hold_a_tree(http)
            with Claimers(server.url, 2, pause_seconds=0.1):
                yield MonitoredService(server, database_url, configuration)
        finally:
            stop.set()
            for visitor in visitors:
                visitor.join()


def _probe(url: str, stop: threading.Event) -> None:
    while not stop.wait(0.5):
        httpx.get(f"{url}/readyz", timeout=10)


def _watch(url: str, stop: threading.Event) -> None:
    """Wait for events that never come, as long polls do."""
    with httpx.Client(base_url=url, headers=HEADERS, timeout=30) as http:
        position = http.get("/events").json()["position"]
        while not stop.is_set():
            http.get("/events", params={"after": position, "wait": 2, "kind": "aggregates"})


def _lose_a_race(http: httpx.Client) -> None:
    """A write with an old generation is a conflict."""
    [host, *_] = http.get("/resource_providers").json()["resource_providers"]
    path = f"/resource_providers/{host['uuid']}/inventories"
    body = {"resource_provider_generation": 999, "inventories": {"VCPU": {"total": 1}}}
    assert http.put(path, json=body).status_code == 409


def _hold_a_tree(http: httpx.Client) -> None:
    """A claim waits until a hold has ended."""
    created = http.post("/resource_providers", json={"name": f"held-{uuid.uuid4()}"}).json()
    inventories = {"resource_provider_generation": 0, "inventories": {"DISK_GB": {"total": 10}}}
    http.put(f"/resource_providers/{created['uuid']}/inventories", json=inventories)
    held = http.post("/holds", json={"tree": created["uuid"], "seconds": HOLD_SECONDS})
    assert held.status_code < 300, held.text
    claim = {
        "allocations": {created["uuid"]: {"resources": {"DISK_GB": 1}}},
        "project_id": PROJECT,
        "user_id": PROJECT,
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    answer = http.put(f"/allocations/{uuid.uuid4()}", json=claim)
    assert answer.status_code == 204, answer.text
