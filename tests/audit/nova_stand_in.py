"""A minimal nova, which lists servers, migrations and services in pages, as nova does."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

HOST = "OS-EXT-SRV-ATTR:host"
# The oldest version in which nova says which cells do not answer.
VERSION_WITH_CELLS = (2, 69)
VERSION_MAX = (2, 96)


class Nova:
    """Servers by UUID, as nova describes them, in the order of its lists."""

    def __init__(self, *, page: int = 1000, token: str = "nova-admin") -> None:
        self.page = page
        self.token = token
        self.servers: dict[str, dict[str, Any]] = {}
        self.soft_deleted: dict[str, dict[str, Any]] = {}
        self.migrations: list[dict[str, Any]] = []
        self.lost: list[str] = []  # servers in a cell that does not answer
        self.is_project_only = False  # the user is no administrator
        self.requests: list[str] = []

    def add(self, uuid: str, *, host: str | None = "compute1", status: str = "ACTIVE") -> None:
        more = {"name": uuid[:8], "addresses": {}, "image": "", "flavor": {"id": "1"}}
        self.servers[uuid] = {"id": uuid, "status": status, HOST: host, **more}

    def add_soft_deleted(self, uuid: str) -> None:
        self.soft_deleted[uuid] = {"id": uuid, "status": "SOFT_DELETED", HOST: "compute1"}

    def add_migration(self, uuid: str, status: str) -> None:
        """The newest comes first."""
        self.migrations.insert(0, {"id": len(self.migrations), "uuid": uuid, "status": status})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v2.1"

    def __enter__(self) -> Self:
        class Handler(_Handler):
            nova = self

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # It looks often whether it is to stop.
        threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    # -- answers -------------------------------------------------------------------------------

    def answer(
        self, path: str, query: dict[str, str], version: tuple[int, int]
    ) -> tuple[int, dict[str, Any]]:
        if path == "":
            return 200, {"version": self._description()}
        if path == "/servers/detail":
            return self._server_list(query, version)
        if path == "/os-migrations":
            return 200, self._page("migrations", self.migrations, "uuid", path, query)
        if path == "/os-services":
            services = [{"host": "compute1", "binary": "nova-compute", "status": "enabled"}]
            if self.lost and version >= VERSION_WITH_CELLS:
                services.append({"host": "c2", "binary": "nova-compute", "status": "UNKNOWN"})
            return 200, {"services": services}
        uuid = path.removeprefix("/servers/")
        found = self.servers.get(uuid) or self.soft_deleted.get(uuid)
        if found is None and uuid in self.lost:
            found = {"id": uuid, "status": "UNKNOWN"}
        if found is None:
            return 404, {"itemNotFound": {"code": 404, "message": "Instance not found"}}
        return 200, {"server": found}

    def _description(self) -> dict[str, Any]:
        return {
            "id": "v2.1",
            "status": "CURRENT",
            "version": ".".join(map(str, VERSION_MAX)),
            "min_version": "2.1",
            "links": [{"rel": "self", "href": f"{self.url}/"}],
        }

    def _server_list(
        self, query: dict[str, str], version: tuple[int, int]
    ) -> tuple[int, dict[str, Any]]:
        path = "/servers/detail"
        if query.pop("all_tenants", "") not in ("1", "True") or self.is_project_only:
            return 403, {"forbidden": {"code": 403, "message": "Policy doesn't allow it"}}
        if query.pop("deleted", "") == "true":
            assert query.pop("status") == "SOFT_DELETED"
            return 200, self._page("servers", list(self.soft_deleted.values()), "id", path, query)
        # Cells that do not answer are shown in lists without any parameters only.
        servers = list(self.servers.values())
        found = self._page("servers", servers, "id", path, query)
        if not query and version >= VERSION_WITH_CELLS:
            room = self.page - len(found["servers"])
            lost = [{"id": uuid, "status": "UNKNOWN"} for uuid in self.lost[:room]]
            found["servers"] = lost + found["servers"]
        return 200, found

    def _page(
        self,
        name: str,
        members: list[dict[str, Any]],
        key: str,
        path: str,
        query: dict[str, str],
    ) -> dict[str, Any]:
        begin = 0
        if "marker" in query:
            begin = 1 + [each[key] for each in members].index(query["marker"])
        page: list[dict[str, Any]] = members[begin : begin + self.page]
        found: dict[str, Any] = {name: page}
        if len(page) == self.page:
            # The client of OpenStack adds the parameters that are missing here.
            href = f"{self.url}{path}?marker={page[-1][key]}"
            found[f"{name}_links"] = [{"rel": "next", "href": href}]
        return found


class _Handler(BaseHTTPRequestHandler):
    nova: Nova

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        self.nova.requests.append(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        _, _, text = self.headers.get("openstack-api-version", "compute 2.1").partition(" ")
        major, minor = map(int, text.split("."))
        if self.headers.get("x-auth-token") != self.nova.token:
            self._answer(401, {"error": {"code": 401, "message": "Unauthorized"}})
        else:
            query.pop("binary", None)
            path = address.path.removeprefix("/v2.1").rstrip("/")
            self._answer(*self.nova.answer(path, query, (major, minor)))

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""
