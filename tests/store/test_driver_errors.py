"""Errors of the database become errors on which a client can act."""

import pytest
from oslo_db import exception as driver
from sqlalchemy import exc as sql

from roost.errors import Unavailable
from roost.store.connection.driver_errors import converting_errors


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
    with pytest.raises(Unavailable), converting_errors():
        raise error
