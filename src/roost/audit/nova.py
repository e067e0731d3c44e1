"""The consumers that nova knows, read from nova itself.

Four things make a list of servers incomplete, and each would make orphans of living servers:

- nova leaves out the cells that do not answer, as soon as a list has more than one page. It says
  which services it cannot reach, so that is asked for before and after, and the audit stops.
- Servers that were deleted, but can be restored, hold their allocations and are in a list of their
  own.
- A server that is migrated or resized holds the resources of its old host under the UUID of the
  migration, until the migration ends or the resize is confirmed.
- A user who is no administrator sees the servers of a project only. nova refuses to list all then.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import ClientException, NotFound
from keystoneauth1.session import Session

from roost.audit.known import STATUSES_WITHOUT_ALLOCATIONS, Known
from roost.progress import Progress, track
from roost.uuids import canonical_uuid

# With it, nova says which cells do not answer. From 2.59 on, migrations have UUIDs.
MICROVERSION = "2.69"

RETRIES = 3

# Migrations in these states have ended, and hold nothing. A resize that is `finished` waits for its
# confirmation.
ENDED_STATUSES = frozenset(
    {"cancelled", "completed", "confirmed", "done", "error", "failed", "reverted"}
)

# What nova says of servers and services in a cell that does not answer.
UNREACHABLE = "UNKNOWN"

_HOST = "OS-EXT-SRV-ATTR:host"


class NovaError(Exception):
    """nova cannot say which consumers it knows."""


class Nova:
    """Reads from nova, whose endpoint is in the catalog of a session."""

    def __init__(
        self, session: Session, *, region: str | None = None, interface: str | None = None
    ) -> None:
        self._adapter = Adapter(
            session,
            service_type="compute",
            region_name=region,
            interface=interface,
            default_microversion=MICROVERSION,
            connect_retries=RETRIES,
            status_code_retries=RETRIES,
        )

    def known(self, progress: Progress) -> Known:
        """All servers and all migrations that have not ended."""
        self._check_cells()
        progress.stage("reading servers from nova")
        servers: set[str] = set()
        others: set[str] = set()
        for server in self._pages("/servers/detail", "servers", "id", {"all_tenants": "1"}):
            if server["status"] == UNREACHABLE:
                raise _unreachable_cells(1, "server")
            progress.advance()
            uuid = canonical_uuid(server["id"])
            (servers if _holds(server) else others).add(uuid)
        deleted = {"all_tenants": "1", "deleted": "true", "status": "SOFT_DELETED"}
        for server in self._pages("/servers/detail", "servers", "id", deleted):
            others.add(canonical_uuid(server["id"]))
        others |= self._migrations(progress)
        # Again, because a cell may have failed meanwhile.
        self._check_cells()
        return Known(servers=frozenset(servers), others=frozenset(others - servers))

    def unknown(self, uuids: Sequence[str], progress: Progress) -> Iterator[str]:
        """Those of these consumers that nova still does not know, asked for one by one."""
        migrations = self._migrations(progress)
        for uuid in track(progress, "asking nova for consumers again", uuids):
            if canonical_uuid(uuid) not in migrations and self._server(uuid) is None:
                yield uuid

    def holding(self, uuids: Sequence[str], progress: Progress) -> Iterator[str]:
        """Those of these servers that nova still has on a host, asked for one by one."""
        for uuid in track(progress, "asking nova for servers again", uuids):
            server = self._server(uuid)
            if server is not None and _holds(server):
                yield uuid

    def _server(self, uuid: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self._get(f"/servers/{uuid}")["server"]
        except NovaError as error:
            if isinstance(error.__cause__, NotFound):
                return None
            raise
        return found

    def _migrations(self, progress: Progress) -> set[str]:
        progress.stage("reading migrations from nova")
        found = set()
        for migration in self._pages("/os-migrations", "migrations", "uuid", {}):
            progress.advance()
            if migration["status"] not in ENDED_STATUSES:
                found.add(canonical_uuid(migration["uuid"]))
        return found

    def _check_cells(self) -> None:
        services = self._get("/os-services", {"binary": "nova-compute"})["services"]
        lost = [each for each in services if each["status"] == UNREACHABLE]
        if lost:
            raise _unreachable_cells(len(lost), "compute service")

    def _pages(
        self, path: str, members: str, key: str, query: dict[str, str]
    ) -> Iterator[dict[str, Any]]:
        """All members of a list. nova says how long its pages are."""
        markers: set[str] = set()
        while True:
            found = self._get(path, query)
            yield from found[members]
            links = found.get(f"{members}_links", ())
            if not found[members] or not any(link["rel"] == "next" for link in links):
                return
            # Not the address of the link, which may be one that only nova can reach.
            marker = str(found[members][-1][key])
            if marker in markers:
                raise NovaError(f"nova repeats a page of {path}")
            markers.add(marker)
            query = {**query, "marker": marker}

    def _get(self, path: str, query: dict[str, str] | None = None) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self._adapter.get(path, params=query or {}).json()
        except (ClientException, ValueError) as error:
            raise NovaError(f"nova: GET {path}: {error}") from error
        return found


def _holds(server: Mapping[str, Any]) -> bool:
    """A server has a host as long as it holds what it has been given there."""
    return bool(server.get(_HOST)) and server["status"] not in STATUSES_WITHOUT_ALLOCATIONS


def _unreachable_cells(count: int, what: str) -> NovaError:
    more = "" if count == 1 else "s"
    return NovaError(
        f"a cell of nova does not answer ({count} {what}{more} with status {UNREACHABLE}): its "
        "servers would be missing from the list, and look like orphans"
    )
