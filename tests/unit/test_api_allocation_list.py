"""GET /allocations as an extension: who may use it, in which version, and how it is written.

What it says is tested on every database in tests/store/test_consumer_list.py.
"""

import json
from collections.abc import Generator, Iterator

import httpx
import pytest

from roost.api.http import pieces
from roost.operations import consumer_list
from tests.support.direct_client import direct_client
from tests.support.names import uid
from tests.support.world import build, load, provider

CONSUMERS = [uid(f"consumer{number}") for number in range(5)]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("list") / "roost.db"
    with direct_client(f"sqlite:///{path}") as client:
        load(build(provider("host", {"VCPU": 100})), client)
        for consumer in CONSUMERS:
            body = {
                "allocations": {uid("host"): {"resources": {"VCPU": 2}}},
                "project_id": "p",
                "user_id": "u",
                "consumer_type": "INSTANCE",
                "consumer_generation": None,
            }
            assert client.put(f"/allocations/{consumer}", json=body).status_code == 204
        yield client


def test_the_root_names_the_extension(client: httpx.Client) -> None:
    assert "list_allocations" in client.get("/").json()["extensions"]


@pytest.mark.parametrize("version", ["1.0", "1.12", "1.13", "1.38"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_older_versions_know_nothing_of_it(client: httpx.Client, method: str, version: str) -> None:
    headers = {"openstack-api-version": f"placement {version}"}
    answer = client.request(method, "/allocations?limit=0", headers=headers)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


def test_other_methods_name_it_in_the_newest_version(client: httpx.Client) -> None:
    answer = client.request("PUT", "/allocations")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST, GET"


def test_who_may_not_list_is_refused(client: httpx.Client) -> None:
    answer = client.get("/allocations", headers={"x-auth-token": "somebody:project:reader"})
    assert answer.status_code == 403


def test_an_answer_is_not_kept(client: httpx.Client) -> None:
    answer = client.get("/allocations")
    assert answer.headers["cache-control"] == "no-cache"
    assert "last-modified" in answer.headers
    assert answer.headers["content-length"] == str(len(answer.content))


def test_an_empty_list_is_a_list(client: httpx.Client) -> None:
    assert client.get("/allocations?project_id=nobody").content == b'{"consumers":[]}'


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("limit", [None, 1, 2, 4, 5, 6])
def test_pieces_join_to_valid_json(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, chunk: int, limit: int | None
) -> None:
    expected = client.get("/allocations").json()["consumers"]
    monkeypatch.setattr(consumer_list, "CHUNK_CONSUMERS", chunk)
    monkeypatch.setattr(consumer_list, "CHUNK_CONSUMERS_MIN", 1)
    answer = client.get("/allocations" if limit is None else f"/allocations?limit={limit}")
    shown = json.loads(answer.content)
    assert shown["consumers"] == expected[:limit]
    assert ("next" in shown) == (limit is not None and limit < len(CONSUMERS))


def test_chunks_get_smaller_where_consumers_hold_much(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    read = consumer_list.ConsumerList.read

    def counted(*arguments: object, count: int, **named: object) -> object:
        counts.append(count)
        return read(*arguments, count=count, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(consumer_list.ConsumerList, "read", counted)
    monkeypatch.setattr(consumer_list, "CHUNK_CONSUMERS", 3)
    # "1 0 2" is what each holds.
    monkeypatch.setattr(consumer_list, "CHUNK_LENGTH_MAX", 10)
    assert len(client.get("/allocations").json()["consumers"]) == len(CONSUMERS)
    assert counts == [3, 2, 2]


def test_others_may_go_first_again_and_again(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[None] = []
    monkeypatch.setattr(consumer_list, "give_way", lambda: asked.append(None))
    monkeypatch.setattr(consumer_list, "STEP_CONSUMERS", 2)
    assert len(client.get("/allocations").json()["consumers"]) == len(CONSUMERS)
    assert len(asked) == 3


def test_closing_pieces_ends_what_makes_them() -> None:
    """Even before the first was taken."""
    ended = []

    def make() -> Generator[bytes]:
        try:
            yield from (b"1", b"2", b"3")
        finally:
            ended.append(True)

    whole = pieces.whole_if_short(make())
    assert not isinstance(whole, bytes)
    whole.close()
    assert ended == [True]
    assert list(whole) == []
    assert list(pieces.whole_if_short(make())) == [b"1", b"2", b"3"]


def test_an_end_that_is_known_last_is_asked_for_last() -> None:
    asked: list[bytes] = []

    def parts() -> Iterator[bytes]:
        for part in (b"1", b"2", b"3"):
            asked.append(part)
            yield part

    found = list(pieces.enclosed(b"[", parts(), lambda: b"%d]" % len(asked), pieces.COMMA))
    assert found == [b"[1", b",2", b",33]"]
