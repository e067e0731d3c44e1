"""Finds out who sends a request.

With Keystone, its middleware has checked the token and put the identity into headers. With noauth2,
which is for tests and development, every token is believed: it is `user` or `user:project`.
"""

import functools
import ipaddress
from collections.abc import Callable
from typing import Any

from roost.api.http.messages import Environ
from roost.api.http_error import HttpError
from roost.model import Value

# How many senders are remembered. Most requests come from a few, and reading what is said of them
# takes a tenth of a small request.
_SENDERS_MAX = 256

Identify = Callable[[Environ], "Identity"]


class Identity(Value, frozen=True, kw_only=True):
    """The sender of a request, and their roles."""

    user: str | None
    project: str | None
    roles: frozenset[str]  # in lower case
    system_scope: str | None = None  # "all": a token for the whole system instead of a project
    domain: str | None = None
    user_domain: str | None = None
    project_domain: str | None = None
    service_roles: frozenset[str] = frozenset()

    def credentials(self) -> dict[str, Any]:
        """The fields under the names that rules of a policy file use."""
        return {
            "user_id": self.user,
            "user_domain_id": self.user_domain,
            "project_id": self.project,
            "project_domain_id": self.project_domain,
            "domain_id": self.domain,
            "system_scope": self.system_scope,
            "roles": sorted(self.roles),
            "service_roles": sorted(self.service_roles),
        }


def identify_by_keystone(environ: Environ) -> Identity:
    """The sender, as Keystone's middleware identified them."""
    user = environ.get("HTTP_X_USER_ID")
    if user is None:
        raise HttpError(401)
    return _identity(user, *map(environ.get, _KEYSTONE_HEADERS))


_KEYSTONE_HEADERS = (
    *("HTTP_X_PROJECT_ID", "HTTP_X_ROLES", "HTTP_OPENSTACK_SYSTEM_SCOPE", "HTTP_X_DOMAIN_ID"),
    *("HTTP_X_USER_DOMAIN_ID", "HTTP_X_PROJECT_DOMAIN_ID", "HTTP_X_SERVICE_ROLES"),
)


@functools.lru_cache(_SENDERS_MAX)
def _identity(
    user: str,
    project: str | None,
    roles: str | None,
    system_scope: str | None,
    domain: str | None = None,
    user_domain: str | None = None,
    project_domain: str | None = None,
    service_roles: str | None = None,
) -> Identity:
    return Identity(
        user=user,
        project=project,
        roles=_names(roles),
        system_scope=system_scope,
        domain=domain,
        user_domain=user_domain,
        project_domain=project_domain,
        service_roles=_names(service_roles),
    )


def identify_local_token(environ: Environ) -> Identity:
    """The sender that the token names; refused unless they are on this machine."""
    if not is_loopback(environ.get("REMOTE_ADDR", "127.0.0.1")):
        raise HttpError(
            403,
            "noauth2 believes every token, so it answers this machine alone; "
            "[roost]allow_remote_noauth2 lets it answer others.",
        )
    return identify_token(environ)


def identify_token(environ: Environ) -> Identity:
    """The sender that the token names."""
    token = environ.get("HTTP_X_AUTH_TOKEN")
    if token is None:
        raise HttpError(401)
    user, _, project = token.partition(":")
    roles = environ.get("HTTP_X_ROLES")
    if roles is None:
        roles = "admin" if user == "admin" else ""
    scope = environ.get("HTTP_OPENSTACK_SYSTEM_SCOPE")
    # A token is for a project or for the system.
    if scope:
        return _identity(user, None, roles, scope)
    return _identity(user, environ.get("HTTP_X_PROJECT_ID") or project or user, roles, scope)


def identification(auth_strategy: str, *, allow_remote_noauth2: bool) -> Identify:
    """The configured way to identify senders."""
    if auth_strategy == "keystone":
        return identify_by_keystone
    return identify_token if allow_remote_noauth2 else identify_local_token


@functools.lru_cache(_SENDERS_MAX)
def is_loopback(host: str) -> bool:
    """Whether an address is of this machine. Over a Unix socket the address is empty."""
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _names(text: str | None) -> frozenset[str]:
    names = (name.strip().lower() for name in (text or "").split(","))
    return frozenset(filter(None, names))
