"""The typed client, on a real server and without one."""

import threading
import uuid
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from roost.client import (
    ApiError,
    BadRequest,
    Client,
    ConcurrentUpdate,
    Conflict,
    Consumer,
    Forbidden,
    Inventory,
    KeystoneAuth,
    NoAuth,
    NotFound,
    NotUnderstood,
    ProviderInventories,
    Unauthorized,
    Unavailable,
    Unreachable,
    VersionUnavailable,
    direct,
)
from tests.keystone.stand_in import Keystone, token
from tests.support.database_servers import free_port
from tests.support.roost_server import RoostServer


def some_uuid() -> str:
    return str(uuid.uuid4())


def holding(consumer: str, provider: str, **resources: int) -> Consumer:
    return Consumer(
        uuid=consumer,
        allocations={provider: resources},
        project_id="project",
        user_id="user",
        consumer_type="INSTANCE",
    )


def test_every_verb(client: Client) -> None:
    assert client.version == (1, 39)
    name = f"host-{some_uuid()}"
    host = client.create_provider(name)
    assert client.provider(host.uuid) == host
    assert client.providers({"name": name}) == [host]
    child = client.create_provider(f"{name}-child", parent_uuid=host.uuid)
    assert {each.uuid for each in client.tree(host.uuid)} == {host.uuid, child.uuid}
    renamed = client.update_provider(child.uuid, name=f"{name}-other", parent_uuid=host.uuid)
    assert renamed.name == f"{name}-other"

    inventories = {
        "VCPU": Inventory(total=8, allocation_ratio=2.0),
        "MEMORY_MB": Inventory(total=1024),
    }
    written = client.set_inventories(host.uuid, inventories, host.generation)
    assert client.inventories(host.uuid) == written
    assert written.inventories["VCPU"].capacity == 16
    more = Inventory(total=16)
    generation = client.set_inventory(host.uuid, "VCPU", more, written.generation)
    assert client.inventories(host.uuid).inventories["VCPU"] == more

    client.create_trait("CUSTOM_GOLD")
    assert "CUSTOM_GOLD" in client.traits({"name": "startswith:CUSTOM_"})
    traits = client.set_provider_traits(host.uuid, {"CUSTOM_GOLD"}, generation)
    assert client.provider_traits(host.uuid) == traits
    aggregate = some_uuid()
    aggregates = client.set_provider_aggregates(host.uuid, {aggregate}, traits.generation)
    assert client.provider_aggregates(host.uuid) == aggregates
    client.create_resource_class("CUSTOM_THING")
    assert "CUSTOM_THING" in client.resource_classes()
    client.delete_resource_class("CUSTOM_THING")

    query = {"resources": "VCPU:2", "required": "CUSTOM_GOLD", "member_of": aggregate, "limit": 5}
    found = client.candidates(query)
    assert [each.allocations for each in found.candidates] == [{host.uuid: {"VCPU": 2}}]
    assert found.summaries[host.uuid].capacity["VCPU"] == 16

    one, other = some_uuid(), some_uuid()
    client.set_consumer(holding(one, host.uuid, VCPU=2))
    client.set_consumers([holding(other, host.uuid, VCPU=1)])
    assert client.usages(host.uuid) == {"VCPU": 3, "MEMORY_MB": 0}
    assert client.provider_consumers(host.uuid) == {one: {"VCPU": 2}, other: {"VCPU": 1}}
    held = client.consumer(one)
    assert (held.generation, held.consumer_type) == (1, "INSTANCE")
    assert client.project_usages("project")["INSTANCE"]["VCPU"] >= 3

    before = {uuid: client.inventories(uuid) for uuid in (host.uuid, child.uuid)}
    moved = {
        host.uuid: ProviderInventories(generation=before[host.uuid].generation, inventories={}),
        child.uuid: ProviderInventories(
            generation=before[child.uuid].generation, inventories=before[host.uuid].inventories
        ),
    }
    consumers = [client.consumer(each) for each in (one, other)]
    client.reshape(
        moved,
        [
            msgspec.structs.replace(each, allocations={child.uuid: each.allocations[host.uuid]})
            for each in consumers
        ],
    )
    assert client.usages(child.uuid)["VCPU"] == 3
    for each in (one, other):
        client.delete_consumer(each)
    assert client.consumer(one).allocations == {}
    client.delete_inventory(child.uuid, "VCPU")
    client.delete_inventories(child.uuid)
    client.delete_provider_traits(host.uuid)
    client.delete_trait("CUSTOM_GOLD")
    client.delete_provider(child.uuid)
    client.delete_provider(host.uuid)


def test_a_rename_keeps_the_parent(client: Client) -> None:
    name = f"host-{some_uuid()}"
    host = client.create_provider(name)
    child = client.create_provider(f"{name}-child", parent_uuid=host.uuid)
    renamed = client.update_provider(child.uuid, name=f"{name}-other")
    assert (renamed.name, renamed.parent_uuid) == (f"{name}-other", host.uuid)
    # None is not the default: the provider becomes a root.
    root = client.update_provider(child.uuid, name=f"{name}-other", parent_uuid=None)
    assert (root.parent_uuid, root.root_uuid) == (None, child.uuid)


def test_a_consumer_without_a_type_can_be_written_again(client: Client) -> None:
    host = client.create_provider(f"host-{some_uuid()}")
    client.set_inventories(host.uuid, {"VCPU": Inventory(total=8)}, host.generation)
    typeless = msgspec.structs.replace(holding(some_uuid(), host.uuid, VCPU=1), consumer_type=None)
    client.set_consumer(typeless)
    seen = client.consumer(typeless.uuid)
    assert seen.consumer_type == "unknown"
    client.set_consumer(msgspec.structs.replace(seen, allocations={host.uuid: {"VCPU": 2}}))
    assert client.usages(host.uuid) == {"VCPU": 2}


def test_values_can_be_encoded_as_json(client: Client) -> None:
    host = client.create_provider(f"host-{some_uuid()}")
    assert msgspec.to_builtins(host)["root_uuid"] == host.uuid
    assert msgspec.json.encode(client.provider_traits(host.uuid))


def test_a_refusal_becomes_a_typed_error(client: Client) -> None:
    host = client.create_provider(f"host-{some_uuid()}")
    with pytest.raises(NotFound) as not_found:
        client.provider(some_uuid())
    assert not_found.value.request_id is not None
    assert not_found.value.request_id.startswith("req-")
    with pytest.raises(Conflict) as conflict:
        client.create_provider(host.name)
    assert conflict.value.code == "placement.duplicate_name"
    with pytest.raises(ConcurrentUpdate):
        client.set_inventories(host.uuid, {}, host.generation + 5)
    with pytest.raises(BadRequest, match="VCPUS"):
        client.set_inventories(host.uuid, {"VCPUS": Inventory(total=1)}, host.generation)


@pytest.mark.process
def test_a_client_without_rights_or_credentials_is_refused(server: RoostServer) -> None:
    with Client(server.url, auth=NoAuth("user", roles=())) as client, pytest.raises(Forbidden):
        client.providers()

    class NoCredentials:
        def headers(self, *, renewed: bool = False) -> dict[str, str]:
            return {}

    with Client(server.url, auth=NoCredentials()) as client, pytest.raises(Unauthorized):
        client.providers()


def test_a_direct_client_needs_tables(tmp_path: Path) -> None:
    with (
        direct(f"sqlite:///{tmp_path / 'roost.db'}") as client,
        pytest.raises(Unavailable),
    ):
        client.providers()


# ---------------------------------------------------------------------------------------------
# Services that misbehave


class ScriptedTransport(httpx.BaseTransport):
    """Returns the scripted answers in order, then the last one again and again."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.url.path == "/":
            versions = [{"max_version": "1.39", "min_version": "1.0"}]
            return httpx.Response(200, json={"versions": versions})
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def sent(self) -> int:
        return sum(request.url.path != "/" for request in self.requests)


def refused(status: int, code: str = "", detail: str = "why", **headers: str) -> httpx.Response:
    error = {"status": status, "detail": f"Explanation.\n\n {detail}  ", "code": code}
    return httpx.Response(status, json={"errors": [error]}, headers=headers)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pauses: list[float] = []
    monkeypatch.setattr("roost.client.transport.time.sleep", pauses.append)
    return pauses


OK = httpx.Response(200, json={"resource_providers": []})
DONE = httpx.Response(204)
CONCURRENT = "placement.concurrent_update"
CONSUMER = holding(some_uuid(), some_uuid(), VCPU=1)


def scripted(*answers: Any, **options: Any) -> tuple[Client, ScriptedTransport]:
    script = ScriptedTransport(*answers)
    return Client("http://scripted", transport=script, **options), script


@pytest.mark.parametrize(
    "trouble",
    [
        refused(503),
        refused(502),
        httpx.ConnectError("no"),
        httpx.ReadTimeout("late"),
        httpx.ReadError("cut"),
    ],
    ids=repr,
)
def test_a_failed_read_is_repeated(trouble: Any) -> None:
    client, script = scripted(trouble, trouble, OK)
    assert client.providers() == []
    assert script.sent == 3


def test_retry_after_is_respected(no_pauses: list[float]) -> None:
    client, _ = scripted(refused(503, **{"retry-after": "3"}), OK)
    client.providers()
    assert no_pauses == [3.0]


def test_a_read_is_not_repeated_for_ever() -> None:
    client, script = scripted(refused(503), retries=2)
    with pytest.raises(Unavailable):
        client.providers()
    assert script.sent == 3


def test_a_write_that_may_have_taken_place_is_not_repeated() -> None:
    client, script = scripted(httpx.ReadTimeout("late"), DONE)
    with pytest.raises(Unreachable) as unreachable:
        client.set_consumer(CONSUMER)
    assert unreachable.value.sent
    assert script.sent == 1


def test_a_write_that_was_not_sent_is_repeated() -> None:
    client, script = scripted(httpx.ConnectError("no"), DONE)
    client.set_consumer(CONSUMER)
    assert script.sent == 2


def test_a_lost_race_is_retried() -> None:
    client, script = scripted(refused(409, CONCURRENT), DONE)
    client.set_consumer(CONSUMER)
    assert script.sent == 2


@pytest.mark.parametrize(
    "refusal",
    [refused(409, CONCURRENT, "consumer generation conflict"), refused(409, "other")],
)
def test_a_stale_generation_is_reported_to_the_caller(refusal: httpx.Response) -> None:
    client, script = scripted(refusal, DONE)
    with pytest.raises(Conflict):
        client.set_consumer(CONSUMER)
    assert script.sent == 1


def test_inventories_at_a_stale_generation_are_not_repeated() -> None:
    client, script = scripted(refused(409, CONCURRENT), OK)
    with pytest.raises(ConcurrentUpdate):
        client.set_inventories(some_uuid(), {}, 1)
    assert script.sent == 1


def test_an_older_service_is_asked_in_its_newest_version() -> None:
    class Old(ScriptedTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path == "/":
                return httpx.Response(200, json={"versions": [{"max_version": "1.14"}]})
            return super().handle_request(request)

    script = Old(OK)
    client = Client("http://scripted", transport=script)
    assert client.providers() == []
    assert script.requests[0].headers["openstack-api-version"] == "placement 1.14"
    with pytest.raises(VersionUnavailable, match=r"needs version 1\.30"):
        client.reshape({}, [])


def test_an_answer_that_is_not_placement_is_an_error() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text="<html>hello</html>")

    client = Client("http://scripted", transport=httpx.MockTransport(answer))
    with pytest.raises(NotUnderstood):
        client.providers()


def test_a_refusal_by_a_proxy_shows_its_text() -> None:
    client, _ = scripted(httpx.Response(502, text="bad gateway"))
    with pytest.raises(ApiError, match="bad gateway"):
        client.providers()


def test_an_unreachable_service() -> None:
    with Client(f"http://127.0.0.1:{free_port()}", retries=1) as client:
        with pytest.raises(Unreachable) as unreachable:
            client.providers()
        assert not unreachable.value.sent


def test_the_request_id_of_the_caller_is_sent() -> None:
    client, script = scripted(OK, request_id="req-1")
    client.providers()
    assert script.requests[-1].headers["x-openstack-request-id"] == "req-1"


# ---------------------------------------------------------------------------------------------
# Keystone


@pytest.mark.process
def test_a_refused_token_is_renewed(server: RoostServer) -> None:
    """The client sends the token of Keystone, and fetches a new one after a 401."""
    with Keystone({"x": token("x")}) as keystone:
        auth = KeystoneAuth.password(
            f"{keystone.url}/v3", username="placement", password="secret", project_name="services"
        )
        script = ScriptedTransport(refused(401), OK)
        client = Client("http://scripted", auth=auth, transport=script)
        assert client.providers() == []
        tokens = [request.headers.get("x-auth-token") for request in script.requests]
        assert tokens == ["the-service-itself"] * 3


@pytest.mark.process
def test_a_client_may_be_used_by_many_threads(server: RoostServer) -> None:
    with Client(server.url) as client:
        threads = [threading.Thread(target=client.providers) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client.providers() is not None
