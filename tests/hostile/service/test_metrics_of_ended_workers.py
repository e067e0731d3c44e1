"""Workers that die again and again leave neither files behind nor gaps in the counters."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from tests.support.roost_server import RoostServer

SECONDS_MAX = 60
DEATHS = 4
REQUESTS = 5
PATH = "/resource_providers"
HEADERS = {"x-auth-token": "admin"}


def eventually(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_workers_that_die_again_and_again(tmp_path: Path) -> None:
    folder = tmp_path / "metrics"
    server = RoostServer(
        f"sqlite:///{tmp_path / 'roost.db'}",
        tmp_path,
        environment={"PROMETHEUS_MULTIPROC_DIR": str(folder)},
    )
    counts = []
    with server:
        for _ in range(DEATHS):
            for _ in range(REQUESTS):
                assert httpx.get(f"{server.url}{PATH}", headers=HEADERS).status_code == 200
            counts.append(len(list(folder.glob("*.db"))))
            [worker] = worker_of(server)
            os.kill(worker, signal.SIGKILL)
            eventually(lambda dead=worker: worker_of(server) != [dead] and is_answered(server))
        assert requests_counted(server) == DEATHS * REQUESTS
        # What has been added up has a file for each of the two kinds.
        assert counts[-1] <= counts[0] + 2


def worker_of(server: RoostServer) -> list[int]:
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    return list(map(int, children.split()))


def is_answered(server: RoostServer) -> bool:
    try:
        return httpx.get(f"{server.url}/").status_code == 200
    except httpx.TransportError:
        return False


def requests_counted(server: RoostServer) -> float:
    text = httpx.get(f"{server.url}/metrics").text
    pattern = r'roost_http_requests_total\{[^}]*route="/resource_providers"[^}]*\} ([0-9.]+)'
    return sum(float(value) for value in re.findall(pattern, text))
