"""`roost demo`, as a user runs it: it loads what is missing, and removes nothing of others."""

import json
import re
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from roost.cli.demo import data_centre, visitors, workload
from roost.cli.demo.data_centre import BY_NAME, BY_UUID, PROVIDERS, RACKS
from roost.cli.demo.printing import NO_PLACE
from roost.cli.demo.workload import CONSUMERS
from roost.cli.main import roost as program
from roost.client import Client, Consumer, Inventory
from roost.client.calls import Call
from tests.support.cli_runner import CommandLine
from tests.support.roost_server import RoostServer, command
from tests.support.terminal import Terminal
from tests.support.watchers import wait_until

RESHAPE_ALLOWED = '"placement:reshaper:reshape": "@"\n'
RESHAPE_FORBIDDEN = '"placement:reshaper:reshape": "!"\n'


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('database') / 'roost.db'}"


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policy") / "policy.yaml"
    path.write_text(RESHAPE_ALLOWED)
    return path


@pytest.fixture(scope="module")
def server(
    database: str, policy: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("demo")
    configuration = folder / "placement.conf"
    configuration.write_text(f"[oslo_policy]\npolicy_file = {policy}\n")
    with RoostServer(database, folder, config_file=configuration) as server:
        yield server


@pytest.fixture
def operator(policy: Path, server: RoostServer) -> Iterator[None]:
    """A user who may not reshape, as operators may not where the service uses Keystone."""
    put_in_force(server, policy, RESHAPE_FORBIDDEN, status=403)
    yield
    put_in_force(server, policy, RESHAPE_ALLOWED, status=400)


def put_in_force(server: RoostServer, policy: Path, rules: str, status: int) -> None:
    """Write these rules, and wait until a reshape of nothing is answered with this status."""
    policy.write_text(rules)

    def is_in_force() -> bool:
        answer = httpx.post(
            f"{server.url}/reshaper",
            json={},
            headers={"x-auth-token": "admin", "openstack-api-version": "placement 1.30"},
        )
        return answer.status_code == status

    wait_until(is_in_force)


@pytest.fixture(scope="module")
def client(server: RoostServer) -> Iterator[Client]:
    with Client(server.url) as client:
        yield client


@pytest.fixture(scope="module")
def roost(server: RoostServer) -> CommandLine:
    return CommandLine(server.url)


@pytest.fixture
def loaded(roost: CommandLine) -> None:
    roost("demo")


def position(client: Client) -> str:
    """Of the last event: it changes with every write."""
    return client.events().position


def providers_of(client: Client) -> dict[str, Any]:
    return {each.provider.name: each for each in client.bulk_providers()}


def used_by_description() -> Counter[tuple[str, str]]:
    used: Counter[tuple[str, str]] = Counter()
    for consumer in CONSUMERS:
        for provider, held in consumer.allocations.items():
            for resource_class, amount in held.items():
                used[BY_UUID[provider].name, resource_class] += amount
    return used


def interrupt(monkeypatch: pytest.MonkeyPatch, request: str, times: int) -> None:
    """Ctrl-C while the command waits for the answer to such a request, the nth of its kind."""
    send, sent = Client.send, Counter[str]()

    def interrupted(self: Client, call: Call[Any]) -> Any:
        answer = send(self, call)
        if re.match(request, f"{call.method} {call.path}"):
            sent.update([request])
            if sent[request] == times:
                raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(Client, "send", interrupted)


# ---------------------------------------------------------------------------------------------
# Loading and removing


def test_an_interrupted_load_is_completed(
    roost: CommandLine, client: Client, operator: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each run goes on where the one before was stopped.
    for request, times in (
        ("POST /resource_providers", 20),
        ("PUT /traits", 3),
        ("PUT .*/traits", 60),
        ("PUT .*/inventories", 70),
        ("POST /allocations", 1),
    ):
        with monkeypatch.context() as patch:
            interrupt(patch, request, times)
            # After lines on its progress, if the machine is slow.
            said = roost("demo", status=130).splitlines()[-1]
            assert said.startswith("roost: interrupted: `roost demo` completes the demo")
    assert roost("demo").startswith("Completed the demo: put right 1 provider.\n")
    found = providers_of(client)
    assert {name: each.provider.uuid for name, each in found.items()} == {
        name: each.uuid for name, each in BY_NAME.items()
    }
    for name, each in found.items():
        assert each.inventories == BY_NAME[name].inventories
        assert each.traits == BY_NAME[name].traits
        assert each.aggregates == BY_NAME[name].aggregates
        assert each.provider.parent_uuid == BY_NAME[name].parent_uuid
    used = {(name, each): n for name in found for each, n in found[name].usages.items() if n}
    assert used == used_by_description()
    assert len(list(client.consumers())) == len(CONSUMERS)


def test_loading_twice_changes_nothing(
    roost: CommandLine, client: Client, server: RoostServer, loaded: None
) -> None:
    before = position(client)
    assert roost("demo").startswith("The demo is already there: 140 providers and 328 consumers.\n")
    found = roost.json("demo")
    assert position(client) == before
    assert set(found["written"].values()) == {0}
    assert (found["providers"], found["consumers"]) == (len(PROVIDERS), len(CONSUMERS))
    assert sum(each["providers"] for each in found["racks"]) == len(PROVIDERS)
    assert [each["aggregate"] for each in found["racks"]] == [each.aggregate for each in RACKS]
    session = httpx.get(f"{server.url}/console/session", headers={"x-auth-token": "admin"})
    has_console = session.status_code == 200
    assert found["console"] == (f"{server.url}/console/cloud" if has_console else None)


def test_what_somebody_has_changed_is_put_right(
    roost: CommandLine, client: Client, loaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = CONSUMERS[0]
    roost("allocation", "delete", gone.uuid)
    roost("inventory", "set", "r4-compute-08", "VCPU=9")
    roost("trait", "unset", "r4-compute-08", "COMPUTE_NODE")
    roost("provider", "set", "r2-numa-01-numa0-ens0f0", "--name", "other", "--root")
    with monkeypatch.context() as patch:
        interrupt(patch, "POST /reshaper", 1)
        roost("demo", status=130)
    assert roost("demo").startswith("Completed the demo: placed 1 consumer.\n")
    assert client.consumer(gone.uuid).allocations == gone.allocations
    assert client.inventory(BY_NAME["r4-compute-08"].uuid, "VCPU").total == 64
    port = client.provider(BY_NAME["r2-numa-01-numa0-ens0f0"].uuid)
    assert port.root_uuid == BY_NAME["r2-numa-01"].uuid


# ---------------------------------------------------------------------------------------------
# What it shows


def test_nothing_is_wrong_but_what_is_meant_to_be(database: str, loaded: None) -> None:
    done = CliRunner().invoke(program, ["db", "check", "--database", database, "--json"])
    [finding] = json.loads(done.stdout)["findings"]
    assert finding["kind"] == "over_capacity"
    assert finding["subject"] == BY_NAME[data_centre.OVERUSED_HOST].uuid


def test_it_has_what_a_newcomer_wants_to_see(client: Client, loaded: None) -> None:
    by_rack = client.summary(by=["aggregates"]).aggregates
    full, _, _, empty = (by_rack[rack.aggregate].resources["MEMORY_MB"] for rack in RACKS)
    assert full.used > 0.9 * full.capacity
    assert empty.used < 0.1 * empty.capacity
    found = providers_of(client)
    overused = found[data_centre.OVERUSED_HOST]
    assert overused.usages["MEMORY_MB"] > overused.inventories["MEMORY_MB"].capacity
    assert {each.consumer.consumer_type for each in client.consumers()} == {
        *("INSTANCE", "MIGRATION", "RESERVATION", "VOLUME")
    }


def test_the_request_that_it_shows_has_no_place(client: Client, loaded: None) -> None:
    query = "&".join(word for words in NO_PLACE for word in words)
    explained = client.explain(query)
    assert explained.verdict == "not now"
    assert explained.relaxations
    # The same with another kind of GPU fits on two hosts.
    other = query.replace("H100", "A100").replace("PCPU", "VCPU")
    assert client.explain(other).verdict == "fits"
    roots = {
        found.root_uuid
        for each in client.candidates(other).candidates
        for found in map(client.provider, each.allocations)
    }
    assert {BY_UUID[root].name for root in roots} == {"r3-gpu-03", "r3-gpu-04"}


def test_its_commands_find_the_same_service(
    roost: CommandLine, server: RoostServer, loaded: None
) -> None:
    assert "  roost tree r2-nfv-01\n" in roost("demo")
    assert f"  roost tree r2-nfv-01 --url {server.url}\n" in roost("demo", "--url", server.url)


# ---------------------------------------------------------------------------------------------
# Visitors


def test_visitors_come_until_ctrl_c(
    roost: CommandLine, client: Client, server: RoostServer, loaded: None
) -> None:
    before = client.events().position
    environment = {"ROOST_URL": server.url, "ROOST_TOKEN": "admin"}
    with Terminal(command("demo", "--live"), environment=environment) as terminal:
        terminal.wait_for("claims come and go until Ctrl-C")
        while not (found := client.events(before, wait=5, kinds=["allocations"])).events:
            before = found.position
        terminal.interrupt()
        assert terminal.wait() == 0
    assert list(client.consumers(project_id=workload.VISITOR.project)) == []
    assert roost("demo").startswith("The demo is already there")


def test_a_visitor_that_another_one_has_brought_is_skipped(client: Client, loaded: None) -> None:
    """As when two of them run."""
    visitor = workload.VISITORS[0]
    try:
        while not visitors._claim(client, visitor):
            pass  # a host may be full
        assert not visitors._claim(client, visitor)
    finally:
        visitors._release(client, visitor)


# ---------------------------------------------------------------------------------------------
# Others


@pytest.fixture
def stranger(client: Client) -> Iterator[Callable[[str], str]]:
    """Somebody else's consumer on a host of the demo, until the test ends."""
    made = []

    def claim(host: str) -> str:
        consumer = Consumer(
            uuid=str(uuid.uuid4()),
            allocations={BY_NAME[host].uuid: {"VCPU": 1}},
            project_id=workload.PROJECTS[0],
            user_id="somebody",
            consumer_type="INSTANCE",
        )
        client.set_consumer(consumer)
        made.append(consumer.uuid)
        return consumer.uuid

    yield claim
    for each in made:
        client.delete_consumer(each)


def test_what_others_hold_is_not_removed(
    roost: CommandLine, client: Client, loaded: None, stranger: Callable[[str], str]
) -> None:
    uuids = [stranger("r4-compute-08")]
    before = position(client)
    assert roost.refused("demo", "--remove", status=1) == (
        "a consumer that is not of the demo holds something of its providers: give it back with "
        f"`roost allocation delete {uuids[0]}`; nothing was removed"
    )
    assert position(client) == before
    uuids += [stranger("r4-compute-07") for _ in range(3)]
    refused = roost.refused("demo", "--remove", status=1)
    assert refused.startswith("4 consumers that are not of the demo hold something")
    assert f"{uuids[2]} ...`" in refused
    # It is no obstacle to loading.
    assert "already there" in roost("demo")


def test_providers_of_others_are_not_removed(
    roost: CommandLine, client: Client, loaded: None
) -> None:
    below = client.create_provider("mine", parent_uuid=BY_NAME["r4-compute-08"].uuid)
    before = position(client)
    refused = roost.refused("demo", "--remove", status=1)
    assert refused.startswith(
        f"the provider mine ({below.uuid}) is below r4-compute-08, and is not"
    )
    assert position(client) == before
    client.delete_provider(below.uuid)


def test_an_interrupted_removal_is_completed(
    roost: CommandLine, client: Client, loaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what others use of the names of the demo is left to them."""
    mine = client.create_provider("mine")
    has = client.set_provider_traits(mine.uuid, ["CUSTOM_A100"], mine.generation)
    inventories = {"CUSTOM_BAREMETAL_GOLD": Inventory(total=1)}
    client.set_inventories(mine.uuid, inventories, has.generation)
    for request, times in (
        ("POST /allocations", 1),
        ("DELETE /resource_providers", 60),
        ("DELETE /traits", 3),
    ):
        with monkeypatch.context() as patch:
            interrupt(patch, request, times)
            roost("demo", "--remove", status=130)
    removed = roost.json("demo", "--remove")["removed"]
    # The last provider goes after all names.
    assert (removed["consumers"], removed["providers"]) == (0, 1)
    assert [*providers_of(client)] == ["mine"]
    assert list(client.consumers()) == []
    names = client.traits() | client.resource_classes()
    custom = {each for each in names if each.startswith("CUSTOM_")}
    assert custom == {"CUSTOM_A100", "CUSTOM_BAREMETAL_GOLD"}
    # Names of somebody who has not loaded the demo are not touched, even if nothing has them.
    client.delete_provider(mine.uuid)
    before = position(client)
    assert roost("demo", "--remove") == "There is nothing to remove.\n"
    assert position(client) == before


def test_a_name_that_is_taken_is_refused(roost: CommandLine, client: Client) -> None:
    roost("demo", "--remove")
    taken = client.create_provider("r3-gpu-01")
    assert roost.refused("demo", status=1) == (
        f"a provider r3-gpu-01 exists already ({taken.uuid}), and is not of the demo; nothing was "
        "loaded"
    )
    assert [*providers_of(client)] == ["r3-gpu-01"]
    client.delete_provider(taken.uuid)


def test_other_services_are_refused() -> None:
    class Placement(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"versions": [{"id": "v1.0", "max_version": "1.39"}]}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Placement) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        try:
            roost = CommandLine(f"http://127.0.0.1:{other.server_port}")
            refused = roost.refused("demo", status=1)
        finally:
            other.shutdown()
            thread.join()
    assert refused.startswith("the service does not have the extension `include`")
    assert "exclude each other" in roost.refused("demo", "--remove", "--live")
