"""docs/how-to/upgrading.md, followed to the letter: its commands are read from the page and run.

Placement itself is the one in the environment of the tests, roost is in an environment of its own.
Both run under uwsgi, one after the other, on one database of MariaDB.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy.engine import make_url

from tests.deployment.deployed_service import PROCESSES, Machine, ini
from tests.keystone.stand_in import PASSWORD
from tests.support.names import uid
from tests.support.service_process import ServiceProcess

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "upgrading.md").read_text()
THERE = "## From Placement to roost\n"
BACK = "## Back to Placement\n"
BLOCK = re.compile(r"^```(sh|ini)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

PLACEMENT = Path(sys.prefix)
UWSGI = {"module": "placement.wsgi.api:application"}

# The environment exists already: see `Installation`.
INSTALLED = (
    "python3 -m venv /opt/roost",
    "/opt/roost/bin/pip install 'roost-placement[mysql,memcached]'",
)


def blocks(title: str) -> list[tuple[str, str]]:
    """The commands and files of a section, in their order."""
    section = PAGE.split(title)[1].split("\n## ")[0]
    found: list[tuple[str, str]] = BLOCK.findall(section)
    return found


class Controller:
    """The machine of an operator: what the commands of the page do there."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.url = f"http://127.0.0.1:{machine.port}"
        self._service: ServiceProcess | None = None
        self._options: dict[str, object] = {**UWSGI, "virtualenv": PLACEMENT}
        self._environment = {
            **machine.environment,
            # The commands that are named without a path are those of Placement, and `openstack`.
            "PATH": f"{PLACEMENT / 'bin'}:{machine.environment['PATH']}",
            "HOME": str(machine.folder),
            "OS_AUTH_URL": f"{machine.keystone.url}/v3",
            "OS_USERNAME": "admin",
            "OS_PASSWORD": PASSWORD,
            "OS_PROJECT_NAME": "admin",
            "OS_USER_DOMAIN_NAME": "Default",
            "OS_PROJECT_DOMAIN_NAME": "Default",
        }
        machine.environment = self._environment
        machine.keystone.services["placement"] = self.url
        database = make_url(machine.database_url)
        self._database_name = str(database.database)
        client = {"host": database.host, "port": database.port, "user": database.username}
        (machine.folder / ".my.cnf").write_text(ini({"client": client}))
        # Placement's commands look for their configuration here, or in /etc/placement.
        (machine.folder / ".placement").symlink_to(machine.etc)

    # What an operator does.

    def follow(self, steps: Sequence[tuple[str, str]]) -> str:
        """Take the steps; returns what the commands printed."""
        return "".join(self._take(kind, text) for kind, text in steps)

    def _take(self, kind: str, text: str) -> str:
        if kind == "ini":
            self.switch_to(text)
            return ""
        return "".join(map(self._run, text.splitlines()))

    def _run(self, line: str) -> str:
        if line in INSTALLED:
            return ""
        if line == "systemctl stop placement-api":
            self.stop()
            return ""
        if line == "systemctl start placement-api":
            self.start()
            return ""
        assert "systemctl" not in line
        line = line.replace("/opt/roost", str(self.machine.installation.folder))
        line = line.replace("mysqldump --single-transaction placement", self._dump)
        # With this, a command at the head of a pipe has to succeed, too.
        return self.machine.run(f"set -o pipefail; cd {self.machine.folder} && {line}")

    @property
    def _dump(self) -> str:
        return f"mysqldump --single-transaction {self._database_name}"

    def switch_to(self, file: str) -> None:
        options = dict(re.findall(r"^(\w+) = (.+)$", file, re.MULTILINE))
        folder = str(self.machine.installation.folder)
        self._options = {name: text.replace("/opt/roost", folder) for name, text in options.items()}

    def switch_back(self) -> None:
        self._options = {**UWSGI, "virtualenv": PLACEMENT}

    def start(self) -> None:
        options = {
            "master": "true",
            "processes": PROCESSES,
            "single-interpreter": "true",
            "die-on-term": "true",
            # As every tool sets it, because uwsgi keeps no connection open.
            "add-header": "Connection: close",
            "http-socket": f"127.0.0.1:{self.machine.port}",
            **self._options,
        }
        path = self.machine.folder / "uwsgi.ini"
        path.write_text(ini({"uwsgi": options}))
        self._service = ServiceProcess(
            [str(PLACEMENT / "bin" / "uwsgi"), "--ini", str(path)],
            environment=self._environment,
            output_path=self.machine.folder / "uwsgi.log",
            is_ready=self.machine.answers(self.url),
        )
        self._service.__enter__()

    def stop(self) -> None:
        if self._service is not None:
            self._service.stop()
            self._service = None

    # What clients do meanwhile.

    def send(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"x-auth-token": "admin", "openstack-api-version": "placement 1.39"}
        answer = httpx.request(
            method, f"{self.url}{path}", json=body, headers=headers, timeout=30
        ).raise_for_status()
        return answer.json() if answer.content else None

    def add_host(self, name: str) -> None:
        self.send("POST", "/resource_providers", {"name": name, "uuid": uid(name)})
        body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
        self.send("PUT", f"/resource_providers/{uid(name)}/inventories", body)

    def claim(self, consumer: str, host: str) -> None:
        body = {
            "allocations": {uid(host): {"resources": {"VCPU": 2}}},
            "project_id": "project",
            "user_id": "user",
            "consumer_type": "INSTANCE",
            "consumer_generation": None,
        }
        self.send("PUT", f"/allocations/{uid(consumer)}", body)

    def used(self, host: str) -> int:
        usages = self.send("GET", f"/resource_providers/{uid(host)}/usages")["usages"]
        return int(usages["VCPU"])

    def is_roost(self) -> bool:
        """Placement has no such path."""
        return httpx.get(f"{self.url}/livez", timeout=30).status_code == 200


@pytest.fixture
def controller(machine: Machine) -> Iterator[Controller]:
    machine.configure(
        {"placement_database": machine.database, "keystone_authtoken": machine.authtoken}
    )
    controller = Controller(machine)
    yield controller
    controller.stop()


def test_there_and_back(controller: Controller) -> None:
    # A Placement that is in use.
    controller.machine.run("placement-manage db sync")
    controller.start()
    assert not controller.is_roost()
    controller.add_host("host1")
    controller.claim("server1", "host1")

    printed = controller.follow(blocks(THERE))
    assert controller.is_roost()
    assert uid("host1") in printed  # a candidate
    assert (controller.machine.folder / "placement-before.sql").stat().st_size > 10_000
    assert controller.used("host1") == 2
    controller.claim("server2", "host1")
    controller.add_host("host2")
    controller.claim("server3", "host2")

    stop, *rest = blocks(BACK)[0][1].splitlines()
    controller.follow([("sh", stop)])
    controller.switch_back()
    # The cloud has grown since the page listed it.
    listed = controller.machine.folder / "providers-after"
    listed.write_text("".join(f"{each}\n" for each in sorted((uid("host1"), uid("host2")))))
    controller.follow([("sh", "\n".join(rest))])
    assert not controller.is_roost()
    assert (controller.used("host1"), controller.used("host2")) == (4, 2)
    controller.send("DELETE", f"/allocations/{uid('server3')}")
    assert controller.used("host2") == 0


def test_every_command_of_the_page_is_run() -> None:
    """A block elsewhere on the page would not be."""
    everywhere = [text for kind, text in BLOCK.findall(PAGE) if kind == "sh"]
    followed = [text for title in (THERE, BACK) for kind, text in blocks(title) if kind == "sh"]
    assert everywhere == followed
