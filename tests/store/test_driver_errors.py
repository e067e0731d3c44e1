"""Errors of the database become errors on which a client can act."""

import pytest
from oslo_db import exception as driver
from sqlalchemy import exc as sql

from roost.errors import Unavailable
from roost.store.connection.driver_errors import CONVERTING_ERRORS
from roost.store.store import Store


@pytest.mark.parametrize(
    "error",
    [
        # A Galera node that lags behind answers a read with "lock wait timeout".
        driver.DBDeadlock(),
        driver.DBConnectionError(),
        sql.TimeoutError(),
        sql.DBAPIError("UPDATE", {}, Exception("(1114, 'The table is full')")),
    ],
    ids=repr,
)
def test_temporary_errors_of_the_database_are_unavailable(error: Exception) -> None:
    with pytest.raises(Unavailable), CONVERTING_ERRORS:
        raise error


@pytest.mark.parametrize("error", [OSError("bad descriptor"), ValueError("half a message")])
def test_whatever_is_said_while_a_connection_is_made_is_unavailable(
    synchronised_url: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    store = Store.open(synchronised_url)

    def connect(*_: object) -> None:
        raise error

    for engine in (store._database.engine, store._database.reader):
        monkeypatch.setattr(engine, "connect", connect)
    with pytest.raises(Unavailable):
        store.run(lambda tx: tx.providers.touch([1]))
    with pytest.raises(Unavailable):
        store.read_snapshot(lambda connection: None)
    store.dispose()


@pytest.mark.parametrize("synchronised_url", ["mariadb"], indirect=True)
# Shutting down, and what a node of Galera says at COMMIT once it has lost the others.
@pytest.mark.parametrize("number", [1053, 1180])
def test_a_server_that_is_of_no_use_is_unavailable(synchronised_url: str, number: int) -> None:
    store = Store.open(synchronised_url)
    text = f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'gone'"
    with store.engine.connect() as connection, pytest.raises(driver.DBConnectionError):
        connection.exec_driver_sql(text)
    store.dispose()
