"""Claims that share a transaction: each wins or loses on its own."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from roost.errors import (
    CapacityExceeded,
    ConsumerGenerationConflict,
    RoostError,
    Unavailable,
    UnknownProvider,
)
from roost.model import ConsumerChange, EventKind
from roost.operations.claiming import claim as claiming
from roost.operations.claiming.claim import Outcome, write_batch
from roost.operations.events import current_position, read_events
from roost.operations.resource_classes import ensure_resource_class
from roost.service.holds import TreeHeld
from roost.service.service import Roost
from roost.service.watcher import EventFilter
from roost.store.connection.driver_errors import LostRace, RowExists
from roost.store.connection.statements import STATEMENT_END
from roost.store.store import Store
from tests.concurrency.races import add_provider, claim, dump, put, refusals, used
from tests.support.names import uid
from tests.support.sent_statements import listen

OpenRoost = Callable[[], Roost]
SECONDS_MAX = 30.0


# A whole transaction is a block on MariaDB. MySQL has none. Elsewhere it makes no difference.
WITH_BLOCKS_AND_WITHOUT = pytest.mark.parametrize("has_blocks", [True, False])


def use_blocks(roost: Roost, has_blocks: bool) -> None:
    dialect: Any = roost.store.engine.dialect
    dialect.is_mariadb = has_blocks and dialect.name == "mysql"


@pytest.fixture
def ready(roost: Roost) -> Roost:
    """A service that knows two hosts, and the owner of the claims."""
    add_provider(roost, "host", VCPU=10, MEMORY_MB=100)
    add_provider(roost, "other", VCPU=10, MEMORY_MB=100)
    roost.catch_up()
    for number in range(2):
        put(roost, claim(f"first{number}", {"host": {"VCPU": 1}}))
    return roost


@contextmanager
def held_back(roost: Roost) -> Iterator[Callable[[int], None]]:
    """Batches begin when the function is called, once so many claims wait. All but the first."""
    original = claiming.write_batch
    first_has_begun, may_go_on = threading.Event(), threading.Event()

    def wait_first(*arguments: Any, **fields: Any) -> Any:
        if not first_has_begun.is_set():
            first_has_begun.set()
            assert may_go_on.wait(SECONDS_MAX)
        return original(*arguments, **fields)

    def go_on(waiting: int) -> None:
        until = threading.Event()
        for _ in range(3000):
            if len(roost.claim_queue._waiting) >= waiting:
                break
            until.wait(0.01)
        may_go_on.set()

    claiming.write_batch = wait_first
    roost.claim_queue._patience_seconds = SECONDS_MAX
    try:
        yield go_on
    finally:
        claiming.write_batch = original


def claim_together(roost: Roost, changes: Sequence[ConsumerChange]) -> list[Any]:
    """Claims that go into one batch, after one that is alone; the result of each."""

    def run(change: ConsumerChange) -> Any:
        try:
            return put(roost, change)
        except RoostError as refusal:
            return refusal

    with held_back(roost) as go_on, ThreadPoolExecutor(len(changes) + 1) as pool:
        alone = pool.submit(run, claim("alone", {"other": {"MEMORY_MB": 1}}))
        while not roost.claim_queue._is_working:
            threading.Event().wait(0.001)
        together = []
        for number, change in enumerate(changes, 1):
            together.append(pool.submit(run, change))
            for _ in range(3000):
                if len(roost.claim_queue._waiting) >= number:
                    break
                threading.Event().wait(0.001)
        go_on(len(changes))
        assert alone.result(SECONDS_MAX) is None
        return [future.result(SECONDS_MAX) for future in together]


class Commits:
    """Counts what the database is sent: round trips, and statements."""

    def __init__(self, roost: Roost) -> None:
        self.round_trips = 0
        self.statements: list[str] = []
        listen(roost.store.engine, self._count)

    def _count(self, statement: str) -> None:
        self.round_trips += not statement.startswith("SET ")
        self.statements += statement.split(STATEMENT_END)


def index_is_right(roost: Roost) -> bool:
    """Whether the index equals one that is loaded from the tables."""
    index = roost.current_index()
    mine = index.contents()
    other = Roost(Store(roost.store._database), roost.settings)
    index = other.current_index()
    return bool(mine == index.contents())


def test_claims_share_a_transaction(ready: Roost) -> None:
    changes = [claim(f"c{number}", {"host": {"VCPU": 1}}) for number in range(8)]
    commits = Commits(ready)
    assert claim_together(ready, changes) == [None] * 8
    inserts = [each for each in commits.statements if "roost_changes" in each]
    # One for the claim that was alone, and one for the other eight.
    assert len(inserts) == 2
    if ready.store.writes_at_once:
        assert commits.round_trips == 2
    assert used(ready, "host", "VCPU") == 10
    assert index_is_right(ready)


def test_one_more_than_fits_loses_alone(ready: Roost) -> None:
    changes = [claim(f"c{number}", {"host": {"VCPU": 3}}) for number in range(4)]
    changes.insert(2, claim("small", {"host": {"VCPU": 1}}))
    results = claim_together(ready, changes)
    # 8 are free: 3, 3, 1, and neither of the last two.
    assert [type(each) for each in results] == [
        *[type(None)] * 3,
        *[CapacityExceeded] * 2,
    ]
    assert used(ready, "host", "VCPU") == 2 + 7
    assert index_is_right(ready)


def test_refusals_name_what_was_wrong_with_each(ready: Roost) -> None:
    results = claim_together(
        ready,
        [
            claim("a", {"host": {"VCPU": 1}}),
            claim("b", {"nowhere": {"VCPU": 1}}),
            claim("first0", {"host": {"VCPU": 1}}),
            claim("c", {"other": {"VCPU": 99}}),
            claim("d", {"other": {"VCPU": 1}}),
        ],
    )
    assert [type(each) for each in results] == [
        type(None),
        UnknownProvider,
        ConsumerGenerationConflict,
        CapacityExceeded,
        type(None),
    ]
    assert used(ready, "host", "VCPU") == 3
    assert used(ready, "other", "VCPU") == 1


def test_a_consumer_that_two_clients_create_is_created_once(ready: Roost) -> None:
    same = [claim("same", {name: {"VCPU": 2}}) for name in ("host", "other")]
    results = claim_together(ready, [*same, claim("a", {"host": {"VCPU": 1}})])
    assert [type(each) for each in refusals(results)] == [ConsumerGenerationConflict]
    assert results[0] is None
    assert results[2] is None
    assert used(ready, "host", "VCPU") == 2 + 2 + 1
    assert used(ready, "other", "VCPU") == 0


def test_a_consumer_in_upper_case_is_the_same(ready: Roost) -> None:
    uuid = uid("upper").upper()
    change = claim("upper", {"host": {"VCPU": 1}})
    put(ready, ConsumerChange(**{**_fields(change), "consumer_uuid": uuid}))
    results = claim_together(ready, [change, claim("a", {"host": {"VCPU": 1}})])
    assert [type(each) for each in results] == [ConsumerGenerationConflict, type(None)]


def _fields(change: ConsumerChange) -> dict[str, Any]:
    return {name: getattr(change, name) for name in change.__struct_fields__}


def test_each_claim_moves_a_generation_and_is_an_event(ready: Roost) -> None:
    position = current_position(ready)
    index = ready.current_index()
    before = int(index.rows.generation[index.row_of_uuid[uid("host")]])
    changes = [claim(f"c{number}", {"host": {"VCPU": number}}) for number in (1, 2, 3)]
    assert claim_together(ready, changes) == [None] * 3
    index = ready.current_index()
    assert int(index.rows.generation[index.row_of_uuid[uid("host")]]) == before + 3
    kinds = frozenset({EventKind.ALLOCATIONS})
    found = read_events(ready, position=position, event_filter=EventFilter(kinds=kinds, tree=None))
    told = [
        (each.generation, each.usage)
        for write in found
        for each in write.events
        if each.provider_uuid == uid("host")
    ]
    assert told == [(before + number, {"VCPU": number}) for number in (1, 2, 3)]


def test_a_custom_class_and_new_owners_can_be_in_a_batch(ready: Roost) -> None:
    ensure_resource_class(ready, name="CUSTOM_A")
    add_provider(ready, "third", CUSTOM_A=4)
    ready.catch_up()
    changes = [
        claim("a", {"third": {"CUSTOM_A": 1}}, project_id="new"),
        claim("b", {"host": {"VCPU": 1}}, user_id="new", consumer_type="NEW"),
    ]
    assert claim_together(ready, changes) == [None, None]
    assert used(ready, "third", "CUSTOM_A") == 1
    assert used(ready, "host", "VCPU") == 3


@WITH_BLOCKS_AND_WITHOUT
def test_a_batch_that_lost_a_race_is_judged_again(
    ready: Roost, open_roost: OpenRoost, stale_index: None, has_blocks: bool
) -> None:
    """Another process took most of it, and the index has not heard of it yet."""
    use_blocks(ready, has_blocks)
    other = open_roost()
    other.catch_up()
    ready.catch_up()
    put(other, claim("theirs", {"host": {"VCPU": 6}}))
    claims = [[claim(f"c{number}", {"host": {"VCPU": 1}})] for number in range(4)]
    outcomes = write_batch(ready, claims)
    assert outcomes == [Outcome.WRITTEN, Outcome.WRITTEN, Outcome.NO_ROOM, Outcome.NO_ROOM]
    assert used(ready, "host", "VCPU") == 10
    # What waits already is judged with what the winner took.
    assert index_is_right(ready)
    # Requests that would choose the same give way for a while.
    assert ready.contention.evades
    assert not ready.contention.loses_batches


@pytest.mark.parametrize("error", [RowExists, LostRace])
def test_a_batch_whose_database_goes_away_after_a_lost_race_fails_nobody(
    ready: Roost, monkeypatch: pytest.MonkeyPatch, error: type[LostRace]
) -> None:
    """Nothing was written. Each claim goes its own way, and is told itself if it fails."""

    def fail(*_: object) -> None:
        raise Unavailable("gone")

    def lose(*_: object) -> None:
        monkeypatch.setattr(ready, "catch_up", fail)
        monkeypatch.setattr(ready.store.reads, "existing_consumers", fail)
        raise error

    monkeypatch.setattr(claiming._Batch, "attempt", lose)
    claims = [[claim(f"c{number}", {"host": {"VCPU": 1}})] for number in range(2)]
    assert write_batch(ready, claims) == [Outcome.LEFT_OUT] * 2


def test_batches_lock_while_many_are_lost(
    ready: Roost, open_roost: OpenRoost, stale_index: None
) -> None:
    """One that is lost now and then costs less than locks do."""
    other = open_roost()

    def lose(number: int) -> None:
        ready.catch_up()
        other.catch_up()
        put(other, claim(f"theirs{number}", {"host": {"MEMORY_MB": 1}}))
        ours = [claim(f"ours{number}", {"host": {"MEMORY_MB": 1}})]
        assert write_batch(ready, [ours]) == [Outcome.WRITTEN]

    for number in range(3):
        lose(number)
    assert not ready.contention.loses_batches
    for number in range(3, 12):
        lose(number)
    assert ready.contention.loses_batches
    preference = ready.contention.preference
    # With the locks nothing is lost, although the index knows nothing of this.
    put(other, claim("theirs", {"host": {"MEMORY_MB": 1}}))
    assert write_batch(ready, [[claim("last", {"host": {"MEMORY_MB": 1}})]]) == [Outcome.WRITTEN]
    assert ready.contention.preference == preference
    assert used(ready, "host", "MEMORY_MB") == 26


def test_claims_in_a_held_tree_hold_up_no_others(ready: Roost) -> None:
    ready.holds.begin("hold", seconds=20, root_uuid=uid("other"), providers=[(2, uid("other"))])
    claims = [[claim(name, {name: {"VCPU": 1}})] for name in ("host", "other")]
    assert write_batch(ready, claims) == [Outcome.WRITTEN, Outcome.LEFT_OUT]
    with pytest.raises(TreeHeld):
        put(ready, claim("held", {"other": {"VCPU": 1}}))


def test_nothing_is_written_of_a_batch_of_losers(ready: Roost) -> None:
    before = dump(ready.store.engine)
    claims = [[claim(f"c{number}", {"host": {"VCPU": 9}})] for number in range(3)]
    assert write_batch(ready, claims) == [Outcome.NO_ROOM] * 3
    assert dump(ready.store.engine) == before


def test_a_large_claim_is_all_or_nothing(ready: Roost) -> None:
    consumers = [claim(f"c{number}", {"other": {"MEMORY_MB": 1}}) for number in range(90)]
    put(ready, *consumers)
    assert used(ready, "other", "MEMORY_MB") == 90
    more = [claim(f"d{number}", {"other": {"MEMORY_MB": 1}}) for number in range(40)]
    with pytest.raises(CapacityExceeded):
        put(ready, *more)
    assert used(ready, "other", "MEMORY_MB") == 90
    assert index_is_right(ready)


@WITH_BLOCKS_AND_WITHOUT
def test_a_writer_whose_row_vanished_registers_again(ready: Roost, has_blocks: bool) -> None:
    """As after a backup was restored."""
    use_blocks(ready, has_blocks)
    with ready.store.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM roost_changes")
        connection.exec_driver_sql("DELETE FROM roost_writers")
    put(ready, claim("a", {"host": {"VCPU": 1}}))
    put(ready, claim("b", {"host": {"VCPU": 1}}))
    assert used(ready, "host", "VCPU") == 4
    ready.catch_up()
    assert index_is_right(ready)
