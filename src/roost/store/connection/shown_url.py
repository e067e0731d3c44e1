"""The URL of a database as messages show it."""

import re
from urllib.parse import parse_qsl, urlencode

HIDDEN = "***"

# What precedes the host, as SQLAlchemy reads it: the first @ ends a password, whatever other
# characters are in it.
_BEFORE_HOST = re.compile(r"([\w+]+://)(?:([^:/]*)(:[^@]*)?@)?")

# What the names of parameters contain whose values are secret.
_SECRET = re.compile("pass|secret|scram", re.IGNORECASE)


def database_name(url: str) -> str:
    """A database URL without its password; for SQLite the path of the file."""
    # Imported here, because commands that open no database need not wait for it.
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    if "\n" in url.strip():
        # Messages are one line, and this is refused.
        return HIDDEN
    if "://" not in url:
        # Not a URL. If it contains an `@` it may be one that lost its scheme, with a password.
        return HIDDEN if "@" in url else url
    found = _BEFORE_HOST.match(url)
    try:
        make_url(url)
    except (ArgumentError, ValueError):
        found = None
    if found is None:
        # It is not known which part is the password.
        return HIDDEN
    scheme, user, password = found.groups()
    if scheme.startswith("sqlite") and user is None:
        return url.partition("///")[2] or url
    place, question, query = after_user(url).partition("?")
    if "@" in place:
        # The rest of a password in which an @ should have been written %40.
        return HIDDEN
    user_information = "" if user is None else f"{user}{':' + HIDDEN if password else ''}@"
    return f"{scheme}{user_information}{place}{question}{_shown_query(query)}"


def after_user(url: str) -> str:
    """What follows the user and the password: host, database and parameters."""
    found = _BEFORE_HOST.match(url)
    return url if found is None else url[found.end() :]


def shown_parameter(name: str) -> str:
    """The name of a parameter, unless it may be the rest of a password that contains a `?`."""
    return name if re.fullmatch(r"[\w.-]+", name) else HIDDEN


def _shown_query(query: str) -> str:
    shown = []
    for name, value in parse_qsl(query, keep_blank_values=True):
        is_secret = _SECRET.search(name) or "@" in value or shown_parameter(name) == HIDDEN
        shown.append((shown_parameter(name), HIDDEN if is_secret else value))
    return urlencode(shown, safe="*/:")
