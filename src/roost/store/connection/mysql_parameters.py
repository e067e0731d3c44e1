"""The parameters of PyMySQL, mysqlclient and SQLAlchemy in the URL of a MariaDB or MySQL."""

import configparser
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy.engine import URL

from roost.store.connection.url_parameters import (
    InvalidDatabaseUrl,
    Parameters,
    bad,
    number,
    refuse,
    single,
    switch,
)

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

# Parameters with the names that they have in files of options, and in PyMySQL.
_SSL_OPTIONS = {
    "ca": "ssl_ca",
    "capath": "ssl_capath",
    "cert": "ssl_cert",
    "key": "ssl_key",
    "password": "ssl_key_password",
    "cipher": "ssl_cipher",
}
_SSL_VERIFIES = ("ssl_check_hostname", "ssl_verify_cert", "ssl_verify_identity")
_SSL_SWITCHES = (*_SSL_VERIFIES, "ssl", "ssl_disabled")
_SSL_MODES = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
_SSL = (*_SSL_OPTIONS.values(), *_SSL_SWITCHES, "ssl_mode")

# Character sets of sessions in old configurations.
_CHARSETS = ("utf8", "utf8mb3", "utf8mb4", "latin1", "ascii")


def mysql_parameters(url: URL) -> Parameters:
    """What PyMySQL takes is passed on, the rest translated or refused."""
    known = (
        *(*_MYSQL_NUMBERS, *_MYSQL_TEXTS, *_MYSQL_WITHOUT_EFFECT, *_SSL),
        *("charset", "local_infile"),
    )
    refuse(url, known, set_by_roost=_MYSQL_BY_ROOST)
    values = single(url)
    arguments: dict[str, Any] = {name: values[name] for name in _MYSQL_TEXTS if name in values}
    for name in _MYSQL_NUMBERS:
        if name in values:
            arguments[name] = number(name, values[name], int)
    if "local_infile" in values:
        arguments["local_infile"] = switch("local_infile", values["local_infile"])
    options, file_remarks = _option_file(values)
    arguments |= _encryption(values, options)
    charset, remarks = _charset(values)
    remarks += file_remarks
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
        raise bad("charset", charset, f"one of {', '.join(_CHARSETS)}")
    if charset == "utf8mb4":
        return charset, []
    # The server converts between the session and the columns, so the tables see no difference.
    return "utf8mb4", [f"has the charset {charset}; using utf8mb4, which contains it"]


# ---------------------------------------------------------------------------------------------
# Encryption


def _encryption(values: Mapping[str, str], options: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of PyMySQL for TLS; none of them: TLS if the server offers it.

    `options` are those of a file, which the parameters of the URL override.
    """
    switches = {name: switch(name, values[name]) for name in _SSL_SWITCHES if name in values}
    mode = _ssl_mode(values)
    _refuse_contradictions(values, switches, mode)
    if mode == "DISABLED" or switches.get("ssl") is False or switches.get("ssl_disabled"):
        return {"ssl_disabled": True}
    given = {option: values[name] for option, name in _SSL_OPTIONS.items() if name in values}
    found: dict[str, Any] = {**options, **given}
    for option in ("key", "password"):
        if option in given and "cert" not in found:
            name = _SSL_OPTIONS[option]
            raise InvalidDatabaseUrl(f"its parameter {name} has no effect without ssl_cert")
    demanded = switches.keys() - {"ssl", "ssl_disabled"}
    if not found and not demanded and not switches.get("ssl") and mode in (None, "PREFERRED"):
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
    try:
        _check_files(found)
    except InvalidDatabaseUrl as error:
        if not options:
            raise
        raise _bad_option_file(values, f"with its options, {error}") from error
    checks_host = checks_host and verifies
    return {"ssl": {**found, "check_hostname": checks_host, "verify_mode": verifies}}


def _ssl_mode(values: Mapping[str, str]) -> str | None:
    mode = values.get("ssl_mode")
    if mode is not None and mode.upper() not in _SSL_MODES:
        raise bad("ssl_mode", mode, f"one of {', '.join(_SSL_MODES)}")
    return mode and mode.upper()


def _refuse_contradictions(
    values: Mapping[str, str], switches: Mapping[str, bool], mode: str | None
) -> None:
    """Whichever parameter won, the connection would be less safe than the other one says."""
    off = {name for name, is_on in switches.items() if not is_on}
    on = switches.keys() - off
    # What leaves out the encryption, and what has no meaning without it.
    disables = {"ssl"} & off | {"ssl_disabled"} & on
    encrypts = set(_SSL_OPTIONS.values()) & values.keys()
    encrypts |= on - {"ssl_disabled"} | {"ssl_disabled"} & off
    # What leaves out the verification or the name, and what demands it.
    unverified, verifies = {"ssl_verify_cert"} & off, {*_SSL_VERIFIES} & on
    nameless = {"ssl_check_hostname", "ssl_verify_identity"} & off
    names = {"ssl_verify_identity"} & on
    match mode:
        case None:
            pass
        case "DISABLED":
            disables |= {"ssl_mode"}
        case _:
            encrypts |= {"ssl_mode"}
    if mode in ("VERIFY_CA", "VERIFY_IDENTITY"):
        verifies |= {"ssl_mode"}
    if mode == "VERIFY_IDENTITY":
        names |= {"ssl_mode"}
    for one, other in ((disables, encrypts), (verifies, unverified), (names, nameless)):
        if one and other:
            raise InvalidDatabaseUrl(
                f"its parameters {min(one)} and {min(other)} contradict each other"
            )


def _check_files(found: Mapping[str, str]) -> None:
    """Load the files as PyMySQL does. There, each connection would fail."""
    if "capath" in found and not Path(found["capath"]).is_dir():
        raise bad("ssl_capath", found["capath"], "a folder of certificates")
    try:
        context = ssl.create_default_context(cafile=found.get("ca"), capath=found.get("capath"))
    except OSError as error:
        raise bad(
            "ssl_ca", found.get("ca", ""), f"a file of certificates ({_reason(error)})"
        ) from error
    try:
        if "cert" in found:
            context.load_cert_chain(found["cert"], found.get("key"), found.get("password"))
    except OSError as error:
        expected = f"a certificate, with ssl_key its key ({_reason(error)})"
        raise bad("ssl_cert", found["cert"], expected) from error
    try:
        if "cipher" in found:
            context.set_ciphers(found["cipher"])
    except ssl.SSLError as error:
        raise bad("ssl_cipher", found["cipher"], "ciphers as OpenSSL names them") from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).partition("\n")[0]


# ---------------------------------------------------------------------------------------------
# Files of options

# Where PyMySQL looks if the URL names only a section, and which section if it names only a file.
_OPTION_FILE, _OPTION_SECTION = "/etc/my.cnf", "client"


def _option_file(values: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """What the file says about encryption, and remarks. PyMySQL reads it for each connection."""
    if not {"read_default_file", "read_default_group"} & values.keys():
        return {}, []
    # PyMySQL is an optional dependency.
    from pymysql.optionfile import Parser  # type: ignore[import-untyped]

    path = _option_path(values)
    parser = Parser()
    # The errors of the parser quote the file, in which there may be a password.
    try:
        with open(path) as file:
            parser.read_file(file)
    except FileNotFoundError:
        return {}, [f"has read_default_file={path}, and there is no such file"]
    except OSError as error:
        expected = f"expected a file that roost can read ({_reason(error)})"
        raise _bad_option_file(values, expected) from error
    except (configparser.Error, UnicodeDecodeError) as error:
        raise _bad_option_file(values, f"expected sections of options{_line(error)}") from None
    section = values.get("read_default_group", _OPTION_SECTION)

    def option(name: str) -> str | None:
        try:
            return str(parser.get(section, name))
        except (configparser.Error, TypeError):
            # It is not there, or has no value; then PyMySQL ignores it.
            return None

    port = option("port")
    if port is not None and not port.isdecimal():
        raise _bad_option_file(values, "expected a number as its port")
    found = {name: option(f"ssl-{name}") for name in _SSL_OPTIONS}
    return {name: value for name, value in found.items() if value}, []


def _option_path(values: Mapping[str, str]) -> str:
    return os.path.expanduser(values.get("read_default_file", _OPTION_FILE))


def _bad_option_file(values: Mapping[str, str], expected: str) -> InvalidDatabaseUrl:
    path = _option_path(values)
    return InvalidDatabaseUrl(f"its parameter read_default_file is {path}: {expected}")


def _line(error: Exception) -> str:
    number = getattr(error, "lineno", None)
    if errors := getattr(error, "errors", None):
        # Those of all lines.
        number = errors[0][0]
    return f" (line {number})" if number else ""
