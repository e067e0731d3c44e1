"""The middleware in front of every request: ids, the prefix, the line in the log."""

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
    return f"sqlite:///{tmp_path_factory.mktemp('entrance') / 'roost.db'}"


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


def test_each_request_has_an_id_of_its_own(client: httpx.Client) -> None:
    answers = [
        client.get("/"),
        client.get("/nowhere"),
        client.get("/traits", headers={"x-auth-token": "nobody"}),
    ]
    ids = [answer.headers.get_list("x-openstack-request-id") for answer in answers]
    assert all(len(each) == 1 and each[0].startswith("req-") for each in ids)
    assert len({each[0] for each in ids}) == 3


def test_the_id_of_another_request_does_not_replace_it(client: httpx.Client) -> None:
    answer = client.get("/", headers={"x-openstack-request-id": GLOBAL})
    assert answer.headers["x-openstack-request-id"] != GLOBAL


def test_a_prefix(client: httpx.Client) -> None:
    body = {"name": "host", "uuid": A}
    made = client.post("/placement/resource_providers", json=body)
    assert made.status_code == 200
    assert made.json()["links"][0]["href"] == f"/placement/resource_providers/{A}"
    made = client.put("/placement/traits/CUSTOM_A", headers={"content-type": ""})
    assert made.headers["location"] == "http://cloud.example/placement/traits/CUSTOM_A"
    for path in ("/placement", "/placement/"):
        assert client.get(path).json()["versions"][0]["max_version"] == "1.39"
    # Where a proxy has taken it off.
    assert client.get(f"/resource_providers/{A}").status_code == 200
    assert client.get(f"/placements/resource_providers/{A}").status_code == 404


def test_a_prefix_is_a_path(tmp_path: Path) -> None:
    path = tmp_path / "placement.conf"
    path.write_text("[roost]\nurl_prefix = placement/\n")
    with pytest.raises(SettingsError, match="begins with a slash"):
        load_settings(config_files=[path])


def test_the_line_in_the_log(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
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


def test_noauth2_answers_this_machine_alone(database_url: str) -> None:
    with client_of(database_url, remote_addr="192.0.2.1") as client:
        answer = client.get("/traits")
        assert answer.status_code == 403
        assert "allow_remote_noauth2" in answer.json()["errors"][0]["detail"]
        assert client.get("/").status_code == 200
    allowed = msgspec.structs.replace(SETTINGS, allow_remote_noauth2=True)
    with client_of(database_url, allowed, remote_addr="192.0.2.1") as client:
        assert client.get("/traits").status_code == 200


def test_what_a_proxy_says_is_believed_where_configured(database_url: str, tmp_path: Path) -> None:
    path = tmp_path / "placement.conf"
    path.write_text(
        "[api]\nauth_strategy = noauth2\n[oslo_middleware]\nenable_proxy_headers_parsing = true\n"
    )
    said = {"x-forwarded-proto": "https", "x-forwarded-host": "api.example"}
    put = {"content-type": "", **said}
    with client_of(database_url, load_settings(config_files=[path])) as client:
        made = client.put("/traits/CUSTOM_B", headers=put)
        assert made.headers["location"] == "https://api.example/traits/CUSTOM_B"
    with client_of(database_url) as client:
        made = client.put("/traits/CUSTOM_B", headers=put)
        assert made.headers["location"] == "http://cloud.example/traits/CUSTOM_B"
