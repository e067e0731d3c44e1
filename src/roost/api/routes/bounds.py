"""What a request may take, judged by its method and its path.

A server in front asks before it has read the body; the application asks again, since it also runs
without such a server.
"""

import re

from roost.api.routes import ROUTES, Route
from roost.console import paths as console_paths
from roost.settings import Settings

# How many times as large as others the largest bodies may be.
LARGE_BODY_FACTOR = 64
# Of a login. Everybody may send one, without a token.
LOGIN_BYTES_MAX = 16 * 1024


def body_bytes_max(method: str, path: str, settings: Settings) -> int:
    """How large the body may be; `path` is without the prefix."""
    if path == console_paths.TOKEN:
        return LOGIN_BYTES_MAX
    factor = LARGE_BODY_FACTOR if (method, path) in _LARGE_BODIES else 1
    return settings.body_bytes_max * factor


def may_take_long(method: str, path: str) -> bool:
    """Whether others may have to wait for this request, unless it gives way to them."""
    return (method, path) in _LONG or _LONG_PATTERN.fullmatch(f"{method} {path}") is not None


def _fixed(route: Route) -> tuple[str, str]:
    # A path with parameters could not be looked up.
    assert "{" not in route.path
    return route.method, route.path


def _pattern(route: Route) -> str:
    return re.sub(r"\\{[a-z_]+\\}", "[^/]*", re.escape(f"{route.method} {route.path}"))


_LARGE_BODIES = frozenset(_fixed(route) for route in ROUTES if route.may_be_large)
_LONG = frozenset((route.method, route.path) for route in ROUTES if route.may_take_long) | {
    # It waits for Keystone.
    ("POST", console_paths.TOKEN)
}
_LONG_PATTERN = re.compile(
    "|".join(_pattern(route) for route in ROUTES if route.may_take_long and "{" in route.path)
)
