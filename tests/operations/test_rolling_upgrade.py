"""Machines are upgraded one after the other, under load, as docs/operations/upgrades.md says."""

import itertools
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.operations.reshaper import Reshaper
from tests.operations.revisions import Revision
from tests.operations.rotation import Rotation
from tests.support.claimers import Claim, Claimers, add_hosts, check_tables
from tests.support.database_servers import SERVERS, DatabaseServer
from tests.support.headers import HEADERS
from tests.support.roost_server import RoostServer, command

# The last commits before what an old process may not understand.
REVISIONS = {
    # A change record with several claims.
    "one-claim-a-record": "c233f39",
    # The second revision of the tables, and holds in change records.
    "first-tables": "f018bee",
}
# How many writes are acknowledged in each phase. scripts/rolling-upgrade wants more, without
# pauses, and tries both revisions on both databases.
WRITES = int(os.environ.get("ROOST_TEST_ROLLING_WRITES", "0"))
PAIRS = [*itertools.product(SERVERS, REVISIONS)] if WRITES else [("mariadb", "one-claim-a-record")]
PAUSE_SECONDS = 0 if WRITES else 0.2
WRITES = WRITES or 12
CLIENTS = 4
RESHAPES_MIN = 3


class Machines:
    """Machines with an old and a new version behind one load balancer, on one database."""

    def __init__(self, database_url: str, folder: Path, old: Revision) -> None:
        self.database_url = database_url
        self.rotation = Rotation()
        self.running: dict[str, RoostServer] = {}
        self.claims: dict[str, list[Claim]] = {}
        self._folder = folder
        self._old = old

    def start(self, name: str, *, old: bool) -> None:
        environment = self._old.environment if old else None
        server = RoostServer(self.database_url, self._folder, environment=environment)
        self.running[name] = server.__enter__()
        self.rotation.add(server)

    def stop(self, name: str) -> None:
        server = self.running.pop(name)
        self.rotation.remove(server)
        server.stop()
        assert server.process.returncode == 0, server.output
        assert "Traceback" not in server.output

    def stop_all(self) -> None:
        for server in self.running.values():
            server.stop()
        self.rotation.shut_down()

    @contextmanager
    def load(self) -> Iterator[Claimers]:
        """Clients claim, search, release and reshape; none of their requests may fail."""
        # Earlier clients have left their claims behind.
        add_hosts(next(iter(self.running.values())).url)
        with ExitStack() as stack:
            reshaper = stack.enter_context(Reshaper(self.rotation, PAUSE_SECONDS))
            clients = Claimers(
                "http://roost", CLIENTS, transport=self.rotation, pause_seconds=PAUSE_SECONDS
            )
            stack.enter_context(clients)
            yield clients
        assert clients.problems == []
        assert reshaper.problems == []
        assert clients.unanswered == 0
        assert reshaper.reshape_count >= RESHAPES_MIN
        self.claims |= clients.claims
        check_tables(self.database_url, self.claims)

    def views(self) -> dict[str, Any]:
        """The cloud as each machine shows it."""
        return {name: view_of(server.url) for name, server in self.running.items()}


def view_of(url: str) -> dict[str, Any]:
    """What a machine knows: providers, inventories, usage, and where a small request fits."""
    with httpx.Client(base_url=url, headers=HEADERS, timeout=30) as http:

        def get(path: str) -> Any:
            answer = http.get(path)
            assert answer.status_code == 200, answer.text
            return answer.json()

        providers = get("/resource_providers")["resource_providers"]
        details = {
            provider["uuid"]: [
                provider["generation"],
                *(get(f"/resource_providers/{provider['uuid']}/{part}") for part in PARTS),
            ]
            for provider in providers
        }
        found = get("/allocation_candidates?resources=VCPU:1")
        fits = {uuid for each in found["allocation_requests"] for uuid in each["allocations"]}
        return {"providers": details, "fits": fits, "summaries": found["provider_summaries"]}


PARTS = ("inventories", "usages")


@pytest.fixture(params=PAIRS, ids="-".join)
def machines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machines]:
    kind, revision = request.param
    old = Revision(REVISIONS[revision], tmp_path / "old")
    server: DatabaseServer = request.getfixturevalue(kind)
    url = server.create_database()
    machines = Machines(url, tmp_path, old)
    yield machines
    machines.stop_all()
    server.drop_database(url)


def test_no_request_fails_while_machines_are_upgraded(machines: Machines) -> None:
    machines.start("one", old=True)
    machines.start("two", old=True)
    with machines.load() as clients:
        clients.work(WRITES)
        # First the tables, while old processes serve.
        subprocess.run(command("db", "sync", "--database", machines.database_url), check=True)
        clients.work(WRITES)
        machines.start("three", old=False)
        machines.stop("one")
        clients.work(WRITES)
    # One machine of each version is left. They show the same cloud, and it is that of the tables.
    views = machines.views()
    assert views["two"] == views["three"]
    subprocess.run(command("db", "check", "--database", machines.database_url), check=True)
    with machines.load() as clients:
        clients.work(WRITES)
        machines.start("four", old=False)
        machines.stop("two")
        clients.work(WRITES)
    views = machines.views()
    assert views["three"] == views["four"]
