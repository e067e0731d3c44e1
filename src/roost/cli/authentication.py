"""How the command line authenticates: with a token, or as the user that OS_* describe."""

import logging
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from roost.cli.output import BadInput, Failure, one_line

if TYPE_CHECKING:
    from roost.client import Auth, KeystoneAuth

# Each of these may be given in several ways.
_NEEDED_FOR_PASSWORD = (
    ("OS_USERNAME", "OS_USER_ID"),
    ("OS_PASSWORD",),
    (
        *("OS_PROJECT_NAME", "OS_PROJECT_ID", "OS_SYSTEM_SCOPE", "OS_TRUST_ID"),
        *("OS_DOMAIN_NAME", "OS_DOMAIN_ID"),
    ),
)
# What nearly every cloud has, if neither the name nor the id of a domain is given.
_DOMAIN_DEFAULT = "Default"


class Authentication(NamedTuple):
    """How to authenticate, and with which service."""

    auth: "Auth"
    uses_keystone: bool
    service_url: str | None  # of Keystone's catalogue; None: it was not asked


def authenticate(token: str | None, *, find_service: bool) -> Authentication:
    """What the user has chosen. `find_service` looks for the service in Keystone's catalogue."""
    from roost.client import KeystoneAuth, NoAuth

    plugin = None if token is not None else keystone_plugin()
    if plugin is None:
        return Authentication(NoAuth(token or "admin"), uses_keystone=False, service_url=None)
    auth = KeystoneAuth(plugin, verify=os.environ.get("OS_CACERT") or True)
    found = _find_service(auth) if find_service else None
    return Authentication(auth, uses_keystone=True, service_url=found)


def _find_service(auth: "KeystoneAuth") -> str:
    from keystoneauth1.exceptions import CatalogException

    from roost.client import AuthenticationFailed

    region, interface = os.environ.get("OS_REGION_NAME"), os.environ.get("OS_INTERFACE", "public")
    try:
        return auth.endpoint(region=region, interface=interface)
    except AuthenticationFailed as error:
        if error.__cause__ is not None and not isinstance(error.__cause__, CatalogException):
            raise
        raise Failure(
            f"Keystone at {os.environ.get('OS_AUTH_URL')} knows no placement service: name it with "
            "--url or ROOST_URL, or check OS_REGION_NAME and OS_INTERFACE"
        ) from error


def keystone_plugin() -> Any | None:
    """The plugin of keystoneauth1 that the variables OS_* describe; None if they describe none."""
    if not {"OS_AUTH_URL", "OS_AUTH_TYPE"} & os.environ.keys():
        return None
    from keystoneauth1 import loading
    from keystoneauth1.exceptions import ClientException

    # It warns of a Keystone that does not answer, and then raises an error as well.
    logging.getLogger("keystoneauth").setLevel(logging.ERROR)
    kind = os.environ.get("OS_AUTH_TYPE", "password")
    if kind == "password":
        _refuse_missing()
    try:
        loader: Any = loading.get_plugin_loader(kind)
        return loader.load_from_options_getter(lambda option: _value(option.dest))
    except ClientException as error:
        raise BadInput(f"the variables OS_* for OS_AUTH_TYPE {kind}: {one_line(error)}") from error


def _refuse_missing() -> None:
    missing = [names[0] for names in _NEEDED_FOR_PASSWORD if not any(map(os.environ.get, names))]
    if missing:
        *others, last = missing
        names = f"{', '.join(others)} and {last}" if others else last
        verb, them = ("are", "them") if others else ("is", "it")
        raise BadInput(
            f"OS_AUTH_URL is set, but {names} {verb} not: set {them}, or unset OS_AUTH_URL"
        )


def _value(name: str) -> str | None:
    variable = f"OS_{name.upper()}"
    found = os.environ.get(variable)
    if found is None and variable in ("OS_USER_DOMAIN_NAME", "OS_PROJECT_DOMAIN_NAME"):
        by_id = variable.replace("NAME", "ID")
        return None if by_id in os.environ else _DOMAIN_DEFAULT
    return found
