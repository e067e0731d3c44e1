"""The middleware around every request: request ids, the URL prefix, the request log."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from roost import assembly
from roost.settings import Settings, SettingsError, load_settings
from tests.support.headers import HEADERS

GLOBAL = "req-11111111-2222-3333-4444-555555555555"
A = "11111111-1111-1111-1111-111111111111"

SETTINGS = Settings(auth_strategy="noauth2", url_prefix="/placement")


@pytest.fixture(scope="module")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('middleware') / 'roost.db'}"


def client_of(database_url: str, settings: Settings = SETTINGS, **options: Any) -> httpx.Client:
    application = assembly.build_application(
        settings=settings, database_url=database_url, sync=True
    )
    return httpx.Client(
        transport=httpx.WSGITransport(app=application, **options),
        base_url="http://cloud.example",
        headers=HEADERS,
    )


@pytest.fixture
def client(database_url: str) -> Iterator[httpx.Client]:
    with client_of(database_url) as client:
        yield client


def test_each_request_has_a_unique_id(client: httpx.Client) -> None:
    answers = [
        client.get("/"),
        client.get("/nowhere"),
        client.get("/traits", headers={"x-auth-token": "nobody"}),
    ]
    ids = [answer.headers.get_list("x-openstack-request-id") for answer in answers]
    assert all(len(each) == 1 and each[0].startswith("req-") for each in ids)
    assert len({each[0] for each in ids}) == 3


def test_a_client_cannot_choose_the_request_id(client: httpx.Client) -> None:
    answer = client.get("/", headers={"x-openstack-request-id": GLOBAL})
    assert answer.headers["x-openstack-request-id"] != GLOBAL


def test_paths_may_have_the_prefix(client: httpx.Client) -> None:
    body = {"name": "host", "uuid": A}
    created = client.post("/placement/resource_providers", json=body)
    assert created.status_code == 200
    assert created.json()["links"][0]["href"] == f"/placement/resource_providers/{A}"
    created = client.put("/placement/traits/CUSTOM_A", headers={"content-type": ""})
    assert created.headers["location"] == "http://cloud.example/placement/traits/CUSTOM_A"
    for path in ("/placement", "/placement/"):
        assert client.get(path).json()["versions"][0]["max_version"] == "1.39"
    # As behind a proxy that strips the prefix.
    assert client.get(f"/resource_providers/{A}").status_code == 200
    assert client.get(f"/placements/resource_providers/{A}").status_code == 404


def test_a_prefix_must_be_a_path(tmp_path: Path) -> None:
    path = tmp_path / "placement.conf"
    path.write_text("[roost]\nurl_prefix = placement/\n")
    with pytest.raises(SettingsError, match="expected a path that begins with a slash"):
        load_settings(config_files=[path])


def test_requests_are_logged(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="roost.requests"):
        answer = client.get("/placement/traits?name=in:HW_CPU_X86_AVX")
        client.get("/placement/traits", headers={"x-auth-token": "nobody"})
    first, second = (record.getMessage() for record in caplog.records)
    length = len(answer.content)
    assert first == (
        '127.0.0.1 "GET /placement/traits?name=in:HW_CPU_X86_AVX" '
        f"status: 200 len: {length} microversion: 1.39"
    )
    assert "status: 403" in second


def test_probes_are_not_logged(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="roost.requests"):
        assert client.get("/placement/livez").status_code == 200
        assert client.get("/readyz").status_code == 200
    assert caplog.records == []


def test_noauth2_answers_only_this_machine(database_url: str) -> None:
    with client_of(database_url, remote_addr="192.0.2.1") as client:
        answer = client.get("/traits")
        assert answer.status_code == 403
        assert "allow_remote_noauth2" in answer.json()["errors"][0]["detail"]
        assert client.get("/").status_code == 200
    allowed = msgspec.structs.replace(SETTINGS, allow_remote_noauth2=True)
    with client_of(database_url, allowed, remote_addr="192.0.2.1") as client:
        assert client.get("/traits").status_code == 200


def test_proxy_headers_are_trusted_only_if_configured(database_url: str, tmp_path: Path) -> None:
    path = tmp_path / "placement.conf"
    path.write_text(
        "[api]\nauth_strategy = noauth2\n[oslo_middleware]\nenable_proxy_headers_parsing = true\n"
    )
    forwarded = {"x-forwarded-proto": "https", "x-forwarded-host": "api.example"}
    put = {"content-type": "", **forwarded}
    with client_of(database_url, load_settings(config_files=[path])) as client:
        created = client.put("/traits/CUSTOM_B", headers=put)
        assert created.headers["location"] == "https://api.example/traits/CUSTOM_B"
    with client_of(database_url) as client:
        created = client.put("/traits/CUSTOM_B", headers=put)
        assert created.headers["location"] == "http://cloud.example/traits/CUSTOM_B"
