"""Updates of one host, at start and later, and a reshape during claims of other clients."""

import threading
import time

import pytest

from roost.agent.driver import Allocations, ReshapeNeeded
from roost.agent.provider_tree import ProviderTree
from roost.agent.report.tree_update import UpdateFailed
from roost.agent.tracker import ReshapeForbidden, Tracker
from roost.client import ApiError, Client
from tests.agent.hosts import Shape, ShapeDriver, claim, flat, graphics, inventory, uid
from tests.support.roost_server import RoostServer


def tracker_of(client: Client, shape: Shape) -> tuple[Tracker, ShapeDriver]:
    driver = ShapeDriver(shape)
    return Tracker(client, driver, "host"), driver


def test_only_an_update_at_startup_reshapes(client: Client) -> None:
    tracker, driver = tracker_of(client, flat)
    assert tracker.update(startup=True) is not None
    assert tracker.update(startup=False) is None
    [host] = client.providers()
    claim(client, "one", {host.uuid: {"VGPU": 2}})
    driver.shape = graphics
    # A running agent must not reshape.
    with pytest.raises(ReshapeForbidden, match="roost agent reshape"):
        tracker.update(startup=False)
    assert len(client.providers()) == 1
    assert tracker.update(startup=True) is not None
    assert client.usages(uid("host_gpu0")) == {"VGPU": 2}
    assert tracker.update(startup=False) is None


def test_a_host_that_others_rename_is_not_counted_twice(client: Client) -> None:
    tracker, _ = tracker_of(client, flat)
    tracker.update(startup=True)
    [host] = client.providers()
    client.update_provider(host.uuid, name="renamed")
    assert tracker.update(startup=False) is not None
    assert [(each.uuid, each.name) for each in client.providers()] == [(host.uuid, "host")]
    # Unless another has the name: then that is the host.
    client.update_provider(host.uuid, name="renamed")
    other = client.create_provider("host")
    tracker.update(startup=False)
    assert client.inventories(other.uuid).inventories["VCPU"].total == 16
    assert client.provider(host.uuid).name == "renamed"


def test_a_host_without_a_name_is_no_other(client: Client) -> None:
    tracker_of(client, flat)[0].update(startup=True)
    driver = ShapeDriver(graphics)
    for act in (Tracker.plan, Tracker.reshape, lambda tracker: tracker.update(startup=True)):
        with pytest.raises(UpdateFailed, match="it has no name"):
            act(Tracker(client, driver, ""))
    assert [each.name for each in client.providers()] == ["host"]


def test_a_new_host_without_resources_is_an_update(client: Client) -> None:
    tracker, _ = tracker_of(client, lambda tree, nodename, allocations: None)
    assert tracker.update(startup=True) is not None
    assert tracker.update(startup=True) is None


def test_a_plan_writes_nothing(client: Client) -> None:
    tracker, driver = tracker_of(client, flat)
    plan = tracker.plan()
    assert plan.held_before is None
    assert plan.after.data("host").inventory["VCPU"]["total"] == 16
    # The service does not have the host yet.
    assert not plan.before.exists("host")
    assert client.providers() == []
    tracker.update(startup=True)
    [host] = client.providers()
    claim(client, "one", {host.uuid: {"VGPU": 2}})
    driver.shape = graphics
    plan = tracker.plan()
    assert plan.held_before is not None
    held = plan.held_before[uid("one")]["allocations"]
    generation = client.provider(host.uuid).generation
    assert held == {host.uuid: {"resources": {"VGPU": 2}, "generation": generation}}
    assert plan.held_after is not None
    assert uid("host_gpu0") in plan.held_after[uid("one")]["allocations"]
    assert len(client.providers()) == 1


def test_a_failed_start_is_fatal(client: Client) -> None:
    def impossible(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
        tree.update_inventory(nodename, {"NO_SUCH_CLASS": inventory(1)})

    tracker, _ = tracker_of(client, impossible)
    with pytest.raises(UpdateFailed, match="NO_SUCH_CLASS"):
        tracker.update(startup=True)


def test_a_reshape_leaves_other_hosts_alone(client: Client) -> None:
    """`Tracker.reshape` writes only if something has to move, then everything."""

    def with_trait(shape: Shape) -> Shape:
        def edit(tree: ProviderTree, nodename: str, allocations: Allocations | None) -> None:
            shape(tree, nodename, allocations)
            tree.add_traits(nodename, "CUSTOM_NEW")

        return edit

    tracker, driver = tracker_of(client, flat)
    assert tracker.reshape() is None
    assert client.providers() == []
    tracker.update(startup=True)
    [host] = client.providers()
    claim(client, "one", {host.uuid: {"VGPU": 2}})
    driver.shape = with_trait(flat)
    assert tracker.reshape() is None
    assert "CUSTOM_NEW" not in client.provider_traits(host.uuid).traits
    driver.shape = with_trait(graphics)
    plan = tracker.reshape()
    assert plan is not None
    assert plan.held_before != plan.held_after
    assert client.usages(uid("host_gpu0")) == {"VGPU": 2}
    assert "CUSTOM_NEW" in client.provider_traits(host.uuid).traits
    assert tracker.reshape() is None


def test_a_driver_that_needs_a_reshape_finds_the_tree_as_it_left_it(client: Client) -> None:
    """Nova's libvirt driver looks for the traits of a child that it created before it raised."""

    def in_two_steps(tree: ProviderTree, nodename: str, allocations: Allocations | None) -> None:
        if allocations is None:
            tree.new_child("child", nodename)
            tree.add_traits("child", "HW_CPU_X86_AMD_SEV")
            raise ReshapeNeeded("to the child")
        assert tree.data("child").traits == {"HW_CPU_X86_AMD_SEV"}
        tree.update_inventory("child", {"MEM_ENCRYPTION_CONTEXT": inventory(4)})

    tracker, _ = tracker_of(client, in_two_steps)
    tracker.update(startup=True)
    [child] = client.providers({"name": "child"})
    assert client.inventories(child.uuid).inventories.keys() == {"MEM_ENCRYPTION_CONTEXT"}


def test_a_reshape_during_claims(client: Client, agent_server: RoostServer) -> None:
    """No claim is lost or doubled, and no search sees both the old and the new inventories."""
    tracker, driver = tracker_of(client, flat)
    tracker.update(startup=True)
    root = client.providers()[0].uuid
    stop = threading.Event()
    held: dict[str, int] = {}
    problems: list[str] = []

    def keep_claiming(number: int) -> None:
        with Client(agent_server.url) as own:
            count = 0
            while not stop.is_set():
                count += 1
                found = own.candidates({"resources": "VGPU:1", "limit": 20}).candidates
                if not found:
                    return
                name = f"claim {number} {count}"
                try:
                    claim(own, name, found[number % len(found)].allocations)
                    held[uid(name)] = 1
                except ApiError as error:
                    if error.status != 409:
                        problems.append(str(error))

    def keep_watching() -> None:
        with Client(agent_server.url) as own:
            while not stop.is_set():
                query = {"resources": "VCPU:1", "in_tree": root}
                summaries = own.candidates(query).summaries
                total = sum(each.capacity.get("VGPU", 0) for each in summaries.values())
                if summaries and total != 8:
                    problems.append(f"{total} VGPUs")

    threads = [threading.Thread(target=keep_claiming, args=[number]) for number in range(2)]
    threads.append(threading.Thread(target=keep_watching))
    for thread in threads:
        thread.start()
    driver.shape = graphics
    tracker.update(startup=True)
    time.sleep(0.3)
    stop.set()
    for thread in threads:
        thread.join(30)
    assert problems == []
    cards = [uid("host_gpu0"), uid("host_gpu1")]
    found = {
        consumer: resources["VGPU"]
        for card in cards
        for consumer, resources in client.provider_consumers(card).items()
    }
    assert found == held
    assert all(client.usages(card)["VGPU"] <= 4 for card in cards)
    assert "VGPU" not in client.inventories(root).inventories
