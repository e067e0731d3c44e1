"""Errors of the database, classified by how to react to them.

oslo.db converts driver errors to its own (DBDeadlock, DBDuplicateEntry, ...). This module adds
filters for those that oslo.db leaves alone. It is also the one place that says which errors are
worth a retry, and which mean that the database is unavailable.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from oslo_db import exception as driver  # type: ignore[import-untyped]
from oslo_db.sqlalchemy import exc_filters  # type: ignore[import-untyped]
from sqlalchemy import Engine
from sqlalchemy import exc as sql

from roost.converting import Converting
from roost.errors import NoTables, RoostError, Unavailable, UnstorableText
from roost.observe import metrics


class LostRace(Exception):
    """Another writer changed what this unit of work had read: run the whole unit again."""


class RowExists(LostRace):
    """The unit of work inserted a row that another transaction, or the client, inserted before."""


class ConnectionLost(Unavailable):
    """The connection broke before COMMIT, so nothing was written."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"The database cannot be reached, or written: {error}")


class OutcomeUnknown(Unavailable):
    """The connection broke during COMMIT. The write may have taken place: do not repeat it."""

    def __init__(self) -> None:
        super().__init__(
            "The connection to the database was lost during COMMIT, and whether the write took "
            "place could not be found out."
        )


class LostWriter(driver.DBDeadlock):  # type: ignore[misc]
    """The row of this process in `roost_writers` is missing, or has another number."""


class SomeGuardFailed(driver.DBDeadlock):  # type: ignore[misc]
    """Another writer was first, or the row of this process is missing: MySQL does not say which."""


# The whole unit was rolled back, and its next run sees what it collided with: a lost race, or a
# row that appeared (duplicate) or vanished (reference) after the unit had read.
RETRYABLE = (
    LostRace,
    driver.DBDeadlock,
    driver.DBConsistencyError,
    driver.DBDuplicateEntry,
    driver.DBReferenceError,
)

# The messages of the errors that guards raise in a block of MariaDB's (`whole_transaction.py`).
GUARD_FAILED, WRITER_LOST = "roost: a guard failed", "roost: the row of the writer is missing"

_SERIALIZATION_FAILURE = "40001"  # the SQLSTATE of a transaction that lost a race
# SQLSTATE classes: connection, out of resources, shutting down or starting.
_POSTGRESQL_UNAVAILABLE = ("08", "53", "57P")

# A database that answers and cannot be used: full, broken or not for this user.
_UNUSABLE = (
    *("disk is full", "disk I/O error", "malformed", "file is not a database"),
    *("(1142,", "permission denied for"),
    # Two columns that are compared have different collations: `roost status` says which.
    *("(1021,", "(1114,", "(1267,"),
)
# Coercible is what a statement holds itself. Between two columns, 1267 is a fault of the tables.
_OUTSIDE_CHARACTER_SET = r".*\((1300|1366|1977|3988),|.*\(1267,.*COERCIBLE"
_NO_TABLES = ("(1146,", "UndefinedTable")


# Filters that oslo.db lacks, added to its registry, which applies them before its general ones.


@exc_filters.filters("postgresql", sql.OperationalError, r".*")  # type: ignore[untyped-decorator]
def _postgresql_failure(error: sql.OperationalError, *_: object) -> None:
    state = getattr(error.orig, "sqlstate", None)
    if state == _SERIALIZATION_FAILURE:
        raise driver.DBDeadlock(error)
    # Every error of a server has a state. One without a state did not come from a server.
    if state is None or state.startswith(_POSTGRESQL_UNAVAILABLE):
        raise driver.DBConnectionError(error)


# Too many connections, or shutting down; the user, the host or the lack of TLS is refused; a node
# of Galera has lost the others at COMMIT.
@exc_filters.filters(  # type: ignore[untyped-decorator]
    "mysql", sql.OperationalError, r".*\((1040|1053|1180|1203|1044|1045|1129|1130|1698|2026),"
)
def _mysql_unavailable(error: sql.OperationalError, *_: object) -> None:
    raise driver.DBConnectionError(error)


# A server that no longer takes writes has been replaced. New connections may lead to its
# successor; those that are open never will. A file that was opened for reading alone is the same.
@exc_filters.filters(  # type: ignore[untyped-decorator]
    "mysql", sql.OperationalError, r".*\((1290|1836),"
)
@exc_filters.filters(  # type: ignore[untyped-decorator]
    "postgresql", sql.InternalError, r".*read-only transaction"
)
@exc_filters.filters(  # type: ignore[untyped-decorator]
    "sqlite", sql.OperationalError, r".*attempt to write a readonly database"
)
def _read_only(error: sql.DBAPIError, *_: object) -> None:
    raise driver.DBConnectionError(error)


@exc_filters.filters(  # type: ignore[untyped-decorator]
    "sqlite", sql.OperationalError, r".*database (table |schema )?is locked"
)
def _sqlite_busy(error: sql.OperationalError, *_: object) -> None:
    raise driver.DBDeadlock(error)


# A text has characters that the column cannot hold. It was written (1366, 1977), compared with the
# column (1267; 3988 in MySQL), or is not even valid in the character set of the session (1300).
@exc_filters.filters("mysql", sql.DataError, _OUTSIDE_CHARACTER_SET)  # type: ignore[untyped-decorator]
@exc_filters.filters(  # type: ignore[untyped-decorator]
    "mysql", sql.OperationalError, _OUTSIDE_CHARACTER_SET
)
@exc_filters.filters(  # type: ignore[untyped-decorator]
    "postgresql", sql.DataError, r".*has no equivalent in encoding"
)
def _outside_character_set(error: sql.DBAPIError, *_: object) -> None:
    raise driver.DBDataError(error)


# A guard inside a statement, or between those of a batch, has failed (`tables/new_claims.py`).
@exc_filters.filters("postgresql", sql.DataError, r".*")  # type: ignore[untyped-decorator]
def _postgresql_guard(error: sql.DataError, *_: object) -> None:
    match getattr(error.orig, "sqlstate", None):
        case "22012":  # a division by zero
            raise driver.DBDeadlock(error)
        case "2201E":  # the logarithm of zero
            raise LostWriter(error)


@exc_filters.filters("mysql", sql.OperationalError, r".*\(1242,")  # type: ignore[untyped-decorator]
def _mysql_guard(error: sql.OperationalError, *_: object) -> None:
    raise SomeGuardFailed(error)


@exc_filters.filters("mysql", sql.OperationalError, r".*\(1644,")  # type: ignore[untyped-decorator]
def _mariadb_guard(error: sql.OperationalError, *_: object) -> None:
    raise (LostWriter if WRITER_LOST in str(error.orig) else driver.DBDeadlock)(error)


def register(engine: Engine) -> None:
    """Convert the driver errors of this engine."""
    exc_filters.register_engine(engine)


# The second one: the driver could not encode a text in the character set of the session.
_UNSTORABLE = (driver.DBDataError, driver.DBInvalidUnicodeParameter)


@contextmanager
def naming_text(texts: Collection[tuple[str, str]]) -> Iterator[None]:
    """Say which of these texts (each with the name of its field) the database cannot hold.

    Errors of the database do not tell. But of latin1, utf8mb3 and utf8mb4 each contains those
    before it, so a text with the highest code point is one that cannot be stored.
    """
    try:
        yield
    except _UNSTORABLE as error:
        field, text = max(texts, key=lambda pair: max(pair[1], default=""))
        if text.isascii():
            raise
        raise UnstorableText(field, text) from error


def converted(error: BaseException) -> RoostError | None:
    """`Unavailable` for every error which means that the database cannot be used now.

    None for an error that says nothing of the kind.
    """
    if isinstance(error, _UNSTORABLE):
        return UnstorableText()
    match error:
        case driver.DBNonExistentTable():
            return NoTables()
        case driver.DBConnectionError() | driver.DBNonExistentDatabase():
            return Unavailable(f"The database cannot be reached, or written: {error}")
        case driver.DBDeadlock():
            # Only from a read: on Galera the node did not catch up with the cluster in time. A
            # write is retried before this.
            return Unavailable(f"The database is not ready: {error}")
        case sql.TimeoutError():
            metrics.CONNECTION_TIMEOUTS.inc()
            return Unavailable("All connections to the database are in use.")
        case sql.DBAPIError() | driver.DBError():
            return _converted_by_message(error)
    return None


def _converted_by_message(error: Exception) -> RoostError | None:
    message = str(error)
    if any(text in message for text in _NO_TABLES):
        return NoTables()
    if any(text in message for text in _UNUSABLE):
        return Unavailable(f"The database cannot be used: {error}")
    if "NUL (0x00)" in message or "surrogates not allowed" in message:
        return UnstorableText()
    return None


CONVERTING_ERRORS = Converting(converted)
