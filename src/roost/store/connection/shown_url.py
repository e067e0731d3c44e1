"""The URL of a database as messages show it."""

from urllib.parse import parse_qsl, urlencode, urlsplit

HIDDEN = "***"


def database_name(url: str) -> str:
    """A database URL without its password; for SQLite the path of the file."""
    if "://" not in url:
        # Not a URL. If it contains an `@` it may be one that lost its scheme, with a password.
        return HIDDEN if "@" in url else url
    try:
        parts = urlsplit(url)
        # Reading the port validates it: it is what most often is wrong in a URL.
        _ = parts.port
    except ValueError:
        # It is not known which part is the password.
        return HIDDEN
    if parts.scheme.startswith("sqlite"):
        return url.partition("///")[2] or url
    user_information, at, place = parts.netloc.rpartition("@")
    user, colon, _ = user_information.partition(":")
    query = urlencode(
        [
            (name, HIDDEN if "pass" in name.lower() else value)
            for name, value in parse_qsl(parts.query)
        ],
        safe="*/:",
    )
    netloc = f"{user}{colon and ':' + HIDDEN}{at}{place}"
    return parts._replace(netloc=netloc, query=query).geturl()
