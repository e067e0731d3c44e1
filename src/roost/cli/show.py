"""How things are shown to people."""

from urllib.parse import parse_qsl, urlencode, urlsplit

HIDDEN = "***"


def database_shown(url: str) -> str:
    """Where a database is, without its password; a SQLite file by its path."""
    if "://" not in url:
        # Not a URL. With an `@` it may be one that lost its beginning, and hold a password.
        return HIDDEN if "@" in url else url
    try:
        parts = urlsplit(url)
        # Read for its errors: it is the part that most often is not a URL's.
        _ = parts.port
    except ValueError:
        # Nobody knows which part of it is the password.
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
