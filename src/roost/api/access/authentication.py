"""Finds out who sends a request.

With Keystone, its middleware has checked the token and put the identity into headers. With noauth2,
which is for tests and development, every token is believed: it is `user` or `user:project`.
"""

import functools
import ipaddress
from collections.abc import Callable
from typing import Any

from roost.api.http_error import HttpError
from roost.model import Value

# How many senders are remembered. Most requests come from a few, and reading what is said of them
# takes a tenth of a small request.
_SENDERS_MAX = 256

Header = Callable[[str], str | None]
Identify = Callable[[Header, str], "Identity"]  # takes headers, and the address of the sender


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


def identify_by_keystone(header: Header, _address: str) -> Identity:
    """The sender, as Keystone's middleware identified them."""
    user = header("x-user-id")
    if user is None:
        raise HttpError(401)
    return _identity(user, *map(header, _KEYSTONE_HEADERS))


_KEYSTONE_HEADERS = (
    *("x-project-id", "x-roles", "openstack-system-scope", "x-domain-id"),
    *("x-user-domain-id", "x-project-domain-id", "x-service-roles"),
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


def identify_local_token(header: Header, address: str) -> Identity:
    """The sender that the token names; refused unless they are on this machine."""
    if not is_loopback(address):
        raise HttpError(
            403,
            "noauth2 believes every token, so it answers this machine alone; "
            "[roost]allow_remote_noauth2 lets it answer others.",
        )
    return identify_token(header, address)


def identify_token(header: Header, _address: str) -> Identity:
    """The sender that the token names."""
    token = header("x-auth-token")
    if token is None:
        raise HttpError(401)
    user, _, project = token.partition(":")
    roles = header("x-roles")
    if roles is None:
        roles = "admin" if user == "admin" else ""
    scope = header("openstack-system-scope")
    # A token is for a project or for the system.
    return _identity(
        user, None if scope else header("x-project-id") or project or user, roles, scope
    )


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
