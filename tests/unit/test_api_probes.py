"""The paths that need no token: probes, metrics and the OpenAPI document."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from roost import assembly
from roost.api.probes import OPEN_PATHS
from roost.errors import Unavailable
from roost.service.readiness import Readiness
from roost.settings import Settings
from tests.support.headers import ADMIN

SETTINGS = Settings(auth_strategy="noauth2")


def client_of(application: assembly.Application, **options: Any) -> httpx.Client:
    return httpx.Client(
        transport=httpx.WSGITransport(app=application, **options), base_url="http://cloud.example"
    )


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> assembly.Application:
    path = tmp_path_factory.mktemp("operating") / "roost.db"
    return assembly.build_application(
        settings=SETTINGS, database_url=f"sqlite:///{path}", sync=True
    )


@pytest.fixture
def client(application: assembly.Application) -> Iterator[httpx.Client]:
    with client_of(application) as client:
        yield client


@pytest.mark.parametrize("path", sorted(OPEN_PATHS))
def test_no_token_and_no_version_is_needed(client: httpx.Client, path: str) -> None:
    for headers in ({}, {"openstack-api-version": "nonsense", "accept": "image/png"}):
        response = client.get(path, headers=headers)
        assert response.status_code == 200
        assert response.headers["cache-control"] == "no-cache"
        assert "openstack-api-version" not in response.headers


@pytest.mark.parametrize("path", sorted(OPEN_PATHS))
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_only_get_is_allowed(client: httpx.Client, path: str, method: str) -> None:
    response = client.request(method, path)
    assert response.status_code == 405
    assert response.headers["allow"] == "GET"


def test_the_paths_work_under_a_prefix(application: assembly.Application) -> None:
    with client_of(application, script_name="/placement") as client:
        assert client.get("/livez").json() == {"status": "alive"}
        assert client.get("/openapi.json").json()["servers"] == [{"url": "/placement"}]


def test_the_document_is_of_the_version_that_is_asked_for(client: httpx.Client) -> None:
    def version(query: str) -> str:
        return str(client.get(f"/openapi.json{query}").json()["info"]["version"])

    assert version("") == version("?version=latest") == version("?other=1") == "1.39"
    assert version("?version=1.10") == "1.10"


@pytest.mark.parametrize("version", ["1.40", "2", "", "1.07", "placement 1.10"])
def test_a_version_that_does_not_exist_is_refused(client: httpx.Client, version: str) -> None:
    answer = client.get("/openapi.json", params={"version": version})
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert f"version: {version!r}, expected 1.0 to 1.39, or latest" in error["detail"]


def test_readiness_lists_its_checks(client: httpx.Client) -> None:
    assert client.get("/readyz").json() == {
        "status": "ready",
        "checks": {"database": "ok", "writes": "ok", "index": "ok"},
    }


def test_metrics_are_in_the_format_of_prometheus(client: httpx.Client) -> None:
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    names = {family.name for family in text_string_to_metric_families(response.text)}
    assert {"roost_http_requests", "roost_build_info", "process_resident_memory_bytes"} <= names


def test_the_application_starts_before_its_database(tmp_path: Path) -> None:
    """It works as soon as the database does, without a restart."""
    folder = tmp_path / "later"
    application = assembly.build_application(
        settings=SETTINGS, database_url=f"sqlite:///{folder}/roost.db", sync=True
    )
    with client_of(assembly.LazyApplication(lambda: application)) as client:
        for path in OPEN_PATHS - {"/readyz"} | {"/"}:
            assert client.get(path).status_code == 200
        refused = client.get("/readyz")
        assert refused.status_code == 503
        assert refused.json() == {
            "status": "not ready",
            "checks": {"database": "unavailable", "writes": "not asked", "index": "not asked"},
        }
        response = client.get("/resource_providers", headers=ADMIN)
        assert response.status_code == 503
        folder.mkdir()
        assert client.get("/readyz").status_code == 200
        response = client.get("/resource_providers", headers=ADMIN)
        assert response.status_code == 200


class SlowRoost:
    """A service that does not catch up before the test allows it."""

    def __init__(self) -> None:
        self.store = self
        self.may_catch_up = threading.Event()
        self.opened = 0

    def open(self) -> None:
        self.opened += 1

    def reach(self) -> None:
        pass

    def check_writes(self) -> None:
        pass

    def catch_up(self) -> None:
        assert self.may_catch_up.wait(30)


def test_readiness_answers_within_a_bounded_time() -> None:
    roost = SlowRoost()
    readiness = Readiness(roost, seconds_max=0.05)  # type: ignore[arg-type]
    waiting = {"database": "ok", "writes": "ok", "index": "no answer yet"}
    assert readiness.check() == waiting
    # The first check is still running, so no second one begins.
    assert readiness.check() == waiting
    assert roost.opened == 1
    roost.may_catch_up.set()
    readiness = Readiness(roost)  # type: ignore[arg-type]
    assert readiness.check() == {"database": "ok", "writes": "ok", "index": "ok"}
    assert readiness.check() == {"database": "ok", "writes": "ok", "index": "ok"}
    assert roost.opened == 3


@pytest.mark.parametrize(
    ("error", "found"),
    [(Unavailable("host db.example is down"), "unavailable"), (RuntimeError("odd"), "failed")],
)
def test_an_index_that_cannot_catch_up_is_not_ready(error: Exception, found: str) -> None:
    class Failing(SlowRoost):
        def catch_up(self) -> None:
            raise error

    checks = Readiness(Failing()).check()  # type: ignore[arg-type]
    assert checks == {"database": "ok", "writes": "ok", "index": found}
