"""A short run of `scripts/faults` on both kinds of database, and one with each built-in defect."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.databases import Database, serve
from tests.faults.history import History
from tests.faults.hostile_clients import HOSTILE_KINDS
from tests.faults.run import WORKERS, run
from tests.support.long_form import choose

# A run ends once everything has happened, but not before the first of these. A machine on which
# other tests run needs longer.
SECONDS_MIN = choose(short=8.0, long=25.0)
SECONDS_MAX = 60.0
HOSTILE_SECONDS_MAX = 12.0
# Of a run that looks for a defect, which ends when it shows.
SECONDS = 25.0
FAULTS_MIN = 4
WRITES_MIN = 100
# What two workers do to each other, four do, and most of the time goes into their start.
WORKER_COUNT = choose(short=2, long=WORKERS)
# How often each honest client is served in that time.
SERVED_MIN = 5
# A defect shows sooner or later, and so do claims that share a transaction. A run that did not show
# it is repeated.
ATTEMPTS = 3


# One service has the database for itself, and its processes rely on that.
@pytest.mark.parametrize(
    ("kind", "services", "processes"),
    [("galera", WORKER_COUNT, 1), ("postgresql", 1, 2), ("postgresql", WORKER_COUNT, 2)],
)
def test_no_acknowledged_write_is_lost(kind: str, services: int, processes: int) -> None:
    with serve(kind) as database:
        for seed in range(1, ATTEMPTS + 1):
            history = run(
                database,
                seconds=SECONDS_MAX,
                seed=seed,
                worker_count=services,
                process_count=processes,
                hostile=True,
                is_enough=much_happened,
            )
            summary = history.summary()
            print(f"faults on {database.title}: {summary}")
            assert history.violations == []
            # A run in which nothing happened would prove nothing.
            assert much_happened(history)
            relied = summary["batches"].get("relied", 0) > 0
            if claims_shared_transactions(summary) and (relied or services > 1):
                return
    pytest.fail("no claims shared a transaction, or nobody relied on being alone")


def much_happened(history: History) -> bool:
    if not history.events or seconds_of(history) < SECONDS_MIN:
        return False
    if len(history.faults) < FAULTS_MIN:
        return False
    summary = history.summary()
    return summary.get("ok", 0) >= WRITES_MIN and all_kinds_happened(summary)


@pytest.fixture(scope="module")
def postgresql_database() -> Iterator[Database]:
    with serve("postgresql") as database:
        yield database


# In CI such clients are part of the runs above, and tests/hostile has a test for each of them.
@pytest.mark.long
def test_hostile_clients_stop_nobody(postgresql_database: Database) -> None:
    """Without faults, every honest client is served, and no process ends."""
    database = postgresql_database
    history = run(
        database,
        seconds=HOSTILE_SECONDS_MAX,
        seed=1,
        faults=False,
        hostile=True,
        is_enough=everybody_is_served,
    )
    summary = history.summary()
    print(f"hostile clients on {database.title}: {summary}")
    assert history.violations == []
    assert all_kinds_happened(summary)
    # Nothing but the clients themselves is in the way, so nobody is left without an answer.
    assert summary.get("unknown", 0) == summary.get("unanswered", 0) == 0
    assert [key for key in summary["hostile"] if key.endswith("unanswered")] == []
    assert unserved_clients(history) == {}


def everybody_is_served(history: History) -> bool:
    is_long_enough = bool(history.events) and seconds_of(history) >= SECONDS_MIN
    return (
        is_long_enough and all_kinds_happened(history.summary()) and not unserved_clients(history)
    )


def unserved_clients(history: History) -> dict[str, int]:
    served = history.summary()["served"]
    counts = {client: served.get(client, 0) for client in honest_clients(history)}
    return {client: count for client, count in counts.items() if count < SERVED_MIN}


def seconds_of(history: History) -> float:
    return history.now() - history.events[0].began


def honest_clients(history: History) -> set[str]:
    return {event.client for event in history.events if event.honest}


def all_kinds_happened(summary: dict[str, Any]) -> bool:
    """Whether each kind of hostile client did what it is for at least once."""
    happened = " ".join(summary["hostile"])
    return all(kind.verb in happened for kind in HOSTILE_KINDS)


def claims_shared_transactions(summary: dict[str, Any]) -> bool:
    return summary["batches"]["commits of several"] > 0 and summary["batches"]["at-once"] > 0


# In CI one defect for each kind of fault.
@pytest.mark.parametrize(
    ("broken", "only", "services"),
    [
        pytest.param("guard", None, WORKER_COUNT, marks=pytest.mark.long),
        ("feed", "commit_late", WORKER_COUNT),
        pytest.param("commit", "cut_after_commit", WORKER_COUNT, marks=pytest.mark.long),
        pytest.param("batch-guard", "slow_wire", WORKER_COUNT, marks=pytest.mark.long),
        pytest.param("batch-commit", "cut_after_commit", WORKER_COUNT, marks=pytest.mark.long),
        ("dropped-claim", "slow_wire", WORKER_COUNT),
        ("early-answer", "die_at_commit", WORKER_COUNT),
        pytest.param("loser", "slow_wire", WORKER_COUNT, marks=pytest.mark.long),
        pytest.param("sum", "slow_wire", WORKER_COUNT, marks=pytest.mark.long),
        ("siblings", "slow_wire", 1),
        ("newcomer", "slow_wire", WORKER_COUNT),
    ],
)
def test_a_defect_is_noticed(
    broken: str, only: str | None, services: int, postgresql_database: Database
) -> None:
    for seed in range(ATTEMPTS):
        history = run(
            postgresql_database,
            seconds=SECONDS,
            seed=seed,
            worker_count=services,
            # With one service its processes are what meets.
            process_count=2 if services == 1 else 1,
            broken=broken,
            only=only,
            until_violated=True,
        )
        # A defect that merely crashes shows nothing: it no longer fits what it breaks.
        assert [each for each in history.violations if "Traceback" in each] == []
        if history.violations:
            print(f"{broken} is broken: {history.violations[0]}")
            return
    raise AssertionError(f"no run noticed that {broken} is broken")
