"""`roost serve` with one worker of four threads, and the cloud that attacks need."""

import resource
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import httpx
import pytest

from tests.support import world
from tests.support.hostile.cloud import hostile_cloud
from tests.support.roost_server import RoostServer

SEARCH_SECONDS_MAX = 1.0
BODY_SECONDS_MAX = 2.0
STREAMS = 1000


class AttackedServer(RoostServer):
    def __init__(self, folder: Path, limits: Mapping[str, str]) -> None:
        super().__init__(
            f"sqlite:///{folder / 'roost.db'}",
            folder,
            arguments=["--threads", "4"],
            environment=limits,
        )

    def __enter__(self) -> Self:
        super().__enter__()
        with httpx.Client(base_url=self.url, timeout=30) as client:
            world.load(hostile_cloud(), client)
        return self


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    """A server that gives up early, so that the tests need not wait for long."""
    limits = {
        "OS_ROOST__SEARCH_SECONDS_MAX": str(SEARCH_SECONDS_MAX),
        "OS_ROOST__BODY_SECONDS_MAX": str(BODY_SECONDS_MAX),
        "OS_ROOST__EVENT_STREAMS_MAX": str(STREAMS),
    }
    with AttackedServer(tmp_path_factory.mktemp("attacked"), limits) as server:
        yield server


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    """A server with the default limits, for large answers."""
    with AttackedServer(tmp_path_factory.mktemp("patient"), {}) as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def _enough_open_files() -> Iterator[None]:
    """The streams are as many open files in this process, which then starts the server."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * STREAMS
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
