"""Statements that are sent in one batch have the same results as statements sent one by one."""

from collections.abc import Callable
from functools import partial

import pytest

from roost.errors import CapacityExceeded, ConsumerGenerationConflict
from roost.service.service import Roost
from roost.store.connection import statements
from roost.store.connection.driver_errors import LostRace
from roost.store.transaction import Transaction
from tests.concurrency.races import add_provider, claim, dump, put, refusals, run_concurrently, used

OpenRoost = Callable[[], Roost]


@pytest.fixture(autouse=True, params=["near", "far"])
def distance(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the database is on this host or remote, which decides how statements are sent."""
    if request.param == "far":
        monkeypatch.setattr(statements, "_LOCAL_HOSTS", ())


def test_claims_succeed_or_are_refused(open_roost: OpenRoost) -> None:
    first, second = open_roost(), open_roost()
    add_provider(first, "host", VCPU=20)
    claims = [
        partial(put, service, claim(f"{number}-{index}", {"host": {"VCPU": 3}}))
        for number in range(10)
        for index, service in enumerate([first, second])
    ]
    results = run_concurrently(claims)
    assert results.count(None) == 6
    assert {type(refusal) for refusal in refusals(results)} == {CapacityExceeded}
    assert used(first, "host", "VCPU") == 18


def test_an_existing_row_is_a_conflict_and_changes_nothing(roost: Roost) -> None:
    add_provider(roost, "host", VCPU=4)
    roost.current_index()
    put(roost, claim("a", {"host": {"VCPU": 1}}))
    before = dump(roost.store.engine)
    with pytest.raises(ConsumerGenerationConflict):
        put(roost, claim("a", {"host": {"VCPU": 2}}))
    assert dump(roost.store.engine) == before


def test_a_guard_that_matches_no_row_rolls_everything_back(roost: Roost) -> None:
    host = add_provider(roost, "host", VCPU=4)
    before = dump(roost.store.engine)

    def unit(tx: Transaction) -> None:
        found = tx.providers.lock_states([host])[host]
        tx.providers.advance([(found, 1)])
        # As if another writer had moved the generation since.
        tx.providers.advance([(found, 2)])
        tx.flush()

    with pytest.raises(LostRace), roost.store.write() as tx:
        unit(tx)
    assert dump(roost.store.engine) == before


def test_many_rows_are_split_into_several_statements(roost: Roost) -> None:
    add_provider(roost, "host", VCPU=1000)
    put(roost, *(claim(f"consumer{number}", {"host": {"VCPU": 1}}) for number in range(200)))
    assert used(roost, "host", "VCPU") == 200
