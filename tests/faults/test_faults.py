"""A short run of `scripts/faults` on both kinds of database, and one with each built-in defect."""

import pytest

from tests.faults.databases import serve
from tests.faults.run import run

SECONDS = 25.0
# A defect shows sooner or later; a run that did not show it is repeated.
ATTEMPTS = 3


@pytest.mark.parametrize("kind", ["galera", "postgresql"])
def test_no_acknowledged_write_is_lost(kind: str) -> None:
    with serve(kind) as database:
        history = run(database, seconds=SECONDS, seed=1)
    summary = history.summary()
    print(f"faults on {database.title}: {summary}")
    assert history.violations == []
    # A run in which nothing happened would prove nothing.
    assert summary["ok"] > 100
    assert summary["faults"] > 3


@pytest.mark.parametrize(
    ("broken", "only"),
    [("guard", None), ("feed", "commit_late"), ("commit", "cut_at_commit")],
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
            if history.violations:
                print(f"{broken} is broken: {history.violations[0]}")
                return
    raise AssertionError(f"no run noticed that {broken} is broken")
