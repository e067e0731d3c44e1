"""A backup restored under a running service, with the commands of docs/operations/backup.md."""

import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from sqlalchemy import make_url

from tests.support.claimers import HEADERS, PROJECT
from tests.support.database_servers import DATABASES, DatabaseServer, PostgreSQL, missing
from tests.support.roost_server import RoostServer, command

DOCUMENT = (Path(__file__).parents[2] / "docs" / "operations" / "backup.md").read_text()
# Which worker answers is random.
READS = 12


def documented(heading: str) -> list[str]:
    """The commands of a section of the page."""
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^    (\S.*)$", section, flags=re.M)


class Database(NamedTuple):
    """An empty database, and where the client programs of its server are."""

    heading: str  # of its section
    url: str
    programs: Path | None = None

    def here(self, line: str) -> str:
        """A documented line, for this database instead of the one that it names."""
        address = make_url(self.url)
        assert address.database is not None
        match self.heading:
            case "PostgreSQL":
                host = f"{address.username}@{address.host}:{address.port}"
                line = re.sub(r"postgresql://\S+", f"postgresql://{host}/{address.database}", line)
                # Debian installs the client programs of each server version next to the server.
                return f"{self.programs}/{line}"
            case "MariaDB":
                login = f"--host={address.host} --port={address.port} --user={address.username}"
                program, _, rest = line.partition(" ")
                return f"{program} {login} {rest}".replace(" placement ", f" {address.database} ")
            case _:
                return line.replace("/var/lib/roost/roost.db", address.database)


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        if shutil.which("sqlite3") is None:
            missing("sqlite3", "sqlite3")
        yield Database("SQLite", f"sqlite:///{tmp_path / 'roost.db'}")
        return
    server: DatabaseServer = request.getfixturevalue(request.param)
    url = server.create_database()
    programs = server._programs if isinstance(server, PostgreSQL) else None
    yield Database(server.title, url, programs)
    server.drop_database(url)


def run(line: str, folder: Path) -> None:
    subprocess.run(line, shell=True, cwd=folder, check=True)


class Cloud:
    """One host, and what is used of it."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(
            # A new connection for each request, which may reach any worker.
            base_url=url,
            headers={**HEADERS, "connection": "close"},
            timeout=60,
        )
        self.host = str(uuid.uuid4())
        self._expect(self._http.post("/resource_providers", json={"name": "h", "uuid": self.host}))
        inventories = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 10}}}
        path = f"/resource_providers/{self.host}/inventories"
        self._expect(self._http.put(path, json=inventories))

    def _expect(self, answer: httpx.Response) -> httpx.Response:
        assert answer.status_code < 300, answer.text
        return answer

    def claim(self, amount: int) -> int:
        """The status of a claim by a new consumer."""
        body = {
            "allocations": {self.host: {"resources": {"VCPU": amount}}},
            "project_id": PROJECT,
            "user_id": PROJECT,
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        return self._http.put(f"/allocations/{uuid.uuid4()}", json=body).status_code

    def used(self) -> set[int]:
        """The usage that the workers report."""
        path = f"/resource_providers/{self.host}/usages"
        answers = [self._expect(self._http.get(path)) for _ in range(READS)]
        return {answer.json()["usages"]["VCPU"] for answer in answers}

    def candidates(self, amount: int) -> set[int]:
        """The number of candidates that the workers find."""
        path = f"/allocation_candidates?resources=VCPU:{amount}"
        answers = [self._expect(self._http.get(path)) for _ in range(READS)]
        return {len(answer.json()["allocation_requests"]) for answer in answers}

    def close(self) -> None:
        self._http.close()


def test_workers_notice_a_restored_backup(database: Database, tmp_path: Path) -> None:
    back_up, restore = map(database.here, documented(database.heading))
    with RoostServer(database.url, tmp_path, arguments=["--workers", "2"]) as server:
        cloud = Cloud(server.url)
        assert [cloud.claim(1) for _ in range(4)] == [204] * 4
        assert cloud.used() == {4}
        run(back_up, tmp_path)
        # So many that both workers have written something that the restore will undo.
        assert [cloud.claim(1) for _ in range(6)] == [204] * 6
        assert cloud.candidates(1) == {0}
        run(restore, tmp_path)
        assert cloud.used() == {4}
        assert cloud.candidates(6) == {1}
        assert cloud.candidates(7) == {0}
        assert [cloud.claim(1) for _ in range(7)] == [204] * 6 + [409]
        assert cloud.used() == {10}
        verify(server.url, database.url)
        cloud.close()


def verify(server_url: str, database_url: str) -> None:
    """What the page says to do after a restore."""
    ready, check = documented("After a restore")
    run(f"{ready.replace('http://127.0.0.1:8778', server_url)} --silent", Path())
    assert check == "roost db check"
    subprocess.run(command("db", "check", "--database", database_url), check=True)


def test_a_backup_is_rehearsed(postgresql: PostgreSQL, tmp_path: Path) -> None:
    """The backup goes into a database of its own, where it is checked."""
    url = postgresql.create_database()
    database = Database("PostgreSQL", url, postgresql._programs)
    with RoostServer(url, tmp_path) as server:
        cloud = Cloud(server.url)
        assert cloud.claim(3) == 204
        run(database.here(documented("PostgreSQL")[0]), tmp_path)
        cloud.close()
    server_of = f"--host=127.0.0.1 --port={postgresql.port} --username=roost"
    empty = "postgresql:///placement_rehearsal"
    for line in documented("Rehearse it"):
        program, _, rest = line.partition(" ")
        if program == "roost":
            here = empty.replace(":///", f"://roost@127.0.0.1:{postgresql.port}/")
            run(f"{sys.executable} -m {line.replace(empty, here)}", tmp_path)
        else:
            run(f"{postgresql._programs}/{program} {server_of} {rest}", tmp_path)
    postgresql.drop_database(url)
