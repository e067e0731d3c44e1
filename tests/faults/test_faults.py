"""A short run of `scripts/faults` on both kinds of database, and one with each built-in defect."""

from typing import Any

import pytest

from tests.faults.databases import serve
from tests.faults.history import History
from tests.faults.hostile_clients import HOSTILE_KINDS
from tests.faults.run import run

SECONDS = 25.0
HOSTILE_SECONDS = 12.0
# How often each honest client is served in that time.
SERVED_MIN = 5
# A defect shows sooner or later; a run that did not show it is repeated.
ATTEMPTS = 3


@pytest.mark.parametrize("kind", ["galera", "postgresql"])
def test_no_acknowledged_write_is_lost(kind: str) -> None:
    with serve(kind) as database:
        history = run(database, seconds=SECONDS, seed=1, hostile=True)
    summary = history.summary()
    print(f"faults on {database.title}: {summary}")
    assert history.violations == []
    # A run in which nothing happened would prove nothing.
    assert summary["ok"] > 100
    assert summary["faults"] > 3
    assert all_kinds_happened(summary)
    assert claims_shared_transactions(summary)


def test_hostile_clients_stop_nobody() -> None:
    """Without faults, every honest client is served, and no process ends."""
    with serve("postgresql") as database:
        history = run(database, seconds=HOSTILE_SECONDS, seed=1, faults=False, hostile=True)
    summary = history.summary()
    print(f"hostile clients on {database.title}: {summary}")
    assert history.violations == []
    assert all_kinds_happened(summary)
    # Nothing but the clients themselves is in the way, so nobody is left without an answer.
    assert summary.get("unknown", 0) == summary.get("unanswered", 0) == 0
    assert [key for key in summary["hostile"] if key.endswith("unanswered")] == []
    served = {client: summary["served"].get(client, 0) for client in honest_clients(history)}
    assert {client: count for client, count in served.items() if count < SERVED_MIN} == {}


def honest_clients(history: History) -> set[str]:
    return {event.client for event in history.events if event.honest}


def all_kinds_happened(summary: dict[str, Any]) -> bool:
    """Whether each kind of hostile client did what it is for at least once."""
    happened = " ".join(summary["hostile"])
    return all(kind.verb in happened for kind in HOSTILE_KINDS)


def claims_shared_transactions(summary: dict[str, Any]) -> bool:
    return summary["batches"]["commits of several"] > 0 and summary["batches"]["at-once"] > 0


@pytest.mark.parametrize(
    ("broken", "only"),
    [
        ("guard", None),
        ("feed", "commit_late"),
        ("commit", "cut_after_commit"),
        ("batch-guard", "slow_wire"),
        ("batch-commit", "cut_after_commit"),
        ("dropped-claim", "slow_wire"),
        ("early-answer", "die_at_commit"),
        ("loser", "slow_wire"),
        ("sum", "slow_wire"),
    ],
)
def test_a_defect_is_noticed(broken: str, only: str | None) -> None:
    with serve("postgresql") as database:
        for seed in range(ATTEMPTS):
            history = run(
                database,
                seconds=SECONDS,
                seed=seed,
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
