"""The parameters in the URL of a database, as drivers name them.

Those that the driver of roost takes are passed on. Those of other drivers are translated. All
others are refused: a parameter that is silently dropped may be the one that demands encryption.
"""

import math
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from roost.store.connection.shown_url import shown_parameter


class InvalidDatabaseUrl(ValueError):
    """The URL cannot lead to a connection, whatever the state of the server."""


class Parameters(NamedTuple):
    """A URL without the parameters that were translated, and what they were translated to."""

    url: URL
    arguments: Mapping[str, Any]
    remarks: tuple[str, ...] = ()


# Loads a plugin of SQLAlchemy, which removes it from the URL.
_PLUGIN = "plugin"


def refuse_blank(query: str) -> None:
    """Not left to SQLAlchemy, which drops parameters without a value."""
    for name, value in parse_qsl(query, keep_blank_values=True):
        if not value:
            raise InvalidDatabaseUrl(f"its parameter {shown_parameter(name)} has no value")


def refuse(url: URL, known: Collection[str], set_by_roost: Collection[str] = ()) -> None:
    for name in url.query:
        if name in set_by_roost:
            raise InvalidDatabaseUrl(f"its parameter {name} is set by roost: leave it out")
        if name not in known and name != _PLUGIN:
            [closest] = get_close_matches(name, known, n=1) or [""]
            hint = f" (closest: {closest})" if closest else ""
            raise InvalidDatabaseUrl(
                f"the driver {url.get_driver_name()} knows no parameter "
                f"{shown_parameter(name)}{hint}"
            )


def bad(name: str, value: str, expected: str) -> InvalidDatabaseUrl:
    return InvalidDatabaseUrl(f"its parameter {name} is {value}: expected {expected}")


# ---------------------------------------------------------------------------------------------
# PostgreSQL


# Several servers, of which libpq takes the first that it can use.
_HOSTS = ("host", "port")


def postgresql_parameters(url: URL) -> Parameters:
    """The parameters of libpq, which checks their values itself."""
    from psycopg.pq import Conninfo

    refuse(url, {option.keyword.decode() for option in Conninfo.get_defaults()})
    values = single(url, may_repeat=_HOSTS)
    encoding = values.get("client_encoding", "utf8")
    if encoding.replace("-", "").lower() not in ("utf8", "auto"):
        raise bad("client_encoding", encoding, "utf8")
    try:
        url.get_dialect()().create_connect_args(url)
    except (ArgumentError, ValueError) as error:
        raise InvalidDatabaseUrl(f"its hosts and ports: {error}") from None
    return Parameters(url, {})


# ---------------------------------------------------------------------------------------------
# SQLite


NO_SQLITE_FILE = "roost needs a SQLite file: sqlite:////path/to/roost.db"


def sqlite_parameters(url: URL) -> Parameters:
    """The parameters of Python's sqlite3, and with `uri` those of SQLite's own URLs."""
    if url.host or url.port or url.username or url.password:
        raise InvalidDatabaseUrl(NO_SQLITE_FILE)
    values = single(url)
    is_uri = "uri" in values and switch("uri", values["uri"])
    of_sqlite = ("cache", "immutable", "mode", "modeof", "nolock", "psow", "vfs")
    refuse(
        url,
        ("timeout", "cached_statements", "uri", *(of_sqlite if is_uri else ())),
        set_by_roost=("check_same_thread", "isolation_level", "detect_types", "autocommit"),
    )
    if values.get("mode") == "memory":
        raise bad("mode", "memory", "a database that several connections share")
    if "cached_statements" in values:
        number("cached_statements", values["cached_statements"], int)
    if "timeout" not in values:
        return Parameters(url, {})
    # Not left to SQLAlchemy, because the argument of roost would override it.
    timeout = number("timeout", values["timeout"], float)
    return Parameters(url.difference_update_query(["timeout"]), {"timeout": timeout})


# ---------------------------------------------------------------------------------------------
# Values

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


def single(url: URL, may_repeat: Collection[str] = ()) -> dict[str, str]:
    for name, value in url.query.items():
        if not isinstance(value, str) and name != _PLUGIN and name not in may_repeat:
            raise InvalidDatabaseUrl(f"its parameter {name} occurs {len(value)} times")
    return {name: value for name, value in url.query.items() if isinstance(value, str)}


def number(name: str, text: str, kind: Callable[[str], float]) -> float:
    try:
        number = kind(text)
    except ValueError:
        number = 0
    if not 0 < number < math.inf:
        raise bad(name, text, "a number above 0")
    return number


def switch(name: str, text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise bad(name, text, "true or false")
    return text.lower() in _TRUE
