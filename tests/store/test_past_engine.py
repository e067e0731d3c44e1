"""Whole transactions that are sent past the engine: prepared, where the server can do that."""

from collections.abc import Iterator
from typing import Any

import pytest

from roost.errors import CapacityExceeded
from roost.operations.aggregates import replace_aggregates
from roost.operations.usages import read_usages
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.connection import past_engine
from roost.store.store import Store
from tests.concurrency.races import add_provider, claim, put
from tests.support.names import uid

ON_MARIADB = pytest.mark.parametrize("synchronised_url", ["mariadb"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("synchronised_url", ["postgresql"], indirect=True)


@pytest.fixture
def roost(synchronised_url: str) -> Iterator[Roost]:
    opened = Roost(Store.open(synchronised_url), Settings())
    add_provider(opened, "host", VCPU=10)
    opened.catch_up()
    # The first one adds its owner, and the second one finds it. Then it is known.
    for number in range(2):
        put(opened, claim(f"owner{number}", {"host": {"VCPU": 1}}))
    yield opened
    opened.close()


def put_aggregates(roost: Roost, count: int) -> None:
    index = roost.current_index()
    generation = int(index.rows.generation[index.row(uid("host"))])
    names = [uid(f"aggregate{number}") for number in range(count)]
    replace_aggregates(
        roost, provider_uuid=uid("host"), aggregates=names, expected_generation=generation
    )


def aggregates_of(roost: Roost) -> int:
    index = roost.current_index()
    return len(index.row_aggregates(index.row(uid("host"))))


def used(roost: Roost) -> int:
    return read_usages(roost, provider_uuid=uid("host")).usages["VCPU"]


def driver_connection(roost: Roost) -> Any:
    connection = roost.store._at_once_writer._connection
    assert connection is not None
    return connection.connection.driver_connection


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first word of each message to MariaDB."""
    words: list[str] = []
    execute = past_engine._execute_mysql

    def note(connection: Any, text: str) -> None:
        words.append(text.split()[0])
        execute(connection, text)

    monkeypatch.setattr(past_engine, "_execute_mysql", note)
    return words


@ON_MARIADB
def test_what_occurs_again_is_prepared(roost: Roost, sent: list[str]) -> None:
    for number in range(4):
        put(roost, claim(f"c{number}", {"host": {"VCPU": 1}}))
    assert sent == ["BEGIN", "PREPARE", "EXECUTE", "EXECUTE", "EXECUTE"]
    assert used(roost) == 6


@ON_MARIADB
def test_a_guard_fails_in_a_prepared_transaction_as_in_any_other(
    roost: Roost, sent: list[str], synchronised_url: str
) -> None:
    other = Roost(Store.open(synchronised_url), Settings())
    other.catch_up()
    for number in range(4):
        put(roost, claim(f"c{number}", {"host": {"VCPU": 1}}))
    put(other, claim("theirs", {"host": {"VCPU": 3}}))
    with pytest.raises(CapacityExceeded):
        put(roost, claim("too-much", {"host": {"VCPU": 2}}))
    put(roost, claim("last", {"host": {"VCPU": 1}}))
    assert used(roost) == 10
    other.close()


@ON_MARIADB
@pytest.mark.parametrize("lacks", ["preparing", "what was prepared"])
def test_where_nothing_can_be_prepared_it_is_sent_as_a_text(
    roost: Roost, sent: list[str], lacks: str
) -> None:
    put(roost, claim("c0", {"host": {"VCPU": 1}}))
    if lacks == "preparing":
        with roost.store.engine.connect() as connection:
            connection.exec_driver_sql("SET GLOBAL max_prepared_stmt_count = 0")
        expected = ["BEGIN", "PREPARE", "BEGIN", "BEGIN"]
    else:
        put(roost, claim("c1", {"host": {"VCPU": 1}}))
        # As a proxy does that gives the next transaction to another connection.
        driver_connection(roost).query("DEALLOCATE PREPARE roost0")
        sent.clear()
        expected = ["EXECUTE", "BEGIN", "BEGIN"]
    try:
        for number in range(2, 4):
            put(roost, claim(f"c{number}", {"host": {"VCPU": 1}}))
    finally:
        with roost.store.engine.connect() as connection:
            connection.exec_driver_sql("SET GLOBAL max_prepared_stmt_count = 16382")
    assert sent == expected
    assert used(roost) == (5 if lacks == "preparing" else 6)


@ON_MARIADB
def test_few_shapes_are_prepared(
    roost: Roost, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_engine, "PREPARED_MAX", 2)
    for _ in range(3):
        for count in range(5):
            put_aggregates(roost, count)
            assert aggregates_of(roost) == count
    assert sent.count("PREPARE") == 2


@ON_POSTGRESQL
def test_through_a_proxy_that_prepares_nothing_cursors_are_used(roost: Roost) -> None:
    put(roost, claim("before", {"host": {"VCPU": 1}}))
    connection = driver_connection(roost)
    connection.prepare_threshold = None
    past_engine._prepared.pop(connection, None)
    for number in range(3):
        put(roost, claim(f"c{number}", {"host": {"VCPU": 1}}))
    assert connection not in past_engine._prepared
    assert used(roost) == 6


@ON_POSTGRESQL
def test_a_statement_is_prepared_once(roost: Roost) -> None:
    for number in range(3):
        put(roost, claim(f"c{number}", {"host": {"VCPU": 1}}))
    connection = driver_connection(roost)
    (statement,) = past_engine._prepared[connection].values()
    found = connection.execute("SELECT name FROM pg_prepared_statements").fetchall()
    assert (statement.name.decode(),) in found
    assert used(roost) == 5
