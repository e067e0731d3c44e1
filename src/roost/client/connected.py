"""What both clients have in common: where the service is, and how requests are sent to it."""

import ssl
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import httpx

from roost.client.auth import Auth, KeystoneAuth, NoAuth, ssl_context
from roost.client.errors import ClientError, InvalidRequest, Unreachable
from roost.client.exchange import RETRIES, TIMEOUT_SECONDS, Exchange, Response, Send, Step
from roost.client.requests import Requests

if TYPE_CHECKING:
    from keystoneauth1.session import Session

Transport = TypeVar("Transport")

# What sending a request may raise. With asyncio, httpx lets an alert of TLS through as it is, for
# example if the service refuses the certificate of the client after the handshake.
SENDING_ERRORS = (httpx.HTTPError, ssl.SSLError, Unreachable)


class Connected(Requests, Generic[Transport]):
    """A client whose requests nobody sends yet."""

    def __init__(
        self,
        url: str | Callable[[], str],
        *,
        auth: Auth | None = None,
        verify: ssl.SSLContext | str | bool = True,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        request_id: str | None = None,
        transport: Transport | None = None,
    ) -> None:
        """Nothing is sent before the first request.

        `url` is the address of the service, or a function that finds it. Without `auth` the client
        authenticates as `admin` with noauth2. `verify` is whether to check the certificate of the
        service, or the path of the authorities' certificates. `timeout` is how many seconds to wait
        for an answer, and `retries` how often to send a request again whose answer was lost.
        `request_id` is the id of a request that the caller itself is handling: the service logs it
        with every request of this client.
        """
        self._auth = NoAuth() if auth is None else auth
        self._timeout = timeout
        self._locate = url if callable(url) else None
        known = None if callable(url) else _checked_url(url)
        self._exchange = Exchange(known, retries=retries, request_id=request_id)
        if verify is True and known is not None and httpx.URL(known).scheme == "http":
            verify = _trusting_nobody()
        self._connect(ssl_context(verify) if isinstance(verify, str) else verify, transport)

    @classmethod
    def from_session(
        cls,
        session: "Session",
        *,
        region: str | None = None,
        interface: str = "internal",
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        request_id: str | None = None,
    ) -> Self:
        """A client with the tokens, certificates and catalogue of a session of keystoneauth1."""
        auth = KeystoneAuth.of_session(session)

        def locate() -> str:
            return auth.endpoint(region=region, interface=interface)

        verify = ssl_context(session.verify is None or session.verify, session.cert)
        return cls(
            locate,
            auth=auth,
            verify=verify,
            timeout=timeout,
            retries=retries,
            request_id=request_id,
        )

    @property
    def service_time(self) -> datetime | None:
        """When the service sent its last answer, by its own clock; None if it did not say."""
        return self._exchange.service_time

    def _connect(self, verify: ssl.SSLContext | bool, transport: Transport | None) -> None:
        """Make the client of httpx that sends the requests."""
        raise NotImplementedError

    def _service_url(self) -> str:
        assert self._locate is not None, "the URL is known"
        return _checked_url(self._locate())

    def _headers(self, renewed: bool) -> dict[str, str]:
        return self._auth.headers(renewed=renewed)

    def _arguments(self, step: Send) -> dict[str, Any]:
        """The arguments of httpx for a request."""
        return {
            "method": step.method,
            "url": step.url,
            "content": step.content,
            "params": dict(step.query) or None,
            "headers": step.headers,
            "timeout": httpx.Timeout(self._timeout, read=self._timeout + step.wait),
        }

    def _refuse_closed(self, http: httpx.Client | httpx.AsyncClient) -> None:
        if http.is_closed:
            raise ClientError("the client is closed")

    def _unreachable(self, step: Step, error: Exception) -> Unreachable:
        """The error of the client for one of `SENDING_ERRORS`."""
        if isinstance(error, Unreachable):
            return error
        assert isinstance(step, Send)
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
            found = Unreachable(f"{self._exchange.url}: {error}", sent=False)
        else:
            found = Unreachable(f"{step.method} {step.url}: {error!r}")
        found.__cause__ = error
        return found


def _checked_url(url: str) -> str:
    """The address of a service, without a slash at its end."""
    try:
        is_service = httpx.URL(url).scheme in ("http", "https") and bool(httpx.URL(url).host)
    except httpx.InvalidURL:
        is_service = False
    if not is_service:
        raise InvalidRequest(f"not the URL of a service, like http://127.0.0.1:8778: {url!r}")
    return url.rstrip("/")


def to_response(response: httpx.Response) -> Response:
    return Response(response.status_code, response.headers, response.content)


def _trusting_nobody() -> ssl.SSLContext:
    """For requests without TLS: httpx would read the public authorities, which takes long."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
