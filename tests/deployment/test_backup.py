"""A backup restored under a running service, with the commands of docs/operations/running.md."""

import re
import subprocess
import uuid
from pathlib import Path

import httpx
import pytest
from sqlalchemy import make_url

from tests.support.claimers import HEADERS, PROJECT
from tests.support.database_servers import SERVERS, DatabaseServer, PostgreSQL
from tests.support.roost_server import RoostServer

DOCUMENT = (Path(__file__).parents[2] / "docs" / "operations" / "running.md").read_text()
# Which worker answers is random.
READS = 12


def documented(program: str) -> str:
    """The line of the document that runs a program."""
    [line] = re.findall(rf"^    ({program} .*)$", DOCUMENT, flags=re.M)
    return str(line)


def run(server: DatabaseServer, line: str, url: str, folder: Path) -> None:
    """Run a documented line, on this database instead of the one that it names."""
    address = make_url(url)
    assert address.database is not None
    if isinstance(server, PostgreSQL):
        plain = f"postgresql://{address.username}@{address.host}:{address.port}/{address.database}"
        # Debian installs the client programs of each server version next to the server.
        line = f"{server._programs}/" + re.sub(r"postgresql://\S+", plain, line)
    else:
        login = f"--host={address.host} --port={address.port} --user={address.username}"
        program, _, rest = line.partition(" ")
        line = f"{program} {login} {rest}".replace(" placement ", f" {address.database} ")
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


@pytest.fixture(params=SERVERS)
def database(request: pytest.FixtureRequest) -> DatabaseServer:
    server: DatabaseServer = request.getfixturevalue(request.param)
    return server


BACK_UP = {"PostgreSQL": "pg_dump", "MariaDB": "mariadb-dump"}
RESTORE = {"PostgreSQL": "pg_restore", "MariaDB": "mariadb"}


def test_workers_notice_a_restored_backup(database: DatabaseServer, tmp_path: Path) -> None:
    url = database.create_database()
    with RoostServer(url, tmp_path, arguments=["--workers", "2"]) as server:
        cloud = Cloud(server.url)
        assert [cloud.claim(1) for _ in range(4)] == [204] * 4
        assert cloud.used() == {4}
        run(database, documented(BACK_UP[database.title]), url, tmp_path)
        # So many that both workers have written something that the restore will undo.
        assert [cloud.claim(1) for _ in range(6)] == [204] * 6
        assert cloud.candidates(1) == {0}
        run(database, documented(RESTORE[database.title]), url, tmp_path)
        assert cloud.used() == {4}
        assert cloud.candidates(6) == {1}
        assert cloud.candidates(7) == {0}
        assert [cloud.claim(1) for _ in range(7)] == [204] * 6 + [409]
        assert cloud.used() == {10}
        cloud.close()
    database.drop_database(url)
