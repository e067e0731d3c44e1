"""How the client authenticates."""

from typing import Any, Protocol, Self


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
        from keystoneauth1.session import Session

        self._plugin = plugin
        self._session = Session(auth=plugin, **session)

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
        if renewed:
            self._plugin.invalidate()
        token = self._session.get_token()
        return {} if token is None else {"x-auth-token": token}

    def endpoint(self, *, region: str | None = None, interface: str = "internal") -> str | None:
        """The URL of the placement service in the catalogue; None if it is not there."""
        found: str | None = self._session.get_endpoint(
            service_type="placement", region_name=region, interface=interface
        )
        return found
