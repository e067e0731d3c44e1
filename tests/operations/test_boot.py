"""The units of deploy/, started by systemd on a machine that scripts/boot has made."""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.operations.machine import ROOT, Machine
from tests.operations.runbook import commands

RUNNING = (ROOT / "docs" / "operations" / "running.md").read_text()
FOLDER = os.environ.get("ROOST_TEST_BOOT")
WAIT_SECONDS_MAX = 30
SERVICE = "http://127.0.0.1:8778"
# A host, as clients create one.
CREATE = (
    "curl --silent --fail --header 'x-auth-token: admin' --header 'content-type: application/json' "
    f"--header 'openstack-api-version: placement 1.39' --data '{{\"name\": \"%s\"}}' "
    f"{SERVICE}/resource_providers"
)
NAMES = f"curl --silent --fail --header 'x-auth-token: admin' {SERVICE}/resource_providers"

pytestmark = pytest.mark.skipif(
    FOLDER is None or shutil.which("systemd-nspawn") is None or os.geteuid() != 0,
    reason="scripts/boot makes a machine with systemd, and runs these tests",
)


def documented(heading: str, level: str = "##") -> list[str]:
    """The commands of a section of the page about running roost."""
    section = RUNNING.split(f"\n{level} {heading}\n")[1]
    section = re.split(rf"\n#{{2,{len(level)}}} ", section)[0]
    return re.findall(r"^    (\S.*)$", section, flags=re.M)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Booted, with roost installed and started as the page says."""
    log = tmp_path_factory.mktemp("machine") / "log"
    with Machine(Path(FOLDER or ""), log) as machine:
        for line in documented("Installing"):
            # scripts/boot has done the first two, without a network. With SQLite the service itself
            # creates the tables.
            if not line.startswith(("python3 ", "/opt/roost/bin/pip ", "/opt/roost/bin/roost db ")):
                machine.run(f"cd / && {line}")
        for line in documented("systemd", "###"):
            if not line.startswith("worker "):
                machine.run(f"cd / && {line}")
        yield machine


def is_answering(machine: Machine) -> bool:
    return machine.run(f"curl --silent --fail {SERVICE}/", check=False).returncode == 0


def names(machine: Machine) -> set[str]:
    providers = json.loads(machine.output(NAMES))["resource_providers"]
    return {provider["name"] for provider in providers}


def test_it_listens_when_systemd_says_that_it_is_started(machine: Machine) -> None:
    machine.run(f"systemctl restart roost && curl --silent --fail {SERVICE}/")
    assert machine.property("roost", "ActiveState") == "active"
    assert machine.output(f"curl --silent --fail {SERVICE}/readyz").startswith('{"status":')


def test_data_and_log_are_where_the_unit_says(machine: Machine) -> None:
    machine.run(CREATE % "kept")
    assert machine.output("stat --format '%U %a' /var/lib/roost") == "roost 750"
    assert machine.output("stat --format '%U %a' /var/lib/roost/roost.db") == "roost 600"
    count = "SELECT count(*) FROM resource_providers"
    assert machine.output(f"sqlite3 /var/lib/roost/roost.db '{count}'") != "0"
    assert "POST /resource_providers" in machine.output("journalctl --unit roost")


def test_a_worker_that_is_killed_is_replaced(machine: Machine) -> None:
    main = machine.property("roost", "MainPID")
    workers = machine.processes("roost")
    assert len(workers) == 4
    machine.run(f"kill -9 {min(workers)}")
    wait_for(lambda: len(machine.processes("roost").keys() - workers.keys()) == 1)
    assert is_answering(machine)
    assert machine.property("roost", "MainPID") == main


def test_systemd_starts_it_again_when_all_of_it_is_killed(machine: Machine) -> None:
    machine.run(CREATE % "survives")
    before = int(machine.property("roost", "NRestarts"))
    machine.run("systemctl kill --signal SIGKILL roost")
    wait_for(lambda: int(machine.property("roost", "NRestarts")) == before + 1)
    wait_for(lambda: is_answering(machine))
    assert "survives" in names(machine)


def test_it_stops_in_time_and_by_itself(machine: Machine) -> None:
    machine.run("systemctl stop roost")
    assert machine.property("roost", "Result") == "success"
    assert machine.property("roost", "ExecMainStatus") == "0"
    assert "SIGTERM: stopping" in machine.output("journalctl --unit roost --lines 30")
    assert not is_answering(machine)
    machine.run("systemctl start roost")
    assert is_answering(machine)


def test_it_can_do_nothing_but_serve(machine: Machine) -> None:
    main = machine.property("roost", "MainPID")
    status = dict(
        line.split(":\t", 1)
        for line in machine.output(f"cat /proc/{main}/status").splitlines()
        if ":\t" in line
    )
    assert status["NoNewPrivs"] == "1"
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert status["Seccomp"] == "2"
    inside = f"nsenter --target {main} --mount"
    assert machine.run(f"{inside} touch /etc/written", check=False).returncode != 0
    assert machine.run(f"{inside} touch /opt/roost/written", check=False).returncode != 0
    machine.run(f"{inside} touch /var/lib/roost/written /var/log/roost/written /tmp/written")
    assert machine.run("test -e /tmp/written", check=False).returncode != 0


def test_a_log_file_is_rotated(machine: Machine) -> None:
    machine.run("sed -i 's/^#log_file/log_file/' /etc/placement/placement.conf")
    machine.run("install -m 0644 /deploy/roost.logrotate /etc/logrotate.d/roost")
    machine.run("systemctl restart roost")
    machine.run(CREATE % "before")
    machine.run("logrotate --force /etc/logrotate.d/roost")
    machine.run(CREATE % "after")
    for name in ("roost.log", "roost.log.1"):
        lines = machine.output(f"cat /var/log/roost/{name}")
        assert lines.count('"POST /resource_providers"') == 1
    assert machine.output("stat --format '%U %a' /var/log/roost/roost.log") == "roost 600"
    machine.run("sed -i 's/^log_file/#log_file/' /etc/placement/placement.conf")
    machine.run("systemctl restart roost")


def test_a_memory_limit_takes_effect(machine: Machine) -> None:
    machine.write("/etc/systemd/system/roost.service.d/memory.conf", "[Service]\nMemoryMax=2G")
    machine.run("systemctl daemon-reload && systemctl restart roost")
    assert machine.property("roost", "MemoryMax") == str(2 * 1024**3)
    assert machine.property("roost", "OOMPolicy") == "continue"
    assert is_answering(machine)
    controllers = machine.run("cat /sys/fs/cgroup/cgroup.controllers", check=False).stdout
    if "memory" not in controllers.split():
        pytest.skip("the kernel of this system gives containers no control of memory")
    group = machine.property("roost", "ControlGroup")
    assert machine.output(f"cat /sys/fs/cgroup{group}/memory.max") == str(2 * 1024**3)


def test_the_agent_reports_its_machine(machine: Machine) -> None:
    machine.write("/etc/roost/agent.env", f"ROOST_URL={SERVICE}\nROOST_TOKEN=admin")
    machine.run("install -m 0644 /deploy/roost-agent.service /etc/systemd/system/")
    machine.run("systemctl daemon-reload && systemctl start roost-agent")
    host = machine.output("hostname")
    wait_for(lambda: host in names(machine))
    machine.run("systemctl stop roost-agent")
    assert machine.property("roost-agent", "Result") == "success"


@pytest.mark.parametrize(
    "command", [line for line in commands() if not line.startswith(("curl ", "roost "))]
)
def test_a_command_of_the_runbook_works(machine: Machine, command: str) -> None:
    done = machine.run(command, check=False)
    # A journal without such a line is 1, a unit that is not there 4.
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr == ""
