"""POST /holds as an extension, and requests that wait in a thread, as under any WSGI server."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from roost.observe import metrics
from roost.service import holds
from tests.support.direct_client import direct_client
from tests.support.names import uid
from tests.support.world import build, load, provider


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    monkeypatch.setattr(holds, "POLL_SECONDS", 0.01)
    with direct_client(f"sqlite:///{tmp_path / 'roost.db'}") as client:
        client.headers["x-roles"] = "admin,service"
        load(build(provider("host", {"VCPU": 100})), client)
        yield client


def body() -> dict[str, Any]:
    return {
        "allocations": {uid("host"): {"resources": {"VCPU": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
        "consumer_generation": None,
    }


def claim(client: httpx.Client, name: str) -> int:
    return client.put(f"/allocations/{uid(name)}", json=body()).status_code


def hold(client: httpx.Client, seconds: float = 10) -> str:
    answer = client.post("/holds", json={"tree": uid("host"), "seconds": seconds})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


def waiting() -> float:
    return float(metrics.HELD_WAITING._value.get())


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_the_root_names_the_extension(client: httpx.Client) -> None:
    assert client.get("/").json()["extensions"][-1] == "holds"


@pytest.mark.parametrize("version", ["1.0", "1.30", "1.38"])
@pytest.mark.parametrize(("method", "path"), [("POST", "/holds"), ("DELETE", "/holds/x")])
def test_older_versions_know_nothing_of_it(
    client: httpx.Client, method: str, path: str, version: str
) -> None:
    headers = {"openstack-api-version": f"placement {version}"}
    assert client.request(method, path, json={}, headers=headers).status_code == 404


@pytest.mark.parametrize("roles", ["admin", "reader", "member"])
def test_who_may_not_reshape_may_not_hold(client: httpx.Client, roles: str) -> None:
    headers = {"x-roles": roles}
    request = {"tree": uid("host"), "seconds": 1}
    assert client.post("/holds", json=request, headers=headers).status_code == 403
    assert client.delete("/holds/x", headers=headers).status_code == 403


def test_every_spelling_of_a_provider_holds_its_tree(client: httpx.Client) -> None:
    spelled = uid("host").upper().replace("-", "")
    answer = client.post("/holds", json={"tree": spelled, "seconds": 1})
    assert answer.status_code == 200, answer.text
    again = client.post("/holds", json={"tree": uid("host"), "seconds": 1})
    assert again.status_code == 409
    assert again.json()["errors"][0]["code"] == "placement.hold_too_soon"
    assert client.delete(f"/holds/{answer.json()['id']}").status_code == 204


def test_a_claim_waits_in_its_thread(client: httpx.Client) -> None:
    id = hold(client)
    with ThreadPoolExecutor(2) as pool:
        claims = [pool.submit(claim, client, name) for name in ("one", "two")]
        wait_until(lambda: waiting() == 2)
        assert client.delete(f"/holds/{id}").status_code == 204
        assert [each.result(20) for each in claims] == [204, 204]
    assert waiting() == 0


def test_no_more_threads_wait_than_a_server_can_spare(client: httpx.Client) -> None:
    id = hold(client)
    with ThreadPoolExecutor(2) as pool:
        claims = [pool.submit(claim, client, name) for name in ("one", "two")]
        wait_until(lambda: waiting() == 2)
        # They are not refused, and do not wait.
        assert claim(client, "three") == 204
        assert client.delete(f"/allocations/{uid('three')}").status_code == 204
        assert not any(each.done() for each in claims)
        assert client.delete(f"/holds/{id}").status_code == 204
        assert [each.result(20) for each in claims] == [204, 204]


def test_the_next_request_of_a_thread_waits_as_long_as_any(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long a request has waited is forgotten with it."""
    monkeypatch.setattr(holds, "WAITING_WITH_THREAD_MAX", 0)
    id = hold(client)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(claim, client, "one").result(20) == 204
        monkeypatch.setattr(holds, "WAITING_WITH_THREAD_MAX", 1)
        second = pool.submit(claim, client, "two")
        wait_until(lambda: waiting() == 1)
        client.delete(f"/holds/{id}")
        assert second.result(20) == 204


def test_a_claim_is_decided_on_what_the_reshape_has_left(client: httpx.Client) -> None:
    hold(client)
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(claim(client, "one")))
    thread.start()
    wait_until(lambda: waiting() == 1)
    generation = client.get(f"/resource_providers/{uid('host')}").json()["generation"]
    reshape = {
        "inventories": {
            uid("host"): {
                "resource_provider_generation": generation,
                "inventories": {"MEMORY_MB": {"total": 1}},
            }
        },
        "allocations": {},
    }
    assert client.post("/reshaper", json=reshape).status_code == 204
    thread.join(20)
    # It is refused because there are no processors any more, as it would have been without a hold.
    assert answers == [409]
