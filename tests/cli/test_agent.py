"""`roost agent` and `roost tree`, as a user runs them."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from roost.client import Client, Consumer, direct
from tests.support.cli_runner import roost
from tests.support.roost_server import RoostServer, command

POOLS = """\
providers:
  - name: pools
    children:
      - name: fast
        inventories: {DISK_GB: {total: 100}}
        traits: [CUSTOM_SSD]
      - name: slow
        inventories: {DISK_GB: {total: 1000}}
"""
# The disks of `fast` are now on two shelves.
SHELVES = """\
providers:
  - name: pools
    children:
      - name: fast
        children:
          - {name: shelf1, inventories: {DISK_GB: {total: 50}}}
          - {name: shelf2, inventories: {DISK_GB: {total: 50}}}
      - name: slow
        inventories: {DISK_GB: {total: 1000}}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RoostServer]:
    with RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path) as server:
        yield server


def driver(path: Path) -> tuple[str, ...]:
    return ("--driver", "file", "-o", f"path={path}")


def claim(client: Client, provider: str, amount: int) -> str:
    [found] = client.providers({"name": provider})
    uuid = "11111111-1111-1111-1111-111111111111"
    client.set_consumer(
        Consumer(
            uuid=uuid,
            allocations={found.uuid: {"DISK_GB": amount}},
            project_id="project",
            user_id="user",
            consumer_type="VOLUME",
        )
    )
    return uuid


def test_the_machine_is_reported_and_shown(server: RoostServer) -> None:
    """The agent reports this machine, and `roost tree` shows it."""
    shown = roost("agent", "run", "--driver", "linux", "--dry-run", url=server.url)
    assert f"+ {os.uname().nodename}\n" in shown
    assert "+ VCPU: total" in shown
    with Client(server.url) as client:
        assert client.providers() == []
    assert "updated" in roost("agent", "run", "--driver", "linux", "--once", url=server.url)
    assert "nothing to do" in roost("agent", "run", "--driver", "linux", "--once", url=server.url)
    tree = roost("tree", url=server.url)
    assert os.uname().nodename in tree
    assert "VCPU" in tree
    assert "COMPUTE_NODE" in tree
    [root] = json.loads(roost("tree", os.uname().nodename, "--json", url=server.url))
    providers = [root, *root["children"]]
    assert sum(each["inventories"].get("MEMORY_MB", {}).get("total", 0) for each in providers) > 0


def test_a_reshape_is_planned_and_done(server: RoostServer, tmp_path: Path) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text(POOLS)
    roost("agent", "run", *driver(path), "--once", url=server.url)
    with Client(server.url) as client:
        consumer = claim(client, "fast", 30)
        path.write_text(SHELVES)
        plan = roost("agent", "reshape", *driver(path), "--plan", url=server.url)
        assert "shelf1" in plan
        assert consumer in plan
        assert len(client.providers()) == 3
        roost("agent", "reshape", *driver(path), url=server.url)
        [shelf] = client.consumer(consumer).allocations
        assert client.provider(shelf).name in ("shelf1", "shelf2")
        assert "nothing to do" in roost("agent", "reshape", *driver(path), url=server.url)


def test_a_migration_works_while_the_service_is_down(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'roost.db'}"
    path = tmp_path / "pools.yaml"
    path.write_text(POOLS)
    migrate = ("agent", "migrate", *driver(path), "--database", database)
    assert "say --offline" in roost(*migrate, status=2)
    with direct(database, sync=True):
        pass
    assert "updated" in roost(*migrate, "--offline")
    with direct(database) as client:
        consumer = claim(client, "fast", 30)
    path.write_text(SHELVES)
    assert consumer in roost(*migrate, "--offline", "--plan")
    assert "updated" in roost(*migrate, "--offline")
    with direct(database) as client:
        [shelf] = client.consumer(consumer).allocations
        assert client.provider(shelf).name.startswith("shelf")
    # A second run, as after an interruption.
    assert "nothing to do" in roost(*migrate, "--offline")


def test_the_agent_runs_until_it_is_stopped(server: RoostServer, tmp_path: Path) -> None:
    path, log = tmp_path / "pools.yaml", tmp_path / "agent.log"
    path.write_text(POOLS)
    arguments = ("agent", "run", *driver(path), "--interval", "1", "--url", server.url)
    with (
        log.open("w") as output,
        subprocess.Popen(command(*arguments), stdout=output, stderr=subprocess.STDOUT) as agent,
        Client(server.url) as client,
    ):
        wait_until(lambda: "updated" in log.read_text())
        path.write_text(POOLS.replace("total: 1000", "total: 2000"))
        [slow] = client.providers({"name": "slow"})
        wait_until(lambda: client.inventories(slow.uuid).inventories["DISK_GB"].total == 2000)
        # A running agent does not move what consumers hold.
        claim(client, "fast", 30)
        path.write_text(SHELVES)
        wait_until(lambda: "roost agent reshape" in log.read_text())
        assert len(client.providers()) == 3
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(20) == 0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("agent", "run", "--driver", "nonsense"), "there are file, linux"),
        (("agent", "run", "--driver", "linux", "-o", "numa"), "expected NAME=VALUE"),
        (("agent", "run", "--driver", "linux", "-o", "nonsense=1"), "no option nonsense"),
        (("agent", "run"), "Missing option '--driver'"),
        (("agent", "run", "--driver", "file", "-o", "path=/nowhere"), "cannot be read"),
        (("tree", "nothing"), "there is no provider nothing"),
    ],
)
def test_bad_input_is_a_usage_error(
    server: RoostServer, arguments: tuple[str, ...], expected: str
) -> None:
    assert expected in roost(*arguments, url=server.url, status=2)


def test_an_unreachable_service_is_an_error() -> None:
    assert "refused" in roost("tree", url="http://127.0.0.1:1", status=1)
