"""Siblings, the processes of one service, that claim from the same providers take turns."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from roost.operations.claiming import claim as claiming
from roost.operations.claiming.claim import Outcome, write_batch
from roost.operations.traits import replace_traits
from roost.service import contention, service
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.feed.shared_lock import SharedLock
from roost.store.feed.shared_positions import SharedPositions
from roost.store.store import Store
from tests.concurrency.races import add_provider, claim, put, used
from tests.support.database_servers import SERVERS
from tests.support.names import uid

# SQLite lets one transaction write at a time, and siblings share nothing there.
pytestmark = pytest.mark.parametrize("synchronised_url", SERVERS, indirect=True)

CLAIMS = 40
SECONDS_MAX = 30.0


@pytest.fixture
def siblings(synchronised_url: str) -> Iterator[tuple[Roost, Roost]]:
    shared = SharedPositions(2)
    opened = []
    for _ in range(2):
        store = Store.open(synchronised_url, max_pool_size=10)
        store.share(shared)
        opened.append(Roost(store, Settings()))
    first, second = opened
    add_provider(first, "host", VCPU=2 * CLAIMS)
    for each in opened:
        each.catch_up()
        put(each, claim(f"first of {id(each)}", {"host": {"VCPU": 1}}))
    yield first, second
    for each in opened:
        each.close()


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each batch that was lost: whether it locked."""
    found: list[bool] = []
    be_careful = claiming._Batch.be_careful

    def note(batch: claiming._Batch) -> None:
        found.append(batch.locks)
        be_careful(batch)

    monkeypatch.setattr(claiming._Batch, "be_careful", note)
    return found


def take_turns(roost: Roost) -> None:
    """Let its batches find that they lose too often otherwise, for as long as the test lasts."""
    for _ in range(32):
        roost.contention.record_batch(is_lost=True)


def claim_from_both(siblings: tuple[Roost, Roost]) -> list[Outcome]:
    begin = threading.Barrier(2)

    def run(number: int) -> list[Outcome]:
        begin.wait(SECONDS_MAX)
        outcomes: list[Outcome] = []
        for turn in range(CLAIMS // 2):
            one = claim(f"{number}-{turn}", {"host": {"VCPU": 1}})
            outcomes += write_batch(siblings[number], [[one]])
        return outcomes

    with ThreadPoolExecutor(2) as pool:
        return [each for found in pool.map(run, range(2)) for each in found]


def test_in_turn_siblings_lose_no_race_to_each_other(
    siblings: tuple[Roost, Roost], lost: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contention, "CONTENDED_SECONDS", SECONDS_MAX)
    # Only what siblings show tells of their claims.
    monkeypatch.setattr(service, "RECENT_SECONDS_MAX", SECONDS_MAX)
    monkeypatch.setattr(claiming, "TURN_SECONDS_MAX", SECONDS_MAX)
    for each in siblings:
        take_turns(each)
    assert claim_from_both(siblings) == [Outcome.WRITTEN] * CLAIMS
    assert lost == []
    assert used(siblings[0], "host", "VCPU") == CLAIMS + 2


def test_whoever_gets_no_turn_locks(
    siblings: tuple[Roost, Roost], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = siblings
    take_turns(first)
    locked: list[bool] = []
    attempt = claiming._Batch._attempt

    def note(batch: claiming._Batch) -> None:
        locked.append(batch.locks)
        attempt(batch)

    monkeypatch.setattr(claiming._Batch, "_attempt", note)
    shared = first.store.siblings
    assert shared is not None
    with shared.claim_turn.hold() as has_turn:
        assert has_turn
        # A lock of a thread is needed besides that of the process.
        pool = ThreadPoolExecutor(1)
        one = [claim("meanwhile", {"host": {"VCPU": 1}})]
        assert pool.submit(write_batch, first, [one]).result(SECONDS_MAX) == [Outcome.WRITTEN]
    assert locked == [True]


def test_a_lock_is_waited_for_as_long_as_one_wants(siblings: tuple[Roost, Roost]) -> None:
    shared = siblings[0].store.siblings
    assert shared is not None
    lock: SharedLock = shared.claim_turn
    with ThreadPoolExecutor(1) as pool:

        def try_for(seconds: float) -> bool:
            with lock.hold(seconds_max=seconds) as has_it:
                return has_it

        with lock.hold() as has_it:
            assert has_it
            assert not pool.submit(try_for, 0.0).result(SECONDS_MAX)
            assert not pool.submit(try_for, 0.01).result(SECONDS_MAX)
        assert pool.submit(try_for, 0.0).result(SECONDS_MAX)


def test_a_process_that_only_writes_does_not_fall_behind(siblings: tuple[Roost, Roost]) -> None:
    """Nobody reads, and every provider is written once. The feed does not keep records for ever."""
    first, _ = siblings
    for number in range(service.OWN_NEWS_MAX + 10):
        add_provider(first, f"host{number}", VCPU=1)
    first.catch_up()
    for number in range(service.OWN_NEWS_MAX + 10):
        replace_traits(
            first,
            provider_uuid=uid(f"host{number}"),
            traits={"HW_NIC_SRIOV"},
            expected_generation=1,
        )
    index = first._index.live
    assert index is not None
    assert first.store.count_own_news(index.position) <= service.OWN_NEWS_MAX
