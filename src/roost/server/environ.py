"""The WSGI environment of a request that arrives over ASGI."""

import sys
from typing import Any
from urllib.parse import unquote_to_bytes

from roost.api.http.messages import Environ

Scope = dict[str, Any]

# Of names of headers. Clients can invent any number of others.
CACHED_LENGTH_MAX = 64
KEYS_CACHED = 256

_SAME_FOR_ALL: Environ = {
    "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "roost",
    "wsgi.version": (1, 0),
    "wsgi.errors": sys.stderr,
    "wsgi.multithread": True,
    "wsgi.multiprocess": True,
    "wsgi.run_once": False,
    # Reading the body ends where the body ends, even if its length is not known.
    "wsgi.input_terminated": True,
}

_PROTOCOLS = {"1.0": "HTTP/1.0", "1.1": "HTTP/1.1"}


def make_environ(scope: Scope) -> Environ:
    """The environment, without the body.

    A header whose name has an underscore is left out: as a key, it could not be told from the one
    with a hyphen, which a proxy in front may have set or removed.
    """
    raw_path: bytes = scope["raw_path"]
    environ = _SAME_FOR_ALL.copy()
    environ["REQUEST_METHOD"] = scope["method"]
    path = unquote_to_bytes(raw_path) if b"%" in raw_path else raw_path
    environ["PATH_INFO"] = path.decode("latin-1")
    environ["QUERY_STRING"] = scope["query_string"].decode("latin-1")
    environ["SERVER_PROTOCOL"] = _PROTOCOLS[scope["http_version"]]
    environ["SERVER_NAME"], environ["SERVER_PORT"] = scope["server"]
    environ["REMOTE_ADDR"] = scope["client"][0]
    environ["wsgi.url_scheme"] = scope["scheme"]
    for name, value in scope["headers"]:
        try:
            key = _keys[name]
        except KeyError:
            key = _note_key(name)
        if key is None:
            continue
        try:
            text = value.decode("ascii")
        except UnicodeDecodeError:
            # It means nothing to roost, and must not be cut into something that does.
            text = ""
        if key not in environ:
            environ[key] = text
        elif key not in _UNREPEATED:
            environ[key] += (";" if key == "HTTP_COOKIE" else ",") + text
    return environ


_UNREPEATED = ("CONTENT_TYPE", "CONTENT_LENGTH")

# Most requests have the same headers.
_keys: dict[bytes, str | None] = {}


def _note_key(header: bytes) -> str | None:
    """The key of a header; None if it has none."""
    key = None
    if b"_" not in header:
        key = header.decode("latin-1").upper().replace("-", "_")
        key = key if key in _UNREPEATED else f"HTTP_{key}"
    if len(header) <= CACHED_LENGTH_MAX:
        if len(_keys) >= KEYS_CACHED:
            _keys.clear()
        _keys[header] = key
    return key
