"""Who the client says it is."""

from typing import Any, Protocol, Self


class Auth(Protocol):
    """Gives the headers that speak for the client."""

    def headers(self, *, renewed: bool = False) -> dict[str, str]:
        """The headers for one request; `renewed` after a 401, with a new token."""
        ...


class NoAuth:
    """For a service with noauth2: a token that is believed, and roles."""

    def __init__(self, token: str = "admin", roles: tuple[str, ...] = ("admin", "service")) -> None:
        self._headers = {"x-auth-token": token, "x-roles": ",".join(roles)}

    def headers(self, *, renewed: bool = False) -> dict[str, str]:
        return self._headers


class KeystoneAuth:
    """Tokens of Keystone, by any plugin of keystoneauth1; they are renewed before they expire."""

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
        """With the name and password of a user, for a project."""
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
        """Where the catalogue says the placement service is."""
        found: str | None = self._session.get_endpoint(
            service_type="placement", region_name=region, interface=interface
        )
        return found
