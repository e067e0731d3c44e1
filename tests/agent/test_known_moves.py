"""Reshapes in which the driver knows where consumers are, and classes and hosts get other names."""

import textwrap

import pytest

from roost.agent.driver import DriverError
from roost.agent.drivers import load_driver
from roost.agent.tracker import Tracker
from roost.model import Inventory
from tests.agent import machines
from tests.agent.hosts import claim
from tests.support.names import uid

ROOT = "3f5e0d4c-1c58-4b43-9f66-4f6f4c3dbd5e"


def tracker(client, name, options):
    driver = load_driver(name, {key: str(value) for key, value in options.items()})
    [node] = driver.nodenames()
    return Tracker(client, driver, node, uuid=driver.root_uuid(node))


def update(client, name, options):
    return tracker(client, name, options).update(startup=True)


def uuids(client):
    return {each.name: each.uuid for each in client.providers()}


def held(client, consumer):
    """Provider name -> class -> amount."""
    names = {each.uuid: each.name for each in client.providers()}
    return {names[uuid]: found for uuid, found in client.consumer(consumer).allocations.items()}


# -- the linux driver


def two_nodes(path):
    machine = machines.MachineFolder(path)
    machine.processors(16, machines.XEON_FLAGS)
    machine.memory(64 * 1024)
    machine.node(0, "0-3,8-11", 32 * 1024)
    machine.node(1, "4-7,12-15", 32 * 1024)
    return machine


def four_nodes(machine):
    """The same processors, after the firmware was told to divide each socket in two."""
    for number, cpus in enumerate(("0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15")):
        machine.node(number, cpus, 16 * 1024)


@pytest.mark.parametrize("version", [1, 2])
def test_two_numa_nodes_become_four_and_the_cgroups_say_where_everybody_is(
    client, tmp_path, version
):
    machine = two_nodes(tmp_path)
    options = {"root": machine.path, "name": "host", "reserved_memory_mb": 0}
    assert update(client, "linux", options)
    nodes = [uuids(client)[f"host_numa{number}"] for number in (0, 1)]
    resources = {"VCPU": 4, "MEMORY_MB": 16000}
    for number in range(4):
        claim(client, f"consumer-{number}", {nodes[number // 2]: resources})

    # The second node was processors 4-7, and is 2-3 now: two of them have to change places.
    groups = machines.Cgroups(machine, version, "0-15", "0-3")
    for number, (cpus, node) in enumerate([("2-3,10-11", "1"), ("0-1,8-9", "0"), ("6-7", "3")]):
        groups.domain(number, uid(f"consumer-{number}"), [cpus] * 4, node, emulator="0-15")
    four_nodes(machine)
    plan = update(client, "linux", options)
    assert plan.settlement.guessed == {
        (uid("consumer-3"), "VCPU"),
        (uid("consumer-3"), "MEMORY_MB"),
    }
    assert plan.settlement.torn == ()
    found = [held(client, uid(f"consumer-{number}")) for number in range(4)]
    assert found == [{f"host_numa{number}": resources} for number in (1, 0, 3, 2)]
    assert not update(client, "linux", options)


def test_of_the_processors_those_that_cgroups_call_dedicated_are_renamed(client, tmp_path):
    machine = two_nodes(tmp_path)
    options = {"root": machine.path, "name": "host", "vcpu_ratio": 2.0}
    assert update(client, "linux", options)
    nodes = [uuids(client)[f"host_numa{number}"] for number in (0, 1)]
    for number in range(4):
        claim(client, f"consumer-{number}", {nodes[number // 2]: {"VCPU": 2}})
    groups = machines.Cgroups(machine, 2, "0-15", "0-1")
    groups.domain(1, uid("consumer-0"), ["0", "1"], "0-1", emulator="2-3")
    groups.domain(2, uid("consumer-1"), ["2-3,8-11"] * 2, "0-1", emulator="2-3")
    groups.domain(3, uid("consumer-2"), ["4", "5"], "0-1", emulator="2-3")
    groups.domain(4, uid("consumer-3"), ["7,12-15", "6"], "0-1", emulator="2-3")
    options |= {"cpu_dedicated_set": "0-1,4-6", "renamed_classes": "VCPU:PCPU"}
    plan = update(client, "linux", options)
    assert plan.settlement.guessed == frozenset()
    assert [held(client, uid(f"consumer-{number}")) for number in range(4)] == [
        {"host_numa0": {"PCPU": 2}},
        {"host_numa0": {"VCPU": 2}},
        {"host_numa1": {"PCPU": 2}},
        {"host_numa1": {"VCPU": 1, "PCPU": 1}},
    ]
    # The option may stay.
    assert not update(client, "linux", options)


def test_a_class_that_an_operator_added_becomes_one_of_the_driver(client, tmp_path):
    machine = two_nodes(tmp_path)
    machine.gpu("0000:5e:00.0", 0)
    machine.gpu("0000:d8:00.0", 1)
    root = client.create_provider("host").uuid
    client.create_resource_class("CUSTOM_GPUZ")
    client.set_inventories(root, {"CUSTOM_GPUZ": Inventory(total=2)}, 0)
    consumers = [claim(client, name, {root: {"CUSTOM_GPUZ": 1}}) for name in ("one", "two")]
    options = {"root": machine.path, "name": "host", "renamed_classes": "CUSTOM_GPUZ:PGPU"}
    assert update(client, "linux", options)
    cards = [held(client, consumer) for consumer in consumers]
    assert sorted(cards, key=str) == [
        {"host_0000:5e:00.0": {"PGPU": 1}},
        {"host_0000:d8:00.0": {"PGPU": 1}},
    ]
    assert client.inventories(root).inventories == {}
    assert not update(client, "linux", options)


def test_a_host_that_is_renamed_is_known_by_the_id_of_its_machine(client, tmp_path):
    machine = two_nodes(tmp_path)
    machine.write("/etc/machine-id", "b08dfa6083e7567a1921a715000001fb")
    options = {"root": machine.path, "uuid": "machine-id", "name": "old"}
    assert update(client, "linux", options)
    before = uuids(client)
    consumer = claim(client, "consumer", {before["old_numa1"]: {"VCPU": 2}})
    assert update(client, "linux", options | {"name": "new"})
    assert uuids(client) == {name.replace("old", "new"): uuid for name, uuid in before.items()}
    assert held(client, consumer) == {"new_numa1": {"VCPU": 2}}
    assert not update(client, "linux", options | {"name": "new"})


# -- the file driver


@pytest.fixture
def described(client, tmp_path):
    """Write a description, and update the service from it."""
    path = tmp_path / "pool.yaml"

    def update_from(text):
        path.write_text(textwrap.dedent(text))
        return update(client, "file", {"path": path})

    return update_from


FLAT = f"""\
providers:
  - name: pool
    uuid: {ROOT}
    inventories: {{CUSTOM_GPUZ: {{total: 8}}}}
"""
CARDS = f"""\
providers:
  - name: pool
    uuid: {ROOT}
    children:
      - {{name: card-1, inventories: {{PGPU: {{total: 4}}}}}}
      - {{name: card-2, inventories: {{PGPU: {{total: 4}}}}}}
    renamed_classes: {{CUSTOM_GPUZ: PGPU}}
    where:
      {uid("a")}: {{PGPU: card-2}}
      {uid("b")}: {{PGPU: {{card-1: 1, card-2: 1}}}}
      {uid("gone")}: {{PGPU: card-2}}
"""


def test_a_file_renames_a_class_moves_it_and_says_where_it_is(client, described):
    described(FLAT)
    for name, amount in (("a", 3), ("b", 2), ("c", 3)):
        claim(client, name, {ROOT: {"CUSTOM_GPUZ": amount}})
    plan = described(CARDS)
    assert {name: held(client, uid(name)) for name in "abc"} == {
        "a": {"card-2": {"PGPU": 3}},
        "b": {"card-1": {"PGPU": 1}, "card-2": {"PGPU": 1}},
        "c": {"card-1": {"PGPU": 3}},
    }
    assert plan.settlement.guessed == {(uid("c"), "PGPU")}
    assert not described(CARDS)


def test_what_the_file_says_is_not_overruled(client, described):
    described(FLAT)
    claim(client, "a", {ROOT: {"CUSTOM_GPUZ": 5}})
    with pytest.raises(DriverError, match=uid("a")):
        described(CARDS)
    assert held(client, uid("a")) == {"pool": {"CUSTOM_GPUZ": 5}}


def test_a_root_of_a_file_is_renamed(client, described):
    described(CARDS)
    before = uuids(client)
    consumer = claim(client, "c", {before["card-1"]: {"PGPU": 2}})
    assert described(CARDS.replace("name: pool", "name: lake"))
    assert uuids(client) == {name.replace("pool", "lake"): uuid for name, uuid in before.items()}
    assert held(client, consumer) == {"card-1": {"PGPU": 2}}


def test_children_exchange_their_names(client, described):
    first, second = uid("card-1"), uid("card-2")
    cards = CARDS.replace("name: card-1", f"name: card-1, uuid: {first}")
    cards = cards.replace("name: card-2", f"name: card-2, uuid: {second}")
    described(cards)
    consumer = claim(client, "c", {first: {"PGPU": 3}})
    exchanged = cards.replace(first, "X").replace(second, first).replace("X", second)
    assert described(exchanged)
    found = uuids(client)
    assert (found["card-1"], found["card-2"]) == (second, first)
    assert held(client, consumer) == {"card-2": {"PGPU": 3}}
