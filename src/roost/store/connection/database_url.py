"""The URL of a database: which driver serves it, and what its parameters mean to that driver.

Operators have URLs that were written for other drivers. The database behind them is the same, so
roost uses its own driver. A parameter takes effect, or the URL is refused with its name.
"""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy.dialects import plugins
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from roost.store.connection.mysql_parameters import mysql_parameters
from roost.store.connection.shown_url import after_user
from roost.store.connection.url_parameters import (
    InvalidDatabaseUrl,
    Parameters,
    postgresql_parameters,
    refuse_blank,
    sqlite_parameters,
)

# The databases that roost knows, by the names that URLs give them.
_DATABASES = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
}

# The driver that roost uses.
_DRIVERS = {"postgresql": "psycopg", "mysql": "pymysql", "sqlite": "pysqlite"}

# Drivers that URLs name, with their modules. Those of encrypted SQLite files are not among them:
# another driver cannot read these.
_NAMED_DRIVERS: Mapping[str, Mapping[str, str]] = {
    "postgresql": {
        "psycopg": "psycopg",
        "psycopg_async": "psycopg",
        "psycopg2": "psycopg2",
        "psycopg2cffi": "psycopg2cffi",
        "asyncpg": "asyncpg",
        "pg8000": "pg8000",
    },
    "mysql": {
        "pymysql": "pymysql",
        "mysqldb": "MySQLdb",
        "mysqlconnector": "mysql.connector",
        "mariadbconnector": "mariadb",
        "cymysql": "cymysql",
        "aiomysql": "aiomysql",
        "asyncmy": "asyncmy",
    },
    "sqlite": {"pysqlite": "sqlite3", "aiosqlite": "aiosqlite"},
}

_PARAMETERS = {
    "postgresql": postgresql_parameters,
    "mysql": mysql_parameters,
    "sqlite": sqlite_parameters,
}


_PORT_MAX = 65535


class DatabaseUrl(NamedTuple):
    """A URL that leads to a connection, if the server is there."""

    url: URL  # with the driver of roost, and the parameters that SQLAlchemy hands on as they are
    arguments: Mapping[str, Any]  # for the driver: what other parameters mean to it
    driver: str
    remarks: tuple[str, ...]  # what is done in another way than the URL says


def read_url(text: str | URL, connection_parameters: str = "") -> DatabaseUrl:
    """Raises `InvalidDatabaseUrl`, whose message never contains a password."""
    if "\n" in _text(text).strip():
        # SQLAlchemy would drop the parameters after the first line.
        raise InvalidDatabaseUrl("it is more than one line: expected one")
    try:
        given = make_url(text)
        if connection_parameters:
            given = given.update_query_string(connection_parameters)
    except (ArgumentError, ValueError):
        raise InvalidDatabaseUrl(
            "it is not a URL: expected such as mysql+pymysql://user:password@host/placement; in a "
            "password, characters such as @ and / are written %40 and %2F"
        ) from None
    name, _, named = given.drivername.partition("+")
    database = _DATABASES.get(name)
    if database is None:
        raise InvalidDatabaseUrl(
            f"roost knows no database {name}: expected postgresql, mysql, mariadb or sqlite"
        )
    driver = _DRIVERS[database]
    if named and named not in _NAMED_DRIVERS[database]:
        raise InvalidDatabaseUrl(
            f"roost knows no driver {named}: expected {database}+{driver}, or {database} alone"
        )
    place, _, query = after_user(_text(text)).partition("?")
    if database != "sqlite" and "@" in place:
        raise InvalidDatabaseUrl(
            "it has an @ after that of the password: expected %40 for an @ in a password"
        )
    if given.port is not None and given.port > _PORT_MAX:
        raise InvalidDatabaseUrl(f"its port is {given.port}: expected one up to {_PORT_MAX}")
    refuse_blank(query)
    refuse_blank(connection_parameters)
    url = given.set(drivername="sqlite" if database == "sqlite" else f"{database}+{driver}")
    _check_installed(url, named)
    _check_plugins(url)
    parameters: Parameters = _PARAMETERS[database](url)
    return DatabaseUrl(
        url=parameters.url,
        arguments=parameters.arguments,
        driver=driver,
        remarks=(*_driver_remarks(database, named, driver), *parameters.remarks),
    )


def missing_file(text: str) -> str | None:
    """The path of a SQLite file that does not exist: whoever connects to it creates it."""
    url = read_url(text).url
    if url.get_backend_name() != "sqlite" or not url.database or url.database.startswith("file:"):
        # What a URL of SQLite's own does, its parameters say.
        return None
    return None if Path(url.database).exists() else url.database


def _text(url: str | URL) -> str:
    return url if isinstance(url, str) else url.render_as_string(hide_password=False)


def _driver_remarks(database: str, named: str, driver: str) -> list[str]:
    if named == driver or database == "sqlite":
        return []
    return [f"names {named or 'no driver'}; using {driver}, which is installed"]


def _check_installed(url: URL, named: str) -> None:
    database, driver = url.get_backend_name(), url.get_driver_name()
    try:
        url.get_dialect().import_dbapi()
    except ImportError as error:
        reason = str(error).partition("\n")[0]
        advice = f"its driver {driver} is not installed ({reason}): pip install 'roost[{database}]'"
        if named and named != driver and _is_installed(_NAMED_DRIVERS[database][named]):
            advice += f"; {named} is installed, but roost does not work with it"
        raise InvalidDatabaseUrl(advice) from error


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        # The package around the module is missing.
        return False


def _check_plugins(url: URL) -> None:
    named = url.query.get("plugin", ())
    for name in (named,) if isinstance(named, str) else named:
        for each in name.split(","):
            try:
                plugins.load(each)
            except (NoSuchModuleError, ImportError):
                raise InvalidDatabaseUrl(
                    f"its parameter plugin names {each}, and no plugin of SQLAlchemy of that name "
                    "is installed"
                ) from None
