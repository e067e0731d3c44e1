"""A name and a password for a token of Keystone.

The password is sent to Keystone and forgotten: it is neither stored nor logged.
"""

import ipaddress
import json
import logging
import time
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from roost.model import Value

LOG = logging.getLogger(__name__)

# For each step of the exchange, and for its end.
STEP_SECONDS_MAX = 5.0
SECONDS_MAX = 10.0
# Of what Keystone answers. Without its catalogue, a token takes a few kilobytes.
BYTES_MAX = 1024 * 1024
_PIECE_BYTES = 64 * 1024

DOMAIN_DEFAULT = "Default"

# Keystone's names have at most 255 characters.
_Text = Annotated[str, msgspec.Meta(max_length=1024)]
_Required = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]


class LoginError(Exception):
    """There is no token. The message is a sentence for the user."""


class LoginRefused(LoginError):
    """Keystone does not know the user by this name, password and project."""


class KeystoneUnavailable(LoginError):
    """Keystone cannot say whether the password is right."""


class KeystoneServer(Value, frozen=True, kw_only=True):
    """Where Keystone is, and how to trust it."""

    url: str
    insecure: bool = False  # do not verify its certificate
    cafile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None


class Credentials(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who asks for a token, and for which project."""

    username: _Required
    password: _Required
    project: _Text = ""  # empty: the default project of the user
    user_domain: _Text = ""  # empty: `DOMAIN_DEFAULT`
    project_domain: _Text = ""  # likewise

    def __repr__(self) -> str:
        # Without the password: a traceback may show it.
        return f"Credentials(username={self.username!r})"


class Token(Value, frozen=True, kw_only=True):
    """What the console sends with its requests."""

    token: str
    expires_at: str | None


def log_in(keystone: KeystoneServer, credentials: Credentials, client_address: str) -> Token:
    """A token for these credentials. Raises `LoginError`.

    `client_address` is for Keystone's log: otherwise it would see the address of roost alone.
    """
    until = time.monotonic() + SECONDS_MAX
    response = _ask(keystone, credentials, client_address)
    try:
        _check(response.status_code, response.headers)
        found = json.loads(_read(response, until))["token"]
        return Token(token=response.headers["X-Subject-Token"], expires_at=found.get("expires_at"))
    except OSError as error:
        raise _unavailable("Keystone's answer breaks off.", error) from None
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise _unavailable("Keystone's answer has no token in it.", error) from None
    finally:
        response.close()


def _ask(keystone: KeystoneServer, credentials: Credentials, client_address: str) -> Any:
    # They take long to import, and few processes need them.
    from keystoneauth1 import exceptions, loading

    session = loading.session.Session().load_from_options(
        insecure=keystone.insecure,
        cacert=keystone.cafile,
        cert=keystone.certfile,
        key=keystone.keyfile,
        timeout=STEP_SECONDS_MAX,
        user_agent="roost",
    )
    try:
        return session.request(
            _tokens_url(keystone.url),
            "POST",
            json=_body(credentials),
            authenticated=False,
            headers=_forwarded(client_address),
            raise_exc=False,
            redirect=False,
            connect_retries=0,
            # The body is read below, within bounds.
            stream=True,
            # What is sent has the password in it, and what is received the token.
            log=False,
        )
    except (exceptions.ClientException, OSError) as error:
        raise _unavailable("Keystone cannot be reached, or does not answer.", error) from None


def _forwarded(client_address: str) -> Mapping[str, str]:
    """The header that names the client, if it is known by an address."""
    try:
        address = ipaddress.ip_address(client_address)
    except ValueError:
        return {}
    return {"Forwarded": f'for="[{address}]"' if address.version == 6 else f"for={address}"}


def _tokens_url(url: str) -> str:
    base = url.rstrip("/").removesuffix("/v2.0").removesuffix("/v3")
    return f"{base}/v3/auth/tokens?nocatalog"


def _body(credentials: Credentials) -> Mapping[str, Any]:
    user = {
        "name": credentials.username,
        "domain": {"name": credentials.user_domain or DOMAIN_DEFAULT},
        "password": credentials.password,
    }
    auth: dict[str, Any] = {"identity": {"methods": ["password"], "password": {"user": user}}}
    if credentials.project:
        domain = {"name": credentials.project_domain or DOMAIN_DEFAULT}
        auth["scope"] = {"project": {"name": credentials.project, "domain": domain}}
    return {"auth": auth}


def _check(status: int, headers: Mapping[str, str]) -> None:
    """Raise `LoginError` unless Keystone has issued a token."""
    if status == 201:
        return
    if status == 401 and "Openstack-Auth-Receipt" in headers:
        raise LoginRefused(
            "Keystone asks this user for more than a password. Get a token elsewhere and paste it."
        )
    if status in (400, 401, 403):
        raise LoginRefused("Keystone refuses this name and password, or this project.")
    raise _unavailable(f"Keystone answers with status {status} instead of a token.")


def _read(response: Any, until: float) -> bytes:
    body = b""
    for piece in response.iter_content(_PIECE_BYTES):
        body += piece
        if len(body) > BYTES_MAX or time.monotonic() > until:
            raise _unavailable("Keystone's answer is too large, or takes too long.")
    return body


def _unavailable(sentence: str, error: Exception | None = None) -> KeystoneUnavailable:
    # The error names the address of Keystone, which is for operators only.
    LOG.warning("a login of the console failed: %s %s", sentence, error or "")
    return KeystoneUnavailable(sentence)
