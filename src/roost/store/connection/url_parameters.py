"""The parameters in the URL of a database, as drivers name them.

Those that the driver of roost takes are passed on. Those of other drivers are translated. All
others are refused: a parameter that is silently dropped may be the one that demands encryption.
"""

import ssl
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy.engine import URL


class InvalidDatabaseUrl(ValueError):
    """The URL cannot lead to a connection, whatever the state of the server."""


class Parameters(NamedTuple):
    """A URL without the parameters that were translated, and what they were translated to."""

    url: URL
    arguments: Mapping[str, Any]
    remarks: tuple[str, ...] = ()


# Loads a plugin of SQLAlchemy, which removes it from the URL.
_PLUGIN = "plugin"


def _refuse(url: URL, known: Collection[str], set_by_roost: Collection[str] = ()) -> None:
    for name in url.query:
        if name in set_by_roost:
            raise InvalidDatabaseUrl(f"its parameter {name} is set by roost: leave it out")
        if name not in known and name != _PLUGIN:
            [closest] = get_close_matches(name, known, n=1) or [""]
            hint = f" (closest: {closest})" if closest else ""
            raise InvalidDatabaseUrl(
                f"the driver {url.get_driver_name()} knows no parameter {name}{hint}"
            )


def _bad(name: str, value: str, expected: str) -> InvalidDatabaseUrl:
    return InvalidDatabaseUrl(f"its parameter {name} is {value}: expected {expected}")


# ---------------------------------------------------------------------------------------------
# PostgreSQL


def postgresql_parameters(url: URL) -> Parameters:
    """The parameters of libpq, which checks their values itself."""
    from psycopg.pq import Conninfo

    _refuse(url, {option.keyword.decode() for option in Conninfo.get_defaults()})
    encoding = url.query.get("client_encoding")
    if encoding is not None and str(encoding).replace("-", "").lower() not in ("utf8", "auto"):
        raise _bad("client_encoding", str(encoding), "utf8")
    return Parameters(url, {})


# ---------------------------------------------------------------------------------------------
# SQLite


def sqlite_parameters(url: URL) -> Parameters:
    """The parameters of Python's sqlite3, and with `uri` those of SQLite's own URLs."""
    values = _single(url)
    is_uri = "uri" in values and _switch("uri", values["uri"])
    of_sqlite = ("cache", "immutable", "mode", "modeof", "nolock", "psow", "vfs")
    _refuse(
        url,
        ("timeout", "cached_statements", "uri", *(of_sqlite if is_uri else ())),
        set_by_roost=("check_same_thread", "isolation_level", "detect_types", "autocommit"),
    )
    if values.get("mode") == "memory":
        raise _bad("mode", "memory", "a database that several connections share")
    if "cached_statements" in values:
        _number("cached_statements", values["cached_statements"], int)
    if "timeout" not in values:
        return Parameters(url, {})
    # Not left to SQLAlchemy, because the argument of roost would override it.
    timeout = _number("timeout", values["timeout"], float)
    return Parameters(url.difference_update_query(["timeout"]), {"timeout": timeout})


# ---------------------------------------------------------------------------------------------
# MySQL and MariaDB

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")

# Parameters that PyMySQL takes, with what their texts become.
_MYSQL_NUMBERS = ("connect_timeout", "read_timeout", "write_timeout", "max_allowed_packet")
_MYSQL_TEXTS = (
    *("bind_address", "init_command", "program_name", "read_default_file"),
    *("read_default_group", "unix_socket"),
)
# All texts of this driver are unicode, and SQLAlchemy gives every session the collation of its
# character set.
_MYSQL_WITHOUT_EFFECT = ("collation", "use_unicode")
_MYSQL_BY_ROOST = ("autocommit", "client_flag", "conv", "cursorclass", "sql_mode")

_SSL_FILES = ("ssl_ca", "ssl_capath", "ssl_cert", "ssl_key")
_SSL_SWITCHES = ("ssl_check_hostname", "ssl_disabled", "ssl_verify_cert", "ssl_verify_identity")
_SSL_MODES = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
_SSL = (*_SSL_FILES, *_SSL_SWITCHES, "ssl", "ssl_cipher", "ssl_key_password", "ssl_mode")

# Character sets of sessions in old configurations.
_CHARSETS = ("utf8", "utf8mb3", "utf8mb4", "latin1", "ascii")


def mysql_parameters(url: URL) -> Parameters:
    """The parameters of PyMySQL, mysqlclient and SQLAlchemy."""
    known = (
        *(*_MYSQL_NUMBERS, *_MYSQL_TEXTS, *_MYSQL_WITHOUT_EFFECT, *_SSL),
        *("charset", "local_infile"),
    )
    _refuse(url, known, set_by_roost=_MYSQL_BY_ROOST)
    values = _single(url)
    arguments: dict[str, Any] = {name: values[name] for name in _MYSQL_TEXTS if name in values}
    for name in _MYSQL_NUMBERS:
        if name in values:
            arguments[name] = _number(name, values[name], int)
    if "local_infile" in values:
        arguments["local_infile"] = _switch("local_infile", values["local_infile"])
    arguments |= _encryption(values)
    charset, remarks = _charset(values)
    arguments["charset"] = charset
    remarks += [
        f"has the parameter {name}, which has no effect"
        for name in _MYSQL_WITHOUT_EFFECT
        if name in values
    ]
    return Parameters(url.difference_update_query(known), arguments, tuple(remarks))


def _charset(values: Mapping[str, str]) -> tuple[str, list[str]]:
    charset = values.get("charset", "utf8mb4")
    if charset.lower() not in _CHARSETS:
        raise _bad("charset", charset, f"one of {', '.join(_CHARSETS)}")
    if charset == "utf8mb4":
        return charset, []
    # The server converts between the session and the columns, so the tables see no difference.
    return "utf8mb4", [f"has the charset {charset}; using utf8mb4, which contains it"]


def _encryption(values: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of PyMySQL for TLS; none of them: TLS if the server offers it."""
    switches = {name: _switch(name, values[name]) for name in _SSL_SWITCHES if name in values}
    mode = _ssl_mode(values)
    if mode == "DISABLED" or switches.get("ssl_disabled"):
        return {"ssl_disabled": True}
    settings = {
        "ca": values.get("ssl_ca"),
        "capath": values.get("ssl_capath"),
        "cert": values.get("ssl_cert"),
        "key": values.get("ssl_key"),
        "password": values.get("ssl_key_password"),
        "cipher": values.get("ssl_cipher"),
    }
    found: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    demanded = switches.keys() - {"ssl_disabled"}
    if not found and not demanded and mode in (None, "PREFERRED"):
        return {}
    has_authority = "ca" in found or "capath" in found
    verifies, checks_host = has_authority, has_authority
    if mode == "VERIFY_CA":
        verifies, checks_host = True, False
    if "ssl_verify_cert" in switches:
        verifies, checks_host = switches["ssl_verify_cert"], False
    if "ssl_check_hostname" in switches:
        checks_host = switches["ssl_check_hostname"]
    if mode == "VERIFY_IDENTITY" or switches.get("ssl_verify_identity"):
        verifies = checks_host = True
    if (verifies or checks_host) and not has_authority:
        # PyMySQL would not compare the name of the host.
        raise InvalidDatabaseUrl(
            "its parameters ask to verify the server: expected ssl_ca or ssl_capath too"
        )
    _check_files(found)
    checks_host = checks_host and verifies
    return {"ssl": {**found, "check_hostname": checks_host, "verify_mode": verifies}}


def _ssl_mode(values: Mapping[str, str]) -> str | None:
    if "ssl" in values:
        return "REQUIRED" if _switch("ssl", values["ssl"]) else "DISABLED"
    mode = values.get("ssl_mode")
    if mode is not None and mode.upper() not in _SSL_MODES:
        raise _bad("ssl_mode", mode, f"one of {', '.join(_SSL_MODES)}")
    return mode and mode.upper()


def _check_files(found: Mapping[str, str]) -> None:
    """Load the files as PyMySQL does. There, each connection would fail."""
    if "capath" in found and not Path(found["capath"]).is_dir():
        raise _bad("ssl_capath", found["capath"], "a folder of certificates")
    try:
        context = ssl.create_default_context(cafile=found.get("ca"), capath=found.get("capath"))
    except OSError as error:
        raise _bad(
            "ssl_ca", found.get("ca", ""), f"a file of certificates ({_reason(error)})"
        ) from error
    try:
        if "cert" in found:
            context.load_cert_chain(found["cert"], found.get("key"), found.get("password"))
    except OSError as error:
        expected = f"a certificate, with ssl_key its key ({_reason(error)})"
        raise _bad("ssl_cert", found["cert"], expected) from error
    try:
        if "cipher" in found:
            context.set_ciphers(found["cipher"])
    except ssl.SSLError as error:
        raise _bad("ssl_cipher", found["cipher"], "ciphers as OpenSSL names them") from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).partition("\n")[0]


# ---------------------------------------------------------------------------------------------
# Values


def _single(url: URL) -> dict[str, str]:
    for name, value in url.query.items():
        if not isinstance(value, str) and name != _PLUGIN:
            raise InvalidDatabaseUrl(f"its parameter {name} occurs {len(value)} times")
    return {name: value for name, value in url.query.items() if isinstance(value, str)}


def _number(name: str, text: str, kind: Callable[[str], float]) -> float:
    try:
        number = kind(text)
    except ValueError:
        number = 0
    if number <= 0:
        raise _bad(name, text, "a number above 0")
    return number


def _switch(name: str, text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise _bad(name, text, "true or false")
    return text.lower() in _TRUE
