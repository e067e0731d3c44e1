"""Clients that only connect leave the service the open files that it needs to answer others."""

import resource
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from roost.server import connections
from tests.hostile.service import raw_http
from tests.support.roost_server import RoostServer, command

FILES = 300


@pytest.mark.parametrize(
    ("files", "expected"), [(1024, 1024 - connections.OTHER_FILES_MAX), (300, 150), (10**6, 16384)]
)
def test_connections_leave_open_files(
    monkeypatch: pytest.MonkeyPatch, files: int, expected: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert connections.connections_max() == expected


def test_a_client_is_served_beside_many_that_only_connect(tmp_path: Path) -> None:
    limited = ["bash", "-c", f'ulimit -n {FILES}; exec "$0" "$@"', *command()]
    with (
        RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path, program=limited) as server,
        httpx.Client(base_url=server.url, headers={"x-auth-token": "admin"}) as client,
        ExitStack() as stack,
    ):
        assert client.get("/").status_code == 200
        for _ in range(FILES + 50):
            stack.enter_context(raw_http.connect(server.port))
        # The first request that needs the database, over a connection that is there already.
        assert client.get("/resource_providers").status_code == 200
        assert client.post("/resource_providers", json={"name": "host"}).status_code == 201
