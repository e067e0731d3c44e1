"""`roost.wsgi:application` is a regular WSGI application."""

import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.validate import validator

import pytest

from roost.assembly import build_application


class QuietHandler(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The application behind the server of the standard library, which validates every call."""
    application = build_application(
        database_url=f"sqlite:///{tmp_path}/roost.db", auth_strategy="noauth2", sync=True
    )
    with make_server("127.0.0.1", 0, validator(application), handler_class=QuietHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def call(address: str, method: str, path: str, body: object = None) -> tuple[int, bytes]:
    headers = {"x-auth-token": "admin", "openstack-api-version": "placement latest"}
    data = None
    if body is not None:
        headers["content-type"] = "application/json"
        data = json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, headers, method=method)
    with urllib.request.urlopen(request) as response:
        return response.status, response.read()


def test_requests_pass_the_wsgi_validator(address: str) -> None:
    uuid = "0f4a3d2c-58d3-4a0b-8b27-0d4f4a7c1f10"
    provider = {"name": "host", "uuid": uuid}
    assert call(address, "GET", "/")[0] == 200
    assert call(address, "POST", "/resource_providers", provider)[0] == 200
    inventories = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}
    assert call(address, "PUT", f"/resource_providers/{uuid}/inventories", inventories)[0] == 200
    status, body = call(address, "GET", "/allocation_candidates?resources=VCPU:1")
    assert status == 200
    assert json.loads(body)["provider_summaries"].keys() == {uuid}
    assert call(address, "DELETE", f"/resource_providers/{uuid}") == (204, b"")


@pytest.mark.process
def test_importing_opens_nothing(tmp_path: Path) -> None:
    """A server may import the application before it forks, and before the database is up."""
    environment = {
        **os.environ,
        "XDG_DATA_HOME": str(tmp_path),
        "OS_PLACEMENT_DATABASE__CONNECTION": "postgresql://nobody@127.0.0.1:1/nothing",
    }
    code = "import roost.wsgi, threading; assert threading.active_count() == 1"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []
