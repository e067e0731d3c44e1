"""Trees that change their shape, on a real service: nothing is in excess, nothing is lost."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from roost.agent.desired_tree import DesiredProvider, Ownership, apply
from roost.agent.driver import Allocations, ReshapeNeeded
from roost.agent.drivers import load_driver
from roost.agent.provider_tree import ProviderTree
from roost.agent.reshape import ReshapeImpossible, move_inventory
from roost.agent.tracker import Plan, ReshapeForbidden, Tracker
from roost.client import Client, Consumer, Inventory
from tests.agent import machines
from tests.agent.hosts import Shape, ShapeDriver, claim, flat, graphics, inventory, uid
from tests.agent.transports import counting_client_of
from tests.support.roost_server import RoostServer

EVERYTHING = Ownership(
    resource_class=lambda name: True, trait=lambda name: True, removes_unknown=True
)


def desired(**fields: Any) -> Shape:
    """A driver that wants this tree."""
    renamed = fields.pop("renamed_classes", {})

    def shape(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
        root = DesiredProvider(name=nodename, **fields)
        apply(tree, root, EVERYTHING, renamed_classes=renamed)

    return shape


def child(name: str, **totals: int) -> DesiredProvider:
    return DesiredProvider(
        name=name, inventories={each: Inventory(total=total) for each, total in totals.items()}
    )


def inventories(**totals: int) -> dict[str, Inventory]:
    return {name: Inventory(total=total) for name, total in totals.items()}


ROOT_8 = desired(inventories=inventories(VGPU=8))
ROOT_4_CHILD_4 = desired(inventories=inventories(VGPU=4), children=(child("gpu", VGPU=4),))
TWO_CARDS = desired(inventories={}, children=(child("gpu0", VGPU=4), child("gpu1", VGPU=4)))


def usages(client: Client) -> dict[str, Mapping[str, int]]:
    """What is in use, by the names of providers."""
    return {each.name: client.usages(each.uuid) for each in client.providers()}


def host_with_six(client: Client, shape: Shape) -> ShapeDriver:
    """A host whose root has eight VGPUs, of which six consumers hold one each."""
    Tracker(client, ShapeDriver(ROOT_8), "host").update(startup=True)
    [host] = client.providers()
    for number in range(6):
        claim(client, f"c{number}", {host.uuid: {"VGPU": 1}})
    return ShapeDriver(shape)


# -- in whole and in part


def test_a_class_that_leaves_in_part_is_a_reshape(client: Client) -> None:
    driver = host_with_six(client, ROOT_4_CHILD_4)
    with pytest.raises(ReshapeForbidden) as refusal:
        Tracker(client, driver, "host").update(startup=False)
    assert "VGPU moves from host (consumers hold 6) to gpu" in str(refusal.value)
    assert "2 consumers give up 2 VGPU of host for 2 VGPU of gpu" in str(refusal.value)
    assert usages(client) == {"host": {"VGPU": 6}}

    plan = Tracker(client, driver, "host").update(startup=True)
    assert plan is not None
    assert len(plan.settlement.guessed) == 2
    assert usages(client) == {"host": {"VGPU": 4}, "gpu": {"VGPU": 2}}


def test_a_shrink_below_what_is_held_is_refused_unless_it_is_allowed(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    driver = host_with_six(client, desired(inventories=inventories(VGPU=4)))
    for startup in (False, True):
        with pytest.raises(ReshapeImpossible, match="6 of 4 VGPU of host are in use"):
            Tracker(client, driver, "host").update(startup=startup)
    [host] = client.providers()
    assert client.inventories(host.uuid).inventories["VGPU"].total == 8
    plan = Tracker(client, driver, "host", allow_excess=True).update(startup=False)
    assert plan is not None
    assert [str(each) for each in plan.settlement.excess] == ["6 of 4 VGPU of host are in use"]
    assert "6 of 4 VGPU of host are in use" in caplog.text
    assert client.inventories(host.uuid).inventories["VGPU"].total == 4
    # It stays as it is, without being asked for again.
    assert Tracker(client, driver, "host").update(startup=False) is None


def test_what_nobody_holds_is_moved_at_any_time_and_at_once(
    client: Client, agent_server: RoostServer
) -> None:
    Tracker(client, ShapeDriver(ROOT_8), "host").update(startup=True)
    with counting_client_of(agent_server) as (counting, transport):
        Tracker(counting, ShapeDriver(TWO_CARDS), "host").update(startup=False)
    writes = [line for line in transport.sent if not line.startswith("GET")]
    assert writes == ["POST /resource_providers", "POST /resource_providers", "POST /reshaper"]
    assert usages(client) == {"host": {}, "gpu0": {"VGPU": 0}, "gpu1": {"VGPU": 0}}


def test_a_driver_that_asks_for_a_reshape_gets_one_at_any_time_if_nobody_holds_anything(
    client: Client,
) -> None:
    Tracker(client, ShapeDriver(flat), "host").update(startup=True)
    assert Tracker(client, ShapeDriver(graphics), "host").update(startup=False) is not None
    assert len(client.providers()) == 3


def test_a_claim_in_between_is_not_overlooked(client: Client, agent_server: RoostServer) -> None:
    """Nobody held anything when the change was planned, and somebody does when it is sent."""
    Tracker(client, ShapeDriver(ROOT_8), "host").update(startup=True)
    [host] = client.providers()
    claims = ["late"]

    class Claiming(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path == "/reshaper" and claims:
                claim(client, claims.pop(), {host.uuid: {"VGPU": 6}})
            return super().handle_request(request)

    with Client(agent_server.url, transport=Claiming()) as claiming:
        shrinking = ShapeDriver(desired(inventories=inventories(VGPU=4)))
        with pytest.raises(ReshapeImpossible, match="6 of 4 VGPU of host are in use"):
            Tracker(claiming, shrinking, "host").update(startup=False)
    assert client.inventories(host.uuid).inventories["VGPU"].total == 8


def test_two_numa_nodes_become_four(client: Client, tmp_path: Path) -> None:
    machine = machines.MachineFolder(tmp_path)
    machine.processors(16, machines.XEON_FLAGS)
    machine.memory(64 * 1024)
    machine.disk("nvme0n1", 1000)
    for node in range(2):
        machine.node(node, f"{node * 8}-{node * 8 + 7}", 32 * 1024)
    driver = load_driver("linux", {"root": str(tmp_path), "reserved_memory_mb": "0"})
    Tracker(client, driver, "host").update(startup=True)
    nodes = {each.name: each.uuid for each in client.providers()}
    for number in range(8):
        node = nodes[f"host_numa{number % 2}"]
        claim(client, f"c{number}", {node: {"VCPU": 2, "MEMORY_MB": 8 * 1024}})

    for node in range(4):
        machine.node(node, f"{node * 4}-{node * 4 + 3}", 16 * 1024)
    with pytest.raises(ReshapeForbidden, match="4 consumers give up"):
        Tracker(client, driver, "host").update(startup=False)
    Tracker(client, driver, "host").update(startup=True)
    assert {name: used.get("VCPU") for name, used in usages(client).items()} == {
        "host": None,
        **{f"host_numa{node}": 4 for node in range(4)},
    }
    for number in range(8):
        [held] = client.consumer(uid(f"c{number}")).allocations.values()
        assert held == {"VCPU": 2, "MEMORY_MB": 8 * 1024}


# -- allocations that are taken away


@pytest.mark.parametrize("way", ["empties", "deletes the entries", "removes the consumer"])
@pytest.mark.parametrize("shrinks", [False, True])
def test_a_reshape_that_only_takes_allocations_away(
    client: Client, way: str, shrinks: bool
) -> None:
    def taking(tree: ProviderTree, nodename: str, allocations: Allocations | None) -> None:
        if allocations is None:
            raise ReshapeNeeded("c0 is gone")
        if shrinks:
            tree.update_inventory(nodename, {"VGPU": inventory(5)})
        if way == "empties":
            allocations[uid("c0")]["allocations"] = {}
        elif way == "deletes the entries":
            for held in allocations[uid("c0")]["allocations"].values():
                held["resources"].clear()
        else:
            del allocations[uid("c0")]

    driver = host_with_six(client, taking)
    with pytest.raises(ReshapeForbidden, match="1 consumer gives up 1 VGPU of host"):
        Tracker(client, driver, "host").update(startup=False)
    assert Tracker(client, driver, "host").update(startup=True) is not None
    assert usages(client) == {"host": {"VGPU": 5}}
    assert not client.consumer(uid("c0")).allocations
    assert client.consumer(uid("c1")).allocations


# -- classes that get another name


def test_a_class_is_renamed_and_spreads_in_one_reshape(
    client: Client, agent_server: RoostServer
) -> None:
    Tracker(
        client, ShapeDriver(desired(inventories=inventories(CUSTOM_GPUZ=8, VCPU=4))), "host"
    ).update(startup=True)
    [host] = client.providers()
    for number in range(4):
        claim(client, f"c{number}", {host.uuid: {"CUSTOM_GPUZ": 2, "VCPU": 1}})
    shape = desired(
        inventories=inventories(VCPU=4),
        children=(child("gpu0", PGPU=4), child("gpu1", PGPU=4)),
        renamed_classes={"CUSTOM_GPUZ": "PGPU"},
    )
    with pytest.raises(ReshapeForbidden, match=r"CUSTOM_GPUZ of host .* becomes PGPU"):
        Tracker(client, ShapeDriver(shape), "host").update(startup=False)
    with counting_client_of(agent_server) as (counting, transport):
        Tracker(counting, ShapeDriver(shape), "host").update(startup=True)
    assert transport.sent.count("POST /reshaper") == 1
    assert usages(client) == {
        "host": {"VCPU": 4},
        "gpu0": {"PGPU": 4},
        "gpu1": {"PGPU": 4},
    }
    # The rename may stay in the description.
    assert Tracker(client, ShapeDriver(shape), "host").update(startup=False) is None


def test_a_new_class_is_created_before_it_gets_what_another_had(client: Client) -> None:
    Tracker(
        client, ShapeDriver(desired(inventories=inventories(CUSTOM_OLD_THING=8))), "host"
    ).update(startup=True)
    [host] = client.providers()
    claim(client, "one", {host.uuid: {"CUSTOM_OLD_THING": 2}})
    shape = desired(
        inventories=inventories(CUSTOM_NEWER_THING=8),
        renamed_classes={"CUSTOM_OLD_THING": "CUSTOM_NEWER_THING"},
    )
    Tracker(client, ShapeDriver(shape), "host").update(startup=True)
    assert usages(client) == {"host": {"CUSTOM_NEWER_THING": 2}}


def test_drivers_get_the_uuids_of_consumers_in_one_spelling(client: Client) -> None:
    Tracker(client, ShapeDriver(ROOT_8), "host").update(startup=True)
    [host] = client.providers()
    spelled = uid("consumer").upper()
    held = {host.uuid: {"VGPU": 2}}
    client.set_consumer(
        Consumer(uuid=spelled, allocations=held, project_id="p", user_id="u", consumer_type="I")
    )
    driver = ShapeDriver(TWO_CARDS)
    driver.where = lambda _, consumer: {"VGPU": "gpu1"} if consumer == uid("consumer") else {}  # type: ignore[method-assign]
    plan = Tracker(client, driver, "host").update(startup=True)
    assert plan is not None
    assert not plan.settlement.guessed
    assert usages(client)["gpu1"] == {"VGPU": 2}


def test_what_was_planned_is_what_is_done(client: Client) -> None:
    """New providers get other UUIDs each time, and that decides nothing."""

    def nodes(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
        tree.update_inventory(nodename, {})
        for name in (f"{nodename}_numa{number}" for number in range(4)):
            if not tree.exists(name):
                tree.new_child(name, nodename)
            tree.update_inventory(name, {"VCPU": inventory(4), "MEMORY_MB": inventory(1024)})

    Tracker(client, ShapeDriver(flat), "host").update(startup=True)
    [host] = client.providers()
    for number in range(6):
        claim(client, str(number), {host.uuid: {"VCPU": 1 + number % 3, "MEMORY_MB": 128}})

    def moves(plan: Plan | None) -> dict[str, set[str]]:
        assert plan is not None
        assert plan.held_after is not None
        return {
            consumer: {plan.after.data(uuid).name for uuid in record["allocations"]}
            for consumer, record in plan.held_after.items()
        }

    driver = ShapeDriver(nodes)
    planned = [moves(Tracker(client, driver, "host").plan()) for _ in range(5)]
    assert planned == planned[:1] * 5
    assert moves(Tracker(client, driver, "host").update(startup=True)) == planned[0]


def test_what_a_driver_moves_without_knowing_is_marked(client: Client) -> None:
    def shape(tree: ProviderTree, nodename: str, allocations: Allocations | None) -> None:
        cards = ["gpu0", "gpu1"]
        for name in cards:
            if not tree.exists(name):
                tree.new_child(name, nodename)
            tree.update_inventory(name, {"VGPU": {"total": 4}})
        move_inventory(tree, allocations, "VGPU", nodename, cards)

    driver = host_with_six(client, shape)
    plan = Tracker(client, driver, "host").update(startup=True)
    assert plan is not None
    assert plan.settlement.guessed == {(uid(f"c{number}"), "VGPU") for number in range(6)}
