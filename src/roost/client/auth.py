"""How the client authenticates, and whom it trusts."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import httpx

from roost.client.errors import AuthenticationFailed, Unreachable

if TYPE_CHECKING:
    from keystoneauth1.session import Session


class Auth(Protocol):
    """Provides the headers that authenticate a request."""

    def headers(self, *, renewed: bool = False) -> dict[str, str]:
        """The headers for one request. `renewed`: the last token was refused with 401."""
        ...


class NoAuth:
    """For a service with noauth2, which accepts every token, and roles from a header."""

    def __init__(self, token: str = "admin", roles: tuple[str, ...] = ("admin", "service")) -> None:
        self._headers = {"x-auth-token": token, "x-roles": ",".join(roles)}

    def headers(self, *, renewed: bool = False) -> dict[str, str]:
        return self._headers


class KeystoneAuth:
    """Tokens of Keystone, from any plugin of keystoneauth1. They are renewed before they expire."""

    def __init__(self, plugin: Any, **session: Any) -> None:
        """`session` are arguments of the session that is made with the plugin."""
        from keystoneauth1.session import Session

        self._session = Session(auth=plugin, **session)

    @classmethod
    def of_session(cls, session: "Session") -> Self:
        """Tokens from a session that the program has already."""
        auth = cls.__new__(cls)
        auth._session = session
        return auth

    @classmethod
    def password(
        cls,
        auth_url: str,
        *,
        username: str,
        password: str,
        project_name: str,
        user_domain_name: str = "Default",
        project_domain_name: str = "Default",
    ) -> Self:
        """Authenticate with the name and password of a user, for a project."""
        from keystoneauth1.identity import v3

        return cls(
            v3.Password(
                auth_url=auth_url,
                username=username,
                password=password,
                project_name=project_name,
                user_domain_name=user_domain_name,
                project_domain_name=project_domain_name,
            )
        )

    def headers(self, *, renewed: bool = False) -> dict[str, str]:
        with _own_errors():
            if renewed:
                self._session.invalidate()
            token = self._session.get_token()
        return {} if token is None else {"x-auth-token": token}

    def endpoint(self, *, region: str | None = None, interface: str = "internal") -> str:
        """The URL of the placement service in Keystone's catalogue.

        If it is not there, this raises `AuthenticationFailed`.
        """
        with _own_errors():
            found = self._session.get_endpoint(
                service_type="placement", region_name=region, interface=interface
            )
        if found is None:
            raise AuthenticationFailed("the session has no catalogue: name the URL of the service")
        return found


@contextmanager
def _own_errors() -> Iterator[None]:
    """Raises errors of keystoneauth1 as errors of the client."""
    from keystoneauth1 import exceptions

    try:
        yield
    except (exceptions.ConnectionError, exceptions.HttpServerError) as error:
        # The service itself has not been asked.
        raise Unreachable(f"Keystone: {error}", sent=False) from error
    except exceptions.ClientException as error:
        raise AuthenticationFailed(f"Keystone: {error}") from error


def ssl_context(verify: bool | str, cert: str | tuple[str, str] | None = None) -> ssl.SSLContext:
    """Whom to trust, and who to be, in the form of requests and of keystoneauth1.

    `verify` is whether to check certificates, or the path of the authorities' certificates. `cert`
    is the path of the client's certificate, or the paths of its certificate and key.
    """
    if isinstance(verify, str):
        is_folder = Path(verify).is_dir()
        context = ssl.create_default_context(
            cafile=None if is_folder else verify, capath=verify if is_folder else None
        )
    else:
        context = httpx.create_ssl_context(verify=verify)
    if cert is not None:
        context.load_cert_chain(*((cert,) if isinstance(cert, str) else cert))
    return context
