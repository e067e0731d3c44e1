"""`roost agent` with a driver whose calls hang: others are updated, and a stop does not wait."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.client import Client
from tests.agent.hosts import delete_everything
from tests.support.roost_server import RoostServer, command

MODULE = """
import sys
import time

from roost.agent.driver import Driver


class Hosts(Driver):
    def nodenames(self):
        if self.options["hangs"] == "nodenames":
            time.sleep(3600)
        return [f"host{number}" for number in range(12)]

    def update_provider_tree(self, tree, nodename, allocations=None):
        if self.options["hangs"] == nodename:
            print("it hangs", file=sys.stderr, flush=True)
            time.sleep(3600)
        tree.update_inventory(nodename, {"VCPU": {"total": 8}})
"""
DRIVER = "hanging_driver:Hosts"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("hangs")
    with RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server:
        yield server


@pytest.fixture
def client(server: RoostServer) -> Iterator[Client]:
    with Client(server.url) as client:
        delete_everything(client)
        yield client


@pytest.fixture
def environment(
    server: RoostServer, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Of a command, in a folder that has the module of the driver."""
    (tmp_path / "hanging_driver.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return {**os.environ, "ROOST_URL": server.url, "ROOST_TOKEN": "admin"}


def agent(*words: str, hangs: str) -> list[str]:
    return command("agent", *words, "--driver", DRIVER, "-o", f"hangs={hangs}")


def run(words: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_node_that_hangs_stops_no_other(environment: dict[str, str], client: Client) -> None:
    words = agent("run", "--once", "--driver-timeout", "0.5", hangs="host3")
    done = run(words, environment)
    assert done.returncode == 1
    rows = dict(re.findall(r"^(host\d+) +(.*)$", done.stdout, re.MULTILINE))
    reason = f"driver {DRIVER}: host3: update_provider_tree() has not returned within 0.5 seconds"
    assert re.match(rf"failed +{re.escape(reason)} ", rows.pop("host3"))
    assert len(rows) == 11
    assert all(row.startswith("updated ") for row in rows.values())
    assert done.stderr.splitlines()[-1] == "roost: 1 of 12 nodes failed: host3"


def test_a_driver_that_hangs_at_the_very_beginning(environment: dict[str, str]) -> None:
    done = run(agent("run", "--driver-timeout", "0.5", hangs="nodenames"), environment)
    assert done.returncode == 2
    reason = f"driver {DRIVER}: nodenames() has not returned within 0.5 seconds"
    assert done.stderr == f"roost: {reason}\n"


@pytest.mark.parametrize(
    ("words", "number", "exit_code"),
    [
        (("run",), signal.SIGTERM, 0),
        (("run",), signal.SIGINT, 0),
        (("run", "--once"), signal.SIGTERM, 143),
        (("reshape",), signal.SIGINT, 130),
    ],
)
def test_a_stop_does_not_wait_for_a_driver_that_hangs(
    environment: dict[str, str],
    words: tuple[str, ...],
    number: signal.Signals,
    exit_code: int,
) -> None:
    with subprocess.Popen(
        agent(*words, hangs="host1"),
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            assert running.stderr is not None
            while "it hangs" not in running.stderr.readline():
                pass
            running.send_signal(number)
            # Far less than the limit of a call.
            assert running.wait(30) == exit_code
        finally:
            running.kill()


def test_a_limit_that_is_none(environment: dict[str, str]) -> None:
    done = run(agent("run", "--driver-timeout", "0", hangs="nodenames"), environment)
    assert done.returncode == 2
    assert "Invalid value for '--driver-timeout'" in done.stderr
