"""`roost agent` with many nodes: each is by itself, and the end says what became of each."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from roost.client import Client, Consumer
from tests.agent.hosts import delete_everything
from tests.support.names import uid
from tests.support.roost_server import RoostServer, command
from tests.support.terminal import COLUMNS, Terminal

# Hosts with graphics cards; the VGPUs are on the root or, with shape=cards, on the cards.
MODULE = """
import time

from roost.agent.driver import Driver, DriverError, ReshapeNeeded


class Hosts(Driver):
    def nodenames(self):
        return [f"host{number}" for number in range(int(self.options.get("count", "3")))]

    def root_uuid(self, nodename):
        if self.options.get("no_uuid") == nodename:
            return {}["uuid"]

    def update_provider_tree(self, tree, nodename, allocations=None):
        time.sleep(float(self.options.get("seconds", "0")))
        if self.options.get("fails") == nodename:
            raise RuntimeError("the machine\\ndoes not answer")
        if self.options.get("asks_twice") == nodename:
            raise ReshapeNeeded("again")
        inventory = tree.data(nodename).inventory
        if self.options.get("shape") != "cards":
            tree.update_inventory(nodename, {"VCPU": {"total": 8}, "VGPU": {"total": 8}})
            return
        if "VGPU" in inventory and allocations is None:
            raise ReshapeNeeded("VGPU moves to the cards")
        tree.update_inventory(nodename, {"VCPU": {"total": 8}})
        tree.add_traits(nodename, "CUSTOM_CARDS")
        root, cards = tree.data(nodename).uuid, [f"{nodename}_card{number}" for number in (0, 1)]
        for card in cards:
            if not tree.exists(card):
                tree.new_child(card, nodename)
            tree.update_inventory(card, {"VGPU": {"total": 4}})
        for number, record in enumerate((allocations or {}).values()):
            amount = record["allocations"][root]["resources"].pop("VGPU")
            card = tree.data(cards[number % 2]).uuid
            record["allocations"][card] = {"resources": {"VGPU": amount}}


class Fails(Hosts):
    def __init__(self, options):
        super().__init__(options)
        self.options["count"] + 1


class Strange(Hosts):
    def nodenames(self):
        return 1 / 0


class Abstract(Driver):
    pass


class Something:
    pass
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("nodes")
    with RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server:
        yield server


@pytest.fixture
def client(server: RoostServer) -> Iterator[Client]:
    with Client(server.url) as client:
        delete_everything(client)
        yield client


class Agent:
    """`roost agent` in a folder that has the module of a driver."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.environment = {**os.environ, "ROOST_URL": url, "ROOST_TOKEN": "admin"}
        (folder / "own_drivers.py").write_text(MODULE)

    def command(self, *words: str, kind: str = "Hosts", **options: object) -> list[str]:
        given = [text for name, value in options.items() for text in ("-o", f"{name}={value}")]
        return command("agent", *words, "--driver", f"own_drivers:{kind}", *given)

    def run(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            words,
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr or "--debug" in words
        return done

    def __call__(self, *words: str, status: int = 0, **options: object) -> str:
        done = self.run(self.command(*words, **options))
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def agent(server: RoostServer, client: Client, tmp_path: Path) -> Agent:
    return Agent(tmp_path, server.url)


def cells(shown: str) -> dict[str, list[str]]:
    """The rows of a table by their first cell."""
    rows = [re.split(r"  +", line.strip()) for line in shown.splitlines() if line]
    return {first: rest for first, *rest in rows}


def hold(client: Client, node: str, count: int) -> list[str]:
    """So many consumers of a VGPU of a root."""
    [root] = client.providers({"name": node})
    names = [uid(f"{node} {number}") for number in range(count)]
    for name in names:
        client.set_consumer(
            Consumer(
                uuid=name,
                allocations={root.uuid: {"VGPU": 1}},
                project_id="project",
                user_id="user",
                consumer_type="INSTANCE",
            )
        )
    return names


# ---------------------------------------------------------------------------------------------
# Each node by itself


def test_nodes_that_fail_stop_no_other(agent: Agent, client: Client) -> None:
    # Somebody else's provider has the name of a card of host3.
    client.create_provider("host3_card1")
    run = agent.command(*("run", "--once"), count=5, shape="cards", fails="host0", no_uuid="host2")
    done = agent.run(run)
    assert done.returncode == 1
    rows = cells(done.stdout)
    assert rows["node"] == ["result", "what", "seconds"]
    assert {name: row[0] for name, row in rows.items() if name.startswith("host")} == {
        "host0": "failed",
        "host1": "updated",
        "host2": "failed",
        "host3": "failed",
        "host4": "updated",
    }
    name = "driver own_drivers:Hosts"
    assert rows["host0"][1] == f"{name}: host0: RuntimeError: the machine does not answer"
    assert rows["host1"][1] == "3 providers added"
    assert rows["host2"][1] == f"{name}: host2: KeyError: 'uuid'"
    assert rows["host3"][1].startswith("host3_card1: create: ")
    assert done.stderr.splitlines()[-1] == "roost: 3 of 5 nodes failed: host0, host2, host3"


def test_programs_learn_of_every_node(agent: Agent) -> None:
    done = agent.run(agent.command("run", "--once", "--json", fails="host1"))
    assert done.returncode == 1
    *lines, last = map(json.loads, done.stdout.splitlines())
    assert {line["root"]: line["result"] for line in lines} == {
        "host0": "updated",
        "host1": "failed",
        "host2": "updated",
    }
    assert all(line["seconds"] >= 0 for line in lines)
    assert last["summary"] == {
        "nodes": 3,
        "updated": 2,
        "failed": 1,
        "interrupted": False,
        "failed_nodes": ["host1"],
        "moves": 0,
    }
    assert done.stderr == "roost: 1 of 3 nodes failed: host1\n"


def test_a_second_request_for_a_reshape_is_one_line(agent: Agent) -> None:
    done = agent.run(agent.command("run", "--once", count=1, asks_twice="host0"))
    assert done.returncode == 1
    reason = "driver own_drivers:Hosts: host0: it asked for a reshape twice: again"
    assert done.stderr.splitlines()[-1] == f"roost: {reason}"


def test_a_running_agent_goes_on_and_starts_again(agent: Agent, client: Client) -> None:
    """A node whose start has failed is started later, and may reshape then."""
    agent("run", "--once", count=2)
    held = hold(client, "host1", 2)
    # The directory of each card has to exist, which a test makes later.
    (agent.folder / "late_drivers.py").write_text(
        "from pathlib import Path\n"
        "from own_drivers import Hosts\n"
        "class Late(Hosts):\n"
        "    def update_provider_tree(self, tree, nodename, allocations=None):\n"
        "        if nodename == 'host1' and not Path('there').exists():\n"
        "            raise OSError('no card is there yet')\n"
        "        super().update_provider_tree(tree, nodename, allocations)\n"
    )
    words = command(
        *("agent", "run", "--driver", "late_drivers:Late", "-o", "count=2", "-o", "shape=cards"),
        *("--interval", "1", "--json"),
    )
    with subprocess.Popen(
        words, env=agent.environment, cwd=agent.folder, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        seen: list[dict[str, Any]] = []
        while not any(line["root"] == "host1" for line in seen):
            seen.append(json.loads(running.stdout.readline()))
        assert seen[-1]["result"] == "failed"
        assert "late_drivers:Late: host1: OSError: no card is there yet" in seen[-1]["error"]
        (agent.folder / "there").touch()
        while not any(line["root"] == "host1" and line["result"] == "updated" for line in seen):
            seen.append(json.loads(running.stdout.readline()))
        assert len(seen[-1]["moves"]) == 2
        # The other one was not delayed.
        first = next(line for line in seen if line["root"] == "host0")
        assert first["result"] == "updated"
        running.send_signal(signal.SIGTERM)
        running.stdout.read()
        assert running.wait(60) == 0
    [root] = client.providers({"name": "host1"})
    assert all(root.uuid not in client.consumer(each).allocations for each in held)


# ---------------------------------------------------------------------------------------------
# Reshapes


def test_a_reshape_touches_only_nodes_that_need_one(agent: Agent, client: Client) -> None:
    agent("run", "--once", count=2, shape="cards")
    agent("run", "--once", "--node", "host2")
    [host0] = client.providers({"name": "host0"})
    found = client.provider_traits(host0.uuid)
    client.set_provider_traits(host0.uuid, set(), found.generation)
    held = hold(client, "host2", 3)
    plan = agent("reshape", "--plan", count=4, shape="cards")
    shown = agent("reshape", count=4, shape="cards")
    rows = cells(shown)
    for name in ("host0", "host1", "host3"):
        assert rows[name][:2] == ["unchanged", "nothing to move"]
        assert f"{name}: nothing to move\n" in plan
    assert client.provider_traits(host0.uuid).traits == frozenset()
    # Nor is a new host created.
    assert client.providers({"name": "host3"}) == []
    # What else changes is said, too.
    assert rows["host2"][:2] == [
        "updated",
        "2 providers added, inventories of 1 changed, traits of 1 changed, 3 moves",
    ]
    assert rows["VGPU"] == ["host2", "host2_card1", "1", "1", "0"]
    assert "VGPU   host2  host2_card0      2       2        0" in shown
    # The plan has each consumer, the summary none.
    assert all(consumer in plan and consumer not in shown for consumer in held)
    again = cells(agent("reshape", shape="cards"))
    assert {again[f"host{number}"][1] for number in range(3)} == {"nothing to move"}


def test_a_plan_shows_nodes_in_their_order_and_those_that_fail(
    agent: Agent, client: Client
) -> None:
    done = agent.run(agent.command("run", "--dry-run", count=12, fails="host3"))
    assert done.returncode == 1
    tops = re.findall(r"^(?:\+ )?(host\d+)", done.stdout, re.MULTILINE)
    assert tops == [f"host{number}" for number in range(12)]
    assert "host3: failed: driver own_drivers:Hosts: host3: RuntimeError" in done.stdout
    assert client.providers() == []


# ---------------------------------------------------------------------------------------------
# Terminals and signals


def test_ctrl_c_ends_between_two_requests(agent: Agent, client: Client) -> None:
    words = agent.command("run", "--once", count=60, seconds=0.3)
    inside = ["sh", "-c", f'cd {agent.folder} && exec "$@"', "sh", *words]
    with Terminal(inside, environment=agent.environment) as terminal:
        terminal.wait_for("created provider", times=3)
        terminal.interrupt()
        assert terminal.wait() == 130
    # The terminal shows the key, too: on this line if no progress was shown yet.
    said = r"(?:\^C)?roost: interrupted: (\d+) of 60 nodes are done; run it again for the others"
    [done] = (found[1] for line in terminal.screen if (found := re.fullmatch(said, line.strip())))
    assert int(done) < 60
    assert terminal.shown.count("  updated  ") == int(done)
    assert all(len(line) <= COLUMNS for line in terminal.screen)
    # Those that are done are whole.
    providers = client.providers()
    whole = [each for each in providers if client.inventories(each.uuid).inventories]
    assert len(whole) >= int(done)


def test_sigterm_ends_a_run_with_a_code_of_its_own(agent: Agent) -> None:
    words = agent.command("run", "--once", count=60, seconds=0.3)
    with subprocess.Popen(
        words, env=agent.environment, cwd=agent.folder, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        while "created provider" not in running.stderr.readline():
            pass
        running.send_signal(signal.SIGTERM)
        assert "of 60 nodes are done" in running.stderr.read()
        assert running.wait(60) == 143


def test_output_fits_a_terminal_and_has_colors_there_alone(agent: Agent, client: Client) -> None:
    agent("run", "--once", count=1)
    hold(client, "host0", 2)
    words = agent.command("reshape", count=2, shape="cards", fails="host1")
    inside = ["sh", "-c", f'cd {agent.folder} && exec "$@"', "sh", *words]
    with Terminal([*inside, "--plan"], environment=agent.environment) as terminal:
        assert terminal.wait() == 1
    # Messages are not wrapped, so that they can be searched for.
    assert all(len(line) <= COLUMNS for line in terminal.screen if not line.startswith("roost:"))
    with Terminal(inside, environment=agent.environment) as terminal:
        assert terminal.wait() == 1
    # Messages are not wrapped, so that they can be searched for.
    assert all(len(line) <= COLUMNS for line in terminal.screen if not line.startswith("roost:"))
    assert b"\x1b[32mupdated" in terminal.written
    assert b"\x1b[31mfailed" in terminal.written
    assert "\x1b" not in agent("reshape", count=1, shape="cards")


# ---------------------------------------------------------------------------------------------
# Drivers


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("no_such_module:Hosts", "cannot be loaded: ModuleNotFoundError: No module named"),
        ("own_drivers:Nothing", "module 'own_drivers' has no attribute 'Nothing'"),
        ("own_drivers:Something", "is not a Driver"),
        ("own_drivers:Fails", "driver own_drivers:Fails: KeyError: 'count'"),
        ("own_drivers:Strange", "driver own_drivers:Strange: ZeroDivisionError: division by zero"),
        ("own_drivers:Abstract", "driver own_drivers:Abstract: TypeError: Can't instantiate"),
        ("broken_driver:Hosts", "cannot be loaded: SyntaxError: "),
        (":", "neither a name nor module:Class"),
        ("own_drivers:", "neither a name nor module:Class"),
    ],
)
def test_a_driver_that_cannot_be_loaded_is_one_line(agent: Agent, name: str, expected: str) -> None:
    (agent.folder / "broken_driver.py").write_text("class Hosts(:\n")
    # As an installed command, which does not have the current folder on its path.
    program = "import sys; sys.path.remove(''); from roost.cli.main import main; main()"
    done = agent.run([command()[0], "-c", program, "agent", "run", "--driver", name, "--once"])
    assert done.returncode == 2
    assert expected in done.stderr
    assert done.stderr.startswith("roost: ")
    assert done.stderr.count("\n") == 1


def test_a_traceback_is_for_those_who_debug(agent: Agent) -> None:
    done = agent.run(agent.command("run", "--once", "--debug", count=2, fails="host1"))
    assert done.returncode == 1
    assert 'own_drivers.py", line' in done.stderr
    assert done.stderr.splitlines()[-1] == "roost: 1 of 2 nodes failed: host1"
    done = agent.run(agent.command("run", "--once", "--debug", kind="Strange"))
    assert done.returncode == 2
    assert "ZeroDivisionError" in done.stderr
    assert 'own_drivers.py", line' in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--uuid", "nonsense", "--node", "host0"), "--uuid 'nonsense': expected a UUID"),
        (("--uuid", uid("host0")), "--uuid is for one root"),
        (("--node", "hots0"), "--node 'hots0': the driver describes 'host0', 'host1', 'host2'"),
        (("--node", ""), "--node '': the driver describes"),
        (("--timeout", "0"), "Invalid value for '--timeout'"),
        (("--timeout", "soon"), "Invalid value for '--timeout'"),
    ],
)
def test_wrong_usage(agent: Agent, words: tuple[str, ...], expected: str) -> None:
    done = agent.run(agent.command("run", "--once", *words))
    assert done.returncode == 2
    assert expected in done.stderr
