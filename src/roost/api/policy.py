"""Who may do what. Every decision is made here, by the name of a rule."""

from roost.api.auth import Identity
from roost.api.errors import HttpError

# The only rule that a project's own readers pass, for the project that they ask about.
USAGES = "placement:usages"

_MANAGERS = frozenset({"admin", "service"})
_READER = "reader"


def check(identity: Identity, rule: str, project: str | None = None) -> None:
    """Refuse unless the sender may do what the rule stands for.

    `project` is the one that the request is about, where it is about one.
    """
    if identity.system_scope:
        # The rules are about projects; a token for the whole system is of the wrong scope, and
        # the reference says nothing but the rule's name then.
        raise HttpError(403, rule)
    if not _allowed(identity, rule, project):
        raise HttpError(403, f"Policy does not allow {rule} to be performed.")


def _allowed(identity: Identity, rule: str, project: str | None) -> bool:
    if identity.roles & _MANAGERS:
        return True
    return rule == USAGES and _READER in identity.roles and project == identity.project
