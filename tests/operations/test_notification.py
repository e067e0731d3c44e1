"""What systemd is told by `roost serve`, without a systemd. test_boot.py has one."""

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from roost.server.service_manager import READY, SOCKET_VARIABLE, STOPPING, notify
from tests.support.roost_server import RoostServer

WAIT_SECONDS_MAX = 30


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.settimeout(WAIT_SECONDS_MAX)
        yield listener


def test_it_is_ready_when_it_listens_and_says_when_it_stops(
    listener: socket.socket, tmp_path: Path
) -> None:
    path = str(tmp_path / "notify")
    listener.bind(path)
    service = RoostServer(
        f"sqlite:///{tmp_path / 'roost.db'}", tmp_path, environment={SOCKET_VARIABLE: path}
    )
    # Nothing but what systemd knows.
    service._is_ready = lambda: listener.recv(100) == READY.encode()
    with service as server:
        assert httpx.get(f"{server.url}/", timeout=30).status_code == 200
        server.stop()
        assert listener.recv(100) == STOPPING.encode()


def test_a_socket_may_be_in_no_folder(
    listener: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener.bind(f"\0{tmp_path}")
    monkeypatch.setenv(SOCKET_VARIABLE, f"@{tmp_path}")
    notify(READY)
    assert listener.recv(100) == READY.encode()


def test_nothing_is_told_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SOCKET_VARIABLE, raising=False)
    notify(READY)


def test_a_socket_that_nobody_reads_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(SOCKET_VARIABLE, str(tmp_path / "nobody"))
    notify(READY)
    assert "systemd cannot be told READY=1: No such file or directory" in caplog.text
