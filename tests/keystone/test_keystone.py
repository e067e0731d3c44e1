"""Tokens that Keystone accepts, and others."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.keystone.stand_in import Keystone, authtoken, expired, token
from tests.support.roost_server import RoostServer

TOKENS = {
    "admin": token("alice", project="admins", roles=("admin", "reader")),
    "service": token("nova", project="services", roles=("service",)),
    "reader": token("rita", project="one", roles=("reader",)),
    "member": token("mike", project="one", roles=("member",)),
    "system": token("sue", system=True, roles=("admin",)),
    "expired": expired(token("eve", project="admins", roles=("admin",))),
    "revoked": token("rob", project="admins", roles=("admin",)),
}

# After the section [keystone_authtoken].
PATIENCE = """\
# Each token is checked each time.
token_cache_time = -1
http_connect_timeout = 2
http_request_max_retries = 0
"""


@pytest.fixture(scope="module")
def keystone() -> Iterator[Keystone]:
    with Keystone(TOKENS) as keystone:
        yield keystone


@pytest.fixture(scope="module")
def server(keystone: Keystone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("keystone")
    path = folder / "placement.conf"
    path.write_text(f"{authtoken(f'{keystone.url}/v3')}{PATIENCE}")
    database = f"sqlite:///{folder / 'roost.db'}"
    with RoostServer(database, folder, config_file=path, auth="keystone") as server:
        yield server


@pytest.fixture
def client(server: RoostServer) -> Iterator[httpx.Client]:
    headers = {"openstack-api-version": "placement latest"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
        yield client


def get(client: httpx.Client, path: str, name: str | None, **headers: str) -> httpx.Response:
    if name is not None:
        headers["x-auth-token"] = name
    return client.get(path, headers=headers)


def test_the_versions_need_no_token(client: httpx.Client, keystone: Keystone) -> None:
    before = keystone.validations
    answer = get(client, "/", None)
    assert answer.status_code == 200
    assert answer.json()["versions"][0]["max_version"] == "1.39"
    # A token that is sent anyway is not validated.
    assert get(client, "/", "nonsense").status_code == 200
    assert keystone.validations == before


@pytest.mark.parametrize("name", ["admin", "service"])
def test_an_admin_or_service_token_is_accepted(client: httpx.Client, name: str) -> None:
    assert get(client, "/resource_providers", name).status_code == 200


@pytest.mark.parametrize("name", [None, "", "nonsense", "expired"])
@pytest.mark.parametrize("path", ["/resource_providers", "/nowhere", "/usages", "/traits"])
def test_a_missing_or_invalid_token_is_refused(
    client: httpx.Client, name: str | None, path: str
) -> None:
    answer = get(client, path, name)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Keystone uri=")
    assert answer.headers["x-openstack-request-id"].startswith("req-")


def test_forged_identity_headers_are_ignored(client: httpx.Client) -> None:
    """Headers that the middleware sets are ignored if the client sends them."""
    forged = {"x-user-id": "eve", "x-roles": "admin", "x-identity-status": "Confirmed"}
    assert get(client, "/resource_providers", None, **forged).status_code == 401
    assert get(client, "/resource_providers", "member", **forged).status_code == 403


@pytest.mark.parametrize("name", ["member", "reader", "system"])
def test_a_valid_token_without_the_role_is_forbidden(client: httpx.Client, name: str) -> None:
    answer = get(client, "/resource_providers", name)
    assert answer.status_code == 403
    assert "placement:resource_providers:list" in answer.json()["errors"][0]["detail"]


def test_a_reader_sees_its_own_project(client: httpx.Client) -> None:
    """Readers see the usage of their own project, and of no other."""
    assert get(client, "/usages?project_id=one", "reader").status_code == 200
    assert get(client, "/usages?project_id=two", "reader").status_code == 403
    assert get(client, "/usages?project_id=one", "member").status_code == 403
    assert get(client, "/usages?project_id=one", "admin").status_code == 200


def test_only_a_service_may_reshape(client: httpx.Client) -> None:
    body = {"inventories": {}, "allocations": {}}
    statuses = {
        name: client.post("/reshaper", json=body, headers={"x-auth-token": name}).status_code
        for name in ("admin", "service")
    }
    assert statuses["admin"] == 403
    assert statuses["service"] != 403


def test_a_revoked_token_is_refused(client: httpx.Client, keystone: Keystone) -> None:
    assert get(client, "/resource_providers", "revoked").status_code == 200
    del keystone.tokens["revoked"]
    assert get(client, "/resource_providers", "revoked").status_code == 401


def test_an_unreachable_keystone_is_a_503(client: httpx.Client, keystone: Keystone) -> None:
    """Nobody gets in, but no client is led to believe that its token is bad."""
    keystone.stop()
    try:
        for name in ("admin", "nonsense"):
            assert get(client, "/resource_providers", name).status_code == 503
        assert get(client, "/", None).status_code == 200
    finally:
        keystone.start()
    assert get(client, "/resource_providers", "admin").status_code == 200


def test_a_misbehaving_keystone_is_a_503(client: httpx.Client, keystone: Keystone) -> None:
    keystone.is_confused = True
    try:
        assert get(client, "/resource_providers", "admin").status_code == 503
    finally:
        keystone.is_confused = False


def test_an_invalid_configuration_stops_the_start(tmp_path: Path) -> None:
    path = tmp_path / "placement.conf"
    path.write_text("[keystone_authtoken]\nauth_type = nonsense\n")
    database = f"sqlite:///{tmp_path / 'roost.db'}"
    server = RoostServer(database, tmp_path, config_file=path, auth="keystone")
    with pytest.raises(RuntimeError, match=r"roost: .keystone_authtoken. cannot be used"), server:
        pass


def test_a_claim_that_waits_for_a_reshape_keeps_its_token(client: httpx.Client) -> None:
    """It is tried again from the beginning, and its token is validated again."""
    service = {"x-auth-token": "service"}
    created = client.post("/resource_providers", json={"name": "held"}, headers=service).json()
    path = f"/resource_providers/{created['uuid']}/inventories"
    inventories = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
    assert client.put(path, json=inventories, headers=service).status_code == 200
    body = {"tree": created["uuid"], "seconds": 0.5}
    assert client.post("/holds", json=body, headers={"x-auth-token": "admin"}).status_code == 403
    assert client.post("/holds", json=body, headers=service).status_code == 200
    claim = {
        "allocations": {created["uuid"]: {"resources": {"VCPU": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
        "consumer_generation": None,
    }
    consumer = f"/allocations/{created['uuid']}"
    assert client.put(consumer, json=claim, headers=service).status_code == 204
    assert "\nroost_held_requests_total 1.0\n" in client.get("/metrics").text
