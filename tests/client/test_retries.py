"""Services that misbehave: what the client sends again, and what it tells the caller."""

import json
import ssl
import uuid
from typing import Any

import httpx
import pytest

from roost.client import (
    ApiError,
    Client,
    ConcurrentUpdate,
    Conflict,
    Consumer,
    InvalidRequest,
    NotUnderstood,
    Unavailable,
    Unreachable,
    VersionUnavailable,
)
from tests.client.conftest import Scripted
from tests.client.scripted import DONE, OK, refused
from tests.support.database_servers import free_port

CONCURRENT = "placement.concurrent_update"
CONSUMER = Consumer(uuid=str(uuid.uuid4()), project_id="project", user_id="user")

pytestmark = pytest.mark.usefixtures("no_pauses")


@pytest.mark.parametrize(
    "trouble",
    [
        refused(503),
        refused(502),
        httpx.ConnectError("no"),
        httpx.ReadTimeout("late"),
        httpx.ReadError("cut"),
        ssl.SSLError("alert"),
        httpx.Response(200),
    ],
    ids=repr,
)
def test_a_failed_read_is_repeated(scripted: Scripted, trouble: Any) -> None:
    client, script = scripted(trouble, trouble, OK)
    assert client.providers() == []
    assert script.sent == 3


def test_retry_after_is_respected(scripted: Scripted, no_pauses: list[float]) -> None:
    client, _ = scripted(refused(503, **{"retry-after": "3"}), OK)
    client.providers()
    assert no_pauses == [3.0]


def test_a_read_is_not_repeated_for_ever(scripted: Scripted) -> None:
    client, script = scripted(refused(503), retries=2)
    with pytest.raises(Unavailable):
        client.providers()
    assert script.sent == 3


def test_a_write_that_may_have_taken_place_is_not_repeated(scripted: Scripted) -> None:
    client, script = scripted(httpx.ReadTimeout("late"), DONE)
    with pytest.raises(Unreachable) as unreachable:
        client.set_consumer(CONSUMER)
    assert unreachable.value.sent
    assert script.sent == 1


def test_a_write_that_was_not_sent_is_repeated(scripted: Scripted) -> None:
    client, script = scripted(httpx.ConnectError("no"), DONE)
    client.set_consumer(CONSUMER)
    assert script.sent == 2


def test_a_lost_race_is_retried(scripted: Scripted) -> None:
    client, script = scripted(refused(409, CONCURRENT), DONE)
    client.set_consumer(CONSUMER)
    assert script.sent == 2


@pytest.mark.parametrize(
    "refusal",
    [refused(409, CONCURRENT, "consumer generation conflict"), refused(409, "other")],
)
def test_a_stale_generation_is_reported_to_the_caller(
    scripted: Scripted, refusal: httpx.Response
) -> None:
    client, script = scripted(refusal, DONE)
    with pytest.raises(Conflict):
        client.set_consumer(CONSUMER)
    assert script.sent == 1


def test_inventories_at_a_stale_generation_are_not_repeated(scripted: Scripted) -> None:
    client, script = scripted(refused(409, CONCURRENT), OK)
    with pytest.raises(ConcurrentUpdate):
        client.set_inventories(CONSUMER.uuid, {}, 1)
    assert script.sent == 1


def test_an_older_service_is_asked_in_its_newest_version(scripted: Scripted) -> None:
    client, script = scripted(OK)
    script.versions = [{"max_version": "1.14"}]
    assert client.providers() == []
    assert script.requests[-1].headers["openstack-api-version"] == "placement 1.14"
    with pytest.raises(VersionUnavailable, match=r"needs version 1\.30"):
        client.reshape({}, [])
    with pytest.raises(VersionUnavailable, match=r"POST /placements needs version 1\.39"):
        client.place("resources=VCPU:1", project_id="project", user_id="user")


def test_a_request_of_old_versions_is_sent_in_the_last_of_them(scripted: Scripted) -> None:
    client, script = scripted(OK)
    client.rename_resource_class("CUSTOM_A", "CUSTOM_B")
    assert script.requests[-1].headers["openstack-api-version"] == "placement 1.6"


def test_an_answer_that_is_not_placement_is_an_error(scripted: Scripted) -> None:
    client, _ = scripted(httpx.Response(200, text="<html>hello</html>"))
    with pytest.raises(NotUnderstood, match="not JSON"):
        client.providers()
    client, _ = scripted(httpx.Response(200, json={"hello": "world"}))
    with pytest.raises(NotUnderstood, match="resource_providers"):
        client.providers()
    client, _ = scripted(httpx.Response(200, json={"verdict": "perhaps"}))
    with pytest.raises(NotUnderstood, match="perhaps"):
        client.explain("resources=VCPU:1")
    client, script = scripted(OK)
    script.versions = []
    with pytest.raises(NotUnderstood, match="http://scripted is not a placement service"):
        client.providers()


def test_a_refusal_by_a_proxy_shows_its_text(scripted: Scripted) -> None:
    client, _ = scripted(httpx.Response(502, text="bad gateway"))
    with pytest.raises(ApiError, match="bad gateway"):
        client.providers()


def test_an_unreachable_service(scripted: Scripted) -> None:
    url = f"http://127.0.0.1:{free_port()}/placement/"
    client, _ = scripted(url=url, transport=None, retries=1)
    with pytest.raises(Unreachable, match=url.rstrip("/")) as unreachable:
        client.providers()
    assert not unreachable.value.sent


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8778", "placement", "", "ftp://host", "http://[::1", "http://"]
)
def test_what_is_not_a_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidRequest, match="not the URL of a service, like http://127"):
        Client(url)


def test_a_name_may_have_any_characters(scripted: Scripted) -> None:
    client, script = scripted(DONE)
    client.delete_trait("CUSTOM/../A?limit=1 ä")
    assert script.requests[-1].url.raw_path == b"/traits/CUSTOM%2F..%2FA%3Flimit%3D1%20%C3%A4"


def test_a_placement_whose_answer_is_lost_is_sent_again_under_its_key(scripted: Scripted) -> None:
    placed = httpx.Response(200, json={"placements": {}})
    client, script = scripted(httpx.ReadTimeout("late"), refused(503), refused(502), placed)
    client.place("resources=VCPU:1", 2, project_id="project", user_id="user")
    bodies = [json.loads(each.content) for each in script.requests if each.url.path != "/"]
    assert len(bodies) == 4
    assert all(body == bodies[0] for body in bodies)
    assert len(bodies[0]["consumers"]) == 2
    # Another call is another placement.
    client.place("resources=VCPU:1", 2, project_id="project", user_id="user")
    again = json.loads(script.requests[-1].content)
    assert again["idempotency_key"] != bodies[0]["idempotency_key"]
    assert not again["consumers"].keys() & bodies[0]["consumers"].keys()


def test_the_request_id_of_the_caller_is_sent(scripted: Scripted) -> None:
    client, script = scripted(OK, request_id="req-1")
    client.providers()
    assert script.requests[-1].headers["x-openstack-request-id"] == "req-1"
