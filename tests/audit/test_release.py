"""Giving back and putting back, while others write, and when the process is killed."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from roost.audit import writing
from roost.audit.record import Record, RecordedConsumer, read_record
from roost.audit.release import release
from roost.audit.restore import restore
from roost.audit.writing import Outcome, Result
from roost.client import Client, Consumer, Unreachable
from roost.progress import SILENT
from tests.audit.conftest import Cloud
from tests.support.names import uid

NAMES = [f"server{number}" for number in range(8)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "record.jsonl"


@pytest.fixture
def orphans(cloud: Cloud) -> list[Consumer]:
    for number, name in enumerate(NAMES):
        # Of every kind: with a type, and without one, as nova writes them.
        kind = "INSTANCE" if number % 2 else None
        cloud.add_consumer(name, {"host1": {"VCPU": 1, "DISK_GB": 2}}, kind=kind)
    return [cloud.consumer(name) for name in NAMES]


def give_back(client: Client, consumers: Sequence[Consumer], path: Path) -> list[Outcome]:
    with Record(path) as record:
        return list(release(client, consumers, record, SILENT))


def put_back(client: Client, path: Path) -> list[Outcome]:
    return list(restore(client, read_record(path), SILENT))


def results(outcomes: Iterable[Outcome]) -> dict[str, int]:
    return dict(Counter(each.result for each in outcomes))


def test_what_is_given_back_can_be_put_back(
    cloud: Cloud, orphans: list[Consumer], path: Path
) -> None:
    assert cloud.used("host1") == 8
    assert results(give_back(cloud.client, orphans, path)) == {Result.RELEASED: 8}
    assert cloud.used("host1") == 0
    assert cloud.consumer("server0").generation is None

    assert results(put_back(cloud.client, path)) == {Result.RESTORED: 8}
    assert cloud.used("host1") == 8
    for before in orphans:
        after = cloud.client.consumer(before.uuid)
        assert after.allocations == before.allocations
        assert (after.project_id, after.user_id) == (before.project_id, before.user_id)
        assert after.consumer_type == before.consumer_type

    # Once more does no harm.
    assert results(put_back(cloud.client, path)) == {Result.THERE: 8}
    assert cloud.used("host1") == 8


def test_who_was_written_or_removed_since_is_left_alone(
    cloud: Cloud, orphans: list[Consumer], path: Path
) -> None:
    cloud.write_again("server2")
    cloud.client.delete_consumer(uid("server5"))
    # Removed, and made again.
    cloud.client.delete_consumer(uid("server6"))
    cloud.add_consumer("server6", {"host2": {"VCPU": 3}})
    outcomes = give_back(cloud.client, orphans, path)
    assert {each.uuid: each.result for each in outcomes if each.result is not Result.RELEASED} == {
        uid("server2"): Result.CHANGED,
        uid("server5"): Result.GONE,
        uid("server6"): Result.CHANGED,
    }
    assert cloud.used("host1") == 1
    assert cloud.used("host2") == 3
    # The record has only what was removed.
    recorded = {each.uuid for each in read_record(path)}
    assert recorded == {uid(f"server{number}") for number in (0, 1, 3, 4, 7)}


class Racing:
    """A client whose service is written to by others right before each of its writes."""

    def __init__(self, client: Client, race: Iterator[Any]) -> None:
        self._client = client
        self._race = race
        self.requests: list[int] = []

    def consumer(self, uuid: str) -> Consumer:
        return self._client.consumer(uuid)

    def set_consumers(self, consumers: Sequence[Consumer]) -> None:
        self.requests.append(len(consumers))
        next(self._race, None)
        self._client.set_consumers(consumers)


def test_a_race_that_is_lost_costs_one_consumer_only(
    cloud: Cloud, orphans: list[Consumer], path: Path
) -> None:
    def race() -> Iterator[None]:
        cloud.write_again("server3")
        yield

    racing = Racing(cloud.client, race())
    outcomes = give_back(racing, orphans, path)  # type: ignore[arg-type]
    assert results(outcomes) == {Result.RELEASED: 7, Result.CHANGED: 1}
    [left] = [each for each in outcomes if each.result is Result.CHANGED]
    assert left.uuid == uid("server3")
    assert "consumer generation conflict" in left.reason
    # All at once, then the halves that have it.
    assert racing.requests == [8, 4, 2, 2, 1, 1, 4]
    assert cloud.used("host1") == 1
    assert uid("server3") not in {each.uuid for each in read_record(path)}


def test_large_numbers_go_in_chunks(
    cloud: Cloud, orphans: list[Consumer], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "CHUNK", 3)
    watched = Racing(cloud.client, iter(()))
    assert results(give_back(watched, orphans, path)) == {Result.RELEASED: 8}  # type: ignore[arg-type]
    assert watched.requests == [3, 3, 2]
    assert results(put_back(watched, path)) == {Result.RESTORED: 8}  # type: ignore[arg-type]
    # Those with a type and those without go in requests of their own.
    assert watched.requests[3:] == [1, 2, 2, 1, 1, 1]


# ---------------------------------------------------------------------------------------------
# A process that ends early


class Killed(BaseException):
    """The process is killed: nothing after it runs."""


class Killing:
    """Lets some steps pass; at the next one, done or not, the process is killed."""

    def __init__(self, steps: int, *, is_done: bool) -> None:
        self._left = steps
        self._is_done = is_done

    def step(self, write: Callable[..., None]) -> Callable[..., None]:
        def checked(*arguments: Any) -> None:
            if self._left > 0 or self._is_done:
                write(*arguments)
            if self._left == 0:
                raise Killed
            self._left -= 1

        return checked


def test_a_release_that_is_killed_at_any_write_can_be_undone(
    cloud: Cloud, orphans: list[Consumer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two chunks are six steps: planned, removed from the service, and recorded as removed."""
    monkeypatch.setattr(writing, "CHUNK", 4)
    for steps, is_done in itertools.product(range(6), (False, True)):
        seen = [cloud.client.consumer(each.uuid) for each in orphans]
        path = tmp_path / f"{steps}-{is_done}.jsonl"
        killing = Killing(steps, is_done=is_done)
        with Record(path) as record, monkeypatch.context() as patch:
            client = Racing(cloud.client, iter(()))
            patch.setattr(client, "set_consumers", killing.step(client.set_consumers))
            patch.setattr(record, "_write", killing.step(record._write))
            with pytest.raises(Killed):
                list(release(client, seen, record, SILENT))  # type: ignore[arg-type]
        removed = 8 - cloud.used("host1")
        assert removed == ((0, 4, 4, 4, 8, 8) if is_done else (0, 0, 4, 4, 4, 8))[steps]

        assert results(put_back(cloud.client, path)).get(Result.RESTORED, 0) == removed
        assert cloud.used("host1") == 8
        for before in orphans:
            assert cloud.client.consumer(before.uuid).allocations == before.allocations
        assert set(results(put_back(cloud.client, path))) <= {Result.THERE}


def test_an_answer_that_is_lost_leaves_what_was_planned(
    cloud: Cloud, orphans: list[Consumer], path: Path
) -> None:
    class Losing(Racing):
        def set_consumers(self, consumers: Sequence[Consumer]) -> None:
            super().set_consumers(consumers)
            raise Unreachable("no answer")

    losing = Losing(cloud.client, iter(()))
    with pytest.raises(Unreachable):
        give_back(losing, orphans, path)  # type: ignore[arg-type]
    assert cloud.used("host1") == 0
    assert results(put_back(cloud.client, path)) == {Result.RESTORED: 8}


# ---------------------------------------------------------------------------------------------
# What cannot be put back


def test_what_does_not_fit_any_more_is_reported_and_the_rest_is_put_back(
    cloud: Cloud, path: Path
) -> None:
    cloud.add_host("host3")
    cloud.add_consumer("fits", {"host1": {"VCPU": 1}})
    cloud.add_consumer("full", {"host2": {"VCPU": 6}})
    cloud.add_consumer("gone", {"host1": {"VCPU": 1}, "host3": {"VCPU": 1}})
    cloud.add_consumer("taken", {"host1": {"VCPU": 1}})
    names = ("fits", "full", "gone", "taken")
    give_back(cloud.client, [cloud.consumer(name) for name in names], path)
    cloud.client.delete_provider(uid("host3"))
    cloud.add_consumer("newcomer", {"host2": {"VCPU": 5}})
    cloud.add_consumer("taken", {"host2": {"VCPU": 2}})

    outcomes = {each.uuid: each for each in put_back(cloud.client, path)}
    assert outcomes[uid("fits")].result is Result.RESTORED
    assert outcomes[uid("taken")].result is Result.DIFFERENT
    assert outcomes[uid("full")].result is Result.REFUSED
    assert "Unable to create allocation for 'VCPU'" in outcomes[uid("full")].reason
    assert outcomes[uid("gone")].result is Result.REFUSED
    assert uid("host3") in outcomes[uid("gone")].reason
    # No consumer is put back in part.
    assert cloud.used("host1") == 1
    assert cloud.used("host2") == 7


def test_a_consumer_that_appears_while_it_is_put_back_is_left_alone(
    cloud: Cloud, orphans: list[Consumer], path: Path
) -> None:
    give_back(cloud.client, orphans, path)

    def race() -> Iterator[None]:
        cloud.add_consumer("server1", {"host2": {"VCPU": 1}})
        yield

    racing = Racing(cloud.client, race())
    outcomes = put_back(racing, path)  # type: ignore[arg-type]
    assert results(outcomes) == {Result.RESTORED: 7, Result.DIFFERENT: 1}
    assert cloud.consumer("server1").allocations == {uid("host2"): {"VCPU": 1}}


def test_a_record_says_all_that_is_needed() -> None:
    consumer = Consumer(uuid=uid("x"), allocations={uid("h"): {"VCPU": 1}}, generation=4)
    assert RecordedConsumer.of(consumer).as_new().allocations == consumer.allocations
