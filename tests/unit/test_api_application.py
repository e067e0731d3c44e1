"""The application as a whole, in this process, on a real database."""

import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from roost import assembly
from roost.errors import Unavailable
from roost.settings import Settings, SettingsError
from tests.support.headers import HEADERS

A = "11111111-1111-1111-1111-111111111111"


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> assembly.Application:
    path = tmp_path_factory.mktemp("application") / "roost.db"
    return assembly.build_application(
        settings=Settings(auth_strategy="noauth2"), database_url=f"sqlite:///{path}", sync=True
    )


def client_of(application: assembly.Application, **options: Any) -> httpx.Client:
    return httpx.Client(
        transport=httpx.WSGITransport(app=application, **options),
        base_url="http://cloud.example",
        headers=HEADERS,
    )


@pytest.fixture
def client(application: assembly.Application) -> Iterator[httpx.Client]:
    with client_of(application) as client:
        yield client


def error_of(response: httpx.Response) -> dict[str, Any]:
    (error,) = response.json()["errors"]
    assert error["status"] == response.status_code
    assert error["request_id"] == response.headers["x-openstack-request-id"]
    return dict(error)


# ---------------------------------------------------------------------------------------------
# Headers


def test_a_reply_has_version_and_cache_headers(client: httpx.Client) -> None:
    response = client.get("/resource_providers")
    assert response.headers["openstack-api-version"] == "placement 1.39"
    assert response.headers["vary"] == "openstack-api-version"
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["last-modified"].endswith(" GMT")


def test_no_cache_headers_before_1_15(client: httpx.Client) -> None:
    response = client.get(
        "/resource_providers", headers={"openstack-api-version": "placement 1.14"}
    )
    assert "cache-control" not in response.headers
    assert "last-modified" not in response.headers


def test_location_is_absolute_and_links_are_paths(application: assembly.Application) -> None:
    with client_of(application, script_name="/placement") as client:
        created = client.post("/resource_providers", json={"name": "mounted"})
    provider = created.json()
    path = f"/placement/resource_providers/{provider['uuid']}"
    assert created.headers["location"] == f"http://cloud.example{path}"
    assert {"rel": "self", "href": path} in provider["links"]


def test_a_reply_without_a_body_has_no_content_type(client: httpx.Client) -> None:
    created = client.put("/resource_classes/CUSTOM_PLAIN")
    assert created.status_code == 201
    assert "content-type" not in created.headers
    assert created.headers["location"] == "http://cloud.example/resource_classes/CUSTOM_PLAIN"


# ---------------------------------------------------------------------------------------------
# Requests that are refused before a handler runs


@pytest.mark.parametrize("path", ["/nowhere", "/resource_providers/", f"/traits/{A}/x"])
def test_an_unknown_path_is_not_found(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert error_of(response)["code"] == "placement.undefined_code"


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/resource_providers", "GET, POST"),
        ("OPTIONS", "/resource_providers", "GET, POST"),
        ("HEAD", "/resource_providers", "GET, POST"),
        ("PATCH", f"/allocations/{A}", "GET, PUT, DELETE"),
        ("GET", "/reshaper", "POST"),
        ("POST", "/", "GET"),
    ],
)
def test_an_unknown_method_is_not_allowed(
    client: httpx.Client, method: str, path: str, allow: str
) -> None:
    response = client.request(method, path)
    assert response.status_code == 405
    assert response.headers["allow"] == allow


@pytest.mark.parametrize(
    ("method", "path", "version", "status"),
    [
        ("GET", "/traits", "1.5", 404),
        ("GET", "/allocation_candidates", "1.9", 404),
        ("POST", "/allocations", "1.12", 404),
        ("DELETE", f"/resource_providers/{A}/inventories", "1.4", 405),
    ],
)
def test_a_route_of_a_later_version_is_refused(
    client: httpx.Client, method: str, path: str, version: str, status: int
) -> None:
    headers = {"openstack-api-version": f"placement {version}"}
    response = client.request(method, path, headers=headers)
    assert response.status_code == status
    assert response.headers["openstack-api-version"] == f"placement {version}"
    assert "code" not in error_of(response)


@pytest.mark.parametrize("path", ["/summary", "/events", "/capacity", "/placements"])
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "HEAD", "OPTIONS"])
def test_before_an_extension_its_path_does_not_exist(
    client: httpx.Client, method: str, path: str
) -> None:
    headers = {"openstack-api-version": "placement 1.38"}
    response = client.request(method, path, headers=headers)
    nowhere = client.request(method, "/nowhere", headers=headers)
    assert response.status_code == nowhere.status_code == 404
    assert "allow" not in response.headers
    assert response.headers["content-length"] == nowhere.headers["content-length"]


def test_an_extension_of_a_path_is_named_where_it_is(client: httpx.Client) -> None:
    assert client.put("/summary").headers["allow"] == "GET"
    assert client.put("/allocation_candidates").headers["allow"] == "GET, POST"
    headers = {"openstack-api-version": "placement 1.38"}
    response = client.put("/allocation_candidates", headers=headers)
    assert response.headers["allow"] == "GET"


def test_version_errors_have_no_version_header(client: httpx.Client) -> None:
    response = client.get("/", headers={"openstack-api-version": "placement 9.9"})
    assert response.status_code == 406
    assert error_of(response)["max_version"] == "1.39"
    assert "openstack-api-version" not in response.headers


def test_only_the_list_of_versions_needs_no_token(
    application: assembly.Application,
) -> None:
    with client_of(application) as client:
        del client.headers["x-auth-token"]
        assert client.get("/").status_code == 200
        assert client.get("").status_code == 200
        response = client.get("/resource_providers")
        assert response.status_code == 401
        assert set(response.json()) == {"message", "code", "title"}


def test_a_request_without_a_role_is_forbidden(client: httpx.Client) -> None:
    response = client.get("/resource_providers", headers={"x-auth-token": "user"})
    assert response.status_code == 403
    assert "placement:resource_providers:list" in error_of(response)["detail"]


def test_media_types_are_checked(client: httpx.Client) -> None:
    text = {"content-type": "text/plain"}
    path = "/resource_providers"
    assert client.post(path, content=b"x", headers=text).status_code == 415
    assert client.post(path).status_code == 415
    assert client.post(path, content=b"x").status_code == 400
    assert client.get(path, headers={"accept": "text/plain"}).status_code == 406
    assert client.get(path, headers={"accept": "text/html, */*;q=0.1"}).status_code == 200
    with_parameter = {"content-type": "Application/JSON; charset=utf-8"}
    created = client.post(path, content=b'{"name": "typed"}', headers=with_parameter)
    assert created.status_code == 200


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("text/event-stream", "text/event-stream"),
        ("text/event-stream, */*", "text/event-stream"),
        ("*/*, Text/Event-Stream;q=1", "text/event-stream"),
        ("application/json, text/event-stream", "text/event-stream"),
        ("text/event-stream;q=0.5, application/json;q=0.4", "text/event-stream"),
        ("text/event-stream;q=0.5, */*", "application/json"),
        ("text/event-stream;q=0, */*", "application/json"),
        ("*/*", "application/json"),
        ("text/*", "text/event-stream"),
    ],
)
def test_events_are_streamed_if_the_client_prefers_it(
    client: httpx.Client, accept: str, content_type: str
) -> None:
    response = client.get("/events?wait=0", headers={"accept": accept})
    assert (response.status_code, response.headers["content-type"]) == (200, content_type)


def test_errors_have_a_media_type_that_the_client_accepts(client: httpx.Client) -> None:
    page = client.get("/nowhere", headers={"accept": "text/html"})
    assert page.headers["content-type"] == "text/html; charset=UTF-8"
    text = client.get("/nowhere", headers={"accept": "image/png"})
    assert text.headers["content-type"] == "text/plain; charset=UTF-8"


@pytest.mark.parametrize("length", ["hi mom", "-4", "1.5"])
def test_an_invalid_content_length_is_refused(client: httpx.Client, length: str) -> None:
    headers = {"content-type": "application/json", "content-length": length}
    request = client.build_request("POST", "/resource_providers", content=b"{}")
    request.headers.update(headers)
    response = client.send(request)
    assert response.status_code == 400
    assert "content-length header must be an integer" in error_of(response)["detail"]


# ---------------------------------------------------------------------------------------------
# Bad input is a 4xx, never a 500


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/usages?project_id=%ff"),
        ("GET", "/usages?project_id=%00"),
        ("GET", "/resource_providers?name=%ed%a0%80"),
        ("GET", "/allocation_candidates?resources=VCPU:99999999999999999999"),
        ("GET", "/allocations/%00"),
        ("GET", f"/resource_providers/{A}%00"),
        ("DELETE", "/resource_classes/%00"),
        ("PUT", "/resource_classes/CUSTOM_A%0a"),
        ("PUT", "/traits/CUSTOM_A%0a"),
    ],
)
def test_malformed_addresses_are_refused(client: httpx.Client, method: str, path: str) -> None:
    assert client.request(method, path).status_code in (400, 404)


@pytest.fixture(scope="module")
def provider(application: assembly.Application) -> str:
    with client_of(application) as client:
        created = client.post("/resource_providers", json={"name": "subject"})
    return str(created.json()["uuid"])


@pytest.mark.parametrize(
    "inventories",
    [
        '{"vcpu": {"total": 1}}',
        '{"VCPU\\n": {"total": 1}}',
        '{"VCPU": 5}',
        '{"VCPU": {"total": 1, "allocation_ratio": NaN}}',
        '{"VCPU": {"total": 1, "allocation_ratio": 1e999}}',
        '{"VCPU": {"total": 1, "allocation_ratio": 3.5e38}}',
        '{"VCPU": {"total": 99999999999999999999}}',
        '{"VCPU": {"total": 1e30}}',
        '{"VCPU": {"total": true}}',
    ],
)
def test_invalid_inventories_are_refused(
    client: httpx.Client, provider: str, inventories: str
) -> None:
    response = client.put(
        f"/resource_providers/{provider}/inventories",
        content=f'{{"resource_provider_generation": 0, "inventories": {inventories}}}',
        headers={"content-type": "application/json"},
    )
    assert response.status_code == 400


@pytest.mark.parametrize(
    "generation", ["1e30", "99999999999999999999", "-1", "9223372036854775807"]
)
def test_invalid_generations_are_refused(
    client: httpx.Client, provider: str, generation: str
) -> None:
    response = client.put(
        f"/resource_providers/{provider}/inventories",
        content=f'{{"resource_provider_generation": {generation}, "inventories": {{}}}}',
        headers={"content-type": "application/json"},
    )
    assert response.status_code in (400, 409)


@pytest.mark.parametrize(
    "body",
    [
        '{"name": "a\\u0000b"}',
        '{"name": "\\ud800"}',
        '{"name": ""}',
        '{"name": null}',
        '{"name": "x", "uuid": "uri:uuid:11111111-1111-1111-1111-111111111111"}',
        '{"name": "x", "name": "y"}',
        "[" * 100_000,
        '"name"',
    ],
)
def test_invalid_providers_are_refused(client: httpx.Client, body: str) -> None:
    response = client.post(
        "/resource_providers", content=body, headers={"content-type": "application/json"}
    )
    assert response.status_code == 400


def test_invalid_consumers_are_refused(client: httpx.Client, provider: str) -> None:
    consumer = {
        "allocations": {provider: {"resources": {"VCPU": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "T",
    }
    dashes = "-" * 36
    spellings = [A.replace("1", "a"), A.replace("1", "A")]
    assert client.post("/allocations", json=dict.fromkeys(spellings, consumer)).status_code == 400
    elsewhere = {**consumer, "allocations": {dashes: {"resources": {"VCPU": 1}}}}
    assert client.put(f"/allocations/{A}", json=elsewhere).status_code == 400


# ---------------------------------------------------------------------------------------------
# Failures


def broken_application(error: Exception) -> assembly.Application:
    """The application on a service that fails with this error, whatever is called."""
    from roost.api.application import create_application

    class Broken:
        settings = Settings(auth_strategy="noauth2")

        def __getattr__(self, name: str) -> Any:
            raise error

    return create_application(Broken())  # type: ignore[arg-type]


def test_an_unexpected_error_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.ERROR),
        client_of(broken_application(RuntimeError("secret"))) as client,
    ):
        response = client.get("/resource_providers")
    assert response.status_code == 500
    assert "secret" not in response.text
    assert error_of(response)["title"] == "Internal Server Error"
    assert "secret" in caplog.text


def test_an_unavailable_database_is_a_503() -> None:
    with client_of(broken_application(Unavailable("host db is down"))) as client:
        response = client.get("/resource_providers")
    assert response.status_code == 503
    assert response.headers["retry-after"] == "1"
    assert "db" not in error_of(response)["detail"]


class StartResponse:
    """The callable of a WSGI server that takes the status of a response."""

    status = ""

    def __call__(self, status: str, headers: list[tuple[str, str]]) -> None:
        self.status = status


def test_the_application_is_built_once_and_by_the_first_request() -> None:
    built: list[int] = []

    def build() -> assembly.Application:
        built.append(1)
        return lambda environ, start_response: [b"served"]

    lazy = assembly.LazyApplication(build)
    assert built == []
    threads = [threading.Thread(target=lazy, args=({}, StartResponse())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == [1]


def test_missing_settings_of_keystone_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def build() -> assembly.Application:
        url = f"sqlite:///{tmp_path / 'roost.db'}"
        return assembly.build_application(settings=Settings(), database_url=url, sync=True)

    with pytest.raises(SettingsError, match="set auth_type"):
        build()
    # If the application is built by the first request, the client gets a 503, and the log the
    # reason.
    with client_of(assembly.LazyApplication(build)) as client:
        assert client.get("/resource_providers").status_code == 503
    assert "set auth_type" in caplog.text


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("nonsense", "expected such as mysql+pymysql"),
        ("nosuch://localhost/placement", "roost knows no database nosuch"),
        ("sqlite://", "needs a SQLite file"),
        ("postgresql://localhost/placement", "pip install 'roost[postgresql]'"),
        ("mysql://localhost/placement", "pip install 'roost[mysql]'"),
    ],
)
def test_an_unusable_database_url_is_a_503_and_the_process_stays_alive(
    url: str, reason: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in ("psycopg", "pymysql"):
        monkeypatch.setitem(sys.modules, module, None)
    settings = Settings(auth_strategy="noauth2")
    lazy = assembly.LazyApplication(
        lambda: assembly.build_application(settings=settings, database_url=url)
    )
    with client_of(lazy) as client:
        response = client.get("/resource_providers")
        assert response.status_code == 503
        assert response.json()["errors"][0]["status"] == 503
        assert client.get("/livez").json() == {"status": "alive"}
        assert client.get("/readyz").status_code == 503
    assert reason in caplog.text
