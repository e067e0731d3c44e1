"""`roost agent` and `roost tree`, as a user runs them."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from roost.client import Client, Consumer, direct
from tests.agent.hosts import delete_everything
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server has its database."""
    return tmp_path_factory.mktemp("agent")


@pytest.fixture(scope="module")
def started_server(folder: Path) -> Iterator[RoostServer]:
    with RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server:
        yield server


@pytest.fixture
def server(started_server: RoostServer) -> RoostServer:
    """A server that holds nothing."""
    with Client(started_server.url) as client:
        delete_everything(client)
    return started_server


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
    tree = roost("tree", "--traits", url=server.url)
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
        assert "nothing to move" in roost("agent", "reshape", *driver(path), url=server.url)


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


def lines_of(text: str) -> list[dict[str, Any]]:
    """Each line is one JSON object, with a time."""
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        moment = datetime.fromisoformat(line.pop("time"))
        assert abs((datetime.now(UTC) - moment).total_seconds()) < 60
        assert "summary" in line or line.pop("seconds") >= 0
    return lines


def results_of(text: str, **counts: int) -> list[dict[str, Any]]:
    """The lines of nodes, in their order; the last line is a summary with these counts."""
    *lines, last = lines_of(text)
    interrupted, failed = last["summary"].pop("interrupted"), last["summary"].pop("failed_nodes")
    assert not interrupted
    assert failed == [line["root"] for line in lines if line["result"] == "failed"]
    assert last == {"summary": {"nodes": len(lines), "moves": 0, **counts}}
    return sorted(lines, key=lambda line: str(line["root"]))


def test_programs_get_a_line_of_json_for_each_root(server: RoostServer, tmp_path: Path) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text(POOLS + "  - name: spare\n")
    run = ("agent", "run", *driver(path), "--json")
    planned = results_of(roost(*run, "--dry-run", url=server.url), planned=2)
    updated = results_of(roost(*run, "--once", url=server.url), updated=2)
    assert [(line["root"], line["result"]) for line in planned] == [
        ("pools", "planned"),
        ("spare", "planned"),
    ]
    assert [(line["root"], line["result"]) for line in updated] == [
        ("pools", "updated"),
        ("spare", "updated"),
    ]
    for line in (planned[0], updated[0]):
        pools, fast, slow = line["changes"]
        assert [each["name"] for each in line["changes"]] == ["pools", "fast", "slow"]
        assert {each["change"] for each in line["changes"]} == {"added"}
        assert fast["parent_uuid"] == slow["parent_uuid"] == pools["uuid"]
        assert fast["inventories"]["DISK_GB"]["before"] is None
        assert fast["inventories"]["DISK_GB"]["after"]["total"] == 100
        assert (fast["traits_added"], fast["traits_removed"]) == (["CUSTOM_SSD"], [])
        assert line["moves"] == []
    with Client(server.url) as client:
        [fast] = client.providers({"name": "fast"})
        assert fast.uuid == updated[0]["changes"][1]["uuid"]
    assert results_of(roost(*run, "--once", url=server.url), unchanged=2) == [
        {"root": root, "result": "unchanged", "changes": [], "moves": []}
        for root in ("pools", "spare")
    ]


@pytest.mark.parametrize("is_offline", [False, True])
def test_programs_learn_what_a_reshape_moves(
    server: RoostServer, folder: Path, tmp_path: Path, is_offline: bool
) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text(POOLS)
    reshape: tuple[str, ...] = ("agent", "reshape", *driver(path), "--json")
    if is_offline:
        database = f"sqlite:///{folder / 'roost.db'}"
        reshape = ("agent", "migrate", "--offline", *driver(path), "--json", "--database", database)
    roost("agent", "run", *driver(path), "--once", url=server.url)
    with Client(server.url) as client:
        consumer = claim(client, "fast", 30)
    path.write_text(SHELVES)
    [planned] = results_of(roost(*reshape, "--plan", url=server.url), planned=1, moves=1)
    # One line says what was planned and done.
    [updated] = results_of(roost(*reshape, url=server.url), updated=1, moves=1)
    assert (planned["result"], updated["result"]) == ("planned", "updated")
    for line in (planned, updated):
        [move] = line["moves"]
        assert move["consumer"] == consumer
        assert (move["resource_class"], move["amount"]) == ("DISK_GB", 30)
        assert move["from"] == [{"provider": "fast", "resource_class": "DISK_GB"}]
        assert move["to"] in ("shelf1", "shelf2")
        assert isinstance(move["known"], bool)
        assert (line["torn"], line["proven"], line["excess"]) == ([], True, [])
    [unchanged] = results_of(roost(*reshape, "--plan", url=server.url), unchanged=1)
    assert (unchanged["result"], unchanged["changes"], unchanged["moves"]) == ("unchanged", [], [])


def test_programs_learn_of_each_update_while_the_agent_runs(
    server: RoostServer, tmp_path: Path
) -> None:
    path, output = tmp_path / "pools.yaml", tmp_path / "output"
    path.write_text(POOLS)
    arguments = ("agent", "run", *driver(path), "--interval", "1", "--json", "--url", server.url)

    def results() -> list[str]:
        return [line["result"] for line in lines_of(output.read_text())]

    with (
        output.open("w") as file,
        subprocess.Popen(command(*arguments), stdout=file, stderr=subprocess.DEVNULL) as agent,
    ):
        wait_until(lambda: "unchanged" in results())
        path.write_text(POOLS.replace("total: 1000", "total: 2000"))
        wait_until(lambda: results().count("updated") == 2)
        path.write_text("providers: 7")
        wait_until(lambda: "failed" in results())
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(20) == 0
    lines = lines_of(output.read_text())
    assert lines[0]["result"] == "updated"
    [second] = [line for line in lines[1:] if line["result"] == "updated"]
    [slow] = second["changes"]
    assert (slow["name"], slow["change"]) == ("slow", "changed")
    totals = [slow["inventories"]["DISK_GB"][when]["total"] for when in ("before", "after")]
    assert totals == [1000, 2000]
    failed = next(line for line in lines if line["result"] == "failed")
    assert failed.keys() == {"root", "result", "error"}
    assert "providers" in failed["error"]


def test_a_failed_update_at_start_is_a_line_too(server: RoostServer, tmp_path: Path) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text(POOLS)
    roost("agent", "run", *driver(path), "--once", url=server.url)
    # Another root cannot have a provider of the same name.
    path.write_text("providers:\n  - {name: others, children: [{name: fast}]}\n")
    done = subprocess.run(
        command("agent", "run", *driver(path), "--once", "--json", "--url", server.url),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    [line] = results_of(done.stdout, failed=1)
    assert (line["root"], line["result"]) == ("others", "failed")
    assert line["error"].startswith("fast: create: ")
    assert line["error"] in done.stderr


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("agent", "run", "--driver", "nonsense"), "there are file, libvirt, linux"),
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


def test_each_error_of_a_file_has_a_line(server: RoostServer, tmp_path: Path) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text("providers:\n- nam: a\n- name: [b]\n")
    shown = roost("agent", "run", *driver(path), "--once", url=server.url, status=2)
    assert shown.splitlines() == [
        f"roost: driver file: {path}: 3 errors",
        f"{path}:2: providers[0]: name is missing",
        f"{path}:2: providers[0].nam: unknown field 'nam'; did you mean 'name'?",
        f"{path}:3: providers[1].name: ['b'] is not of type 'string'",
    ]


def test_an_unreachable_service_is_an_error() -> None:
    assert "refused" in roost("tree", url="http://127.0.0.1:1", status=1)
