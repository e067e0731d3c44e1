"""Who sends a request, by the conventions of noauth2: every token is believed.

A token is `user` or `user:project`. For tests and development.
"""

from collections.abc import Callable

from roost.api.errors import HttpError
from roost.model import Value

Header = Callable[[str], str | None]


class Identity(Value, frozen=True, kw_only=True):
    """Who sends a request, and what speaks for them."""

    user: str
    project: str
    roles: frozenset[str]  # in lower case
    system_scope: bool = False  # a token for the whole system instead of a project


def identify(header: Header) -> Identity:
    """The sender, from the headers of the request."""
    token = header("x-auth-token")
    if token is None:
        raise HttpError(401)
    user, _, project = token.partition(":")
    roles = header("x-roles")
    if roles is None:
        names = ["admin"] if user == "admin" else []
    else:
        names = [name.strip().lower() for name in roles.split(",")]
    return Identity(
        user=user,
        project=header("x-project-id") or project or user,
        roles=frozenset(filter(None, names)),
        system_scope=header("openstack-system-scope") == "all",
    )
