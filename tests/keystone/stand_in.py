"""A minimal Keystone, which issues tokens for passwords, validates tokens and does nothing else."""

import json
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

SERVICE_TOKEN = "the-service-itself"
PASSWORD = "secret"
LIFETIME = timedelta(hours=1)

_AUTHTOKEN = """\
[keystone_authtoken]
www_authenticate_uri = {url}
auth_url = {url}
auth_type = password
username = placement
password = {password}
user_domain_id = default
project_name = services
project_domain_id = default
"""


def authtoken(url: str) -> str:
    """The section of a configuration that leads to a Keystone at this address."""
    return _AUTHTOKEN.format(url=url, password=PASSWORD)


def token(
    user: str, *, project: str | None = None, roles: tuple[str, ...] = (), system: bool = False
) -> dict[str, Any]:
    """What Keystone knows about a token."""
    now = datetime.now(UTC)
    found: dict[str, Any] = {
        "methods": ["password"],
        "user": {"id": user, "name": user, "domain": {"id": "default", "name": "Default"}},
        "roles": [{"id": name, "name": name} for name in roles],
        "audit_ids": [user],
        "issued_at": _time(now),
        "expires_at": _time(now + LIFETIME),
        "catalog": [],
    }
    if project is not None:
        domain = {"id": "default", "name": "Default"}
        found["project"] = {"id": project, "name": project, "domain": domain}
    if system:
        found["system"] = {"all": True}
    return found


def expired(found: dict[str, Any]) -> dict[str, Any]:
    """An expired token that Keystone still describes."""
    return {**found, "expires_at": _time(datetime.now(UTC) - LIFETIME)}


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Keystone:
    """Knows the tokens in `tokens`; removing one revokes it.

    A user of `passwords` receives the token that has the user's name. The catalog in it lists
    Keystone itself and `services`, the addresses by the types of the services.
    """

    def __init__(
        self,
        tokens: Mapping[str, dict[str, Any]],
        *,
        passwords: Mapping[str, str] | None = None,
    ) -> None:
        self.tokens = {SERVICE_TOKEN: token("placement", project="services"), **tokens}
        self.passwords = {"placement": PASSWORD, **(passwords or {})}
        self.services: dict[str, str] = {}
        self.validations = 0  # how often it was asked to validate a token
        # What it was asked to issue tokens for, each with the header that names the client.
        self.logins: list[tuple[dict[str, Any], str | None]] = []
        self._server: ThreadingHTTPServer | None = None
        self.port = 0
        self._behave()

    def _behave(self) -> None:
        self.is_confused = False  # whether it answers nonsense
        self.wants_second_factor = False  # whether a password is not enough
        self.answer_bytes = 0  # how much nonsense it adds to each token that it issues
        self.pause_seconds = 0.0  # how long it takes to look at a password

    def reset(self) -> None:
        """Behave again, and run; forget who has logged in."""
        self._behave()
        self.logins.clear()
        if self._server is None:
            self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        keystone = self

        class Handler(_Handler):
            pass

        Handler.keystone = keystone
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


class _Handler(BaseHTTPRequestHandler):
    keystone: Keystone

    def do_GET(self) -> None:
        if self.path.startswith("/v3/auth/tokens"):
            self._describe_token()
            return
        version = {
            "id": "v3.14",
            "status": "stable",
            "links": [{"rel": "self", "href": f"{self.keystone.url}/v3/"}],
        }
        if self.path.rstrip("/") == "/v3":
            self._answer(200, {"version": version})
        else:
            self._answer(300, {"versions": {"values": [version]}})

    def _describe_token(self) -> None:
        if self.headers.get("x-auth-token") != SERVICE_TOKEN:
            self._answer(401, {"error": {"code": 401, "title": "Unauthorized", "message": ""}})
            return
        self.keystone.validations += 1
        if self.keystone.is_confused:
            self._answer(200, {"nonsense": True})
            return
        found = self.keystone.tokens.get(self.headers.get("x-subject-token", ""))
        if found is None:
            self._answer(404, {"error": {"code": 404, "title": "Not Found", "message": ""}})
        else:
            self._answer(200, {"token": found})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        keystone = self.keystone
        keystone.logins.append((body["auth"], self.headers.get("forwarded")))
        time.sleep(keystone.pause_seconds)
        user = body["auth"]["identity"]["password"]["user"]
        refusal = {"error": {"code": 401, "title": "Unauthorized", "message": ""}}
        if keystone.passwords.get(user["name"]) != user["password"]:
            self._answer(401, refusal)
            return
        if keystone.wants_second_factor:
            self._answer(401, refusal, {"openstack-auth-receipt": "receipt"})
            return
        if keystone.is_confused:
            self._answer(201, {"nonsense": True})
            return
        name = SERVICE_TOKEN if user["name"] == "placement" else user["name"]
        found = {**keystone.tokens[name], "catalog": self._catalog()}
        if keystone.answer_bytes:
            found["nonsense"] = "x" * keystone.answer_bytes
        self._answer(201, {"token": found}, {"x-subject-token": name})

    def _catalog(self) -> list[dict[str, Any]]:
        addresses = {"identity": f"{self.keystone.url}/v3", **self.keystone.services}
        return [
            {
                "type": kind,
                "id": kind,
                "name": kind,
                "endpoints": [
                    {
                        "id": f"{kind}-{interface}",
                        "interface": interface,
                        "region": "one",
                        "region_id": "one",
                        "url": url,
                    }
                    for interface in ("public", "internal", "admin")
                ],
            }
            for kind, url in addresses.items()
        ]

    def _answer(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""
