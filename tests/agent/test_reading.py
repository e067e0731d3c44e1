"""Reading a tree: how many requests that takes, and that both ways of reading see the same."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.agent.driver import DriverError
from roost.agent.provider_tree import ProviderTree
from roost.agent.report.report_client import ReportClient
from roost.agent.report.tree_update import UpdateFailed
from roost.agent.tracker import Tracker
from roost.client import Client, Inventory
from roost.model import SHARING_TRAIT
from tests.agent.hosts import (
    Shape,
    ShapeDriver,
    claim,
    inventory,
    uid,
)
from tests.agent.transports import CountingTransport, WithoutExtensions, counting_client_of
from tests.property.reference import Reference
from tests.support.long_form import choose
from tests.support.roost_server import RoostServer

PROVIDERS = choose(short=100, long=300)  # of a large host


def create_sharing(client: Client, name: str = "storage", aggregate: str = "aggregate") -> str:
    """A provider that shares its disk through an aggregate; its UUID."""
    created = client.create_provider(name, uuid=uid(name))
    client.set_inventories(created.uuid, {"DISK_GB": Inventory(total=100)}, created.generation)
    generation = client.provider(created.uuid).generation
    generation = client.set_provider_traits(created.uuid, {SHARING_TRAIT}, generation).generation
    client.set_provider_aggregates(created.uuid, {uid(aggregate)}, generation)
    return created.uuid


def cards(count: int) -> Shape:
    """A host in an aggregate, with so many cards as children."""

    def shape(tree: ProviderTree, nodename: str, _: dict[str, Any] | None) -> None:
        tree.update_aggregates(nodename, {uid("aggregate")})
        for number in range(count):
            name = f"{nodename}_card{number}"
            if not tree.exists(name):
                tree.new_child(name, nodename)
            tree.update_inventory(name, {"VGPU": inventory(4)})
            tree.update_traits(name, {"CUSTOM_CARD"})

    return shape


Counted = tuple[Client, CountingTransport]


@pytest.fixture
def counted(client: Client, agent_server: RoostServer) -> Iterator[Counted]:
    """A client that counts its requests, of a service that holds nothing."""
    with counting_client_of(agent_server) as found:
        yield found


# ---------------------------------------------------------------------------------------------
# Requests


def test_an_update_that_changes_nothing_costs_two_requests(
    client: Client, counted: Counted
) -> None:
    """One for the tree, one for the providers that share with it, however large the tree is."""
    own, transport = counted
    create_sharing(client)
    tracker = Tracker(own, ShapeDriver(cards(PROVIDERS - 1)), "host")
    assert tracker.update(startup=True) is not None
    # Its name; itself; its children with their traits and inventories; its aggregate; a trait.
    reads, writes = transport.count("GET"), len(transport.sent) - transport.count("GET")
    assert (reads, writes) == (1, 1 + 3 * (PROVIDERS - 1) + 1 + 1)
    for _ in range(2):
        transport.sent.clear()
        assert tracker.update(startup=False) is None
        assert transport.sent == ["GET /resource_providers"] * 2
    # Another host of the same process asks nothing about the service.
    transport.sent.clear()
    Tracker(own, ShapeDriver(lambda tree, name, _: None), "other").update(startup=True)
    assert transport.sent == ["GET /resource_providers", "POST /resource_providers"]


def test_a_tree_without_aggregates_is_one_request(client: Client, counted: Counted) -> None:
    own, transport = counted
    create_sharing(client)
    client.create_provider("host")
    report = ReportClient(own)
    report.get_provider_tree("host")
    transport.sent.clear()
    tree = report.get_provider_tree("host")
    assert transport.sent == ["GET /resource_providers"]
    assert not tree.exists("storage")


def test_consumers_are_read_in_pages(client: Client, counted: Counted) -> None:
    own, transport = counted
    create_sharing(client)
    Tracker(client, ShapeDriver(cards(60)), "host").update(startup=True)
    report = ReportClient(own)
    tree = report.get_provider_tree("host")
    children = tree.get_provider_uuids("host")[1:]
    for number in range(40):
        claim(client, f"consumer {number}", {children[number]: {"VGPU": 1}})
    shared = claim(client, "shared", {uid("storage"): {"DISK_GB": 1}})
    report.get_provider_tree("host")
    transport.sent.clear()
    assert len(report.get_allocations_for_provider_tree()) == 41
    # Those of the tree, and those of the sharing provider.
    assert transport.sent == ["GET /allocations"] * 2
    # After a lost race: what has changed, by one claim and one release.
    claim(client, "late", {children[50]: {"VGPU": 2}})
    client.delete_consumer(uid("consumer 3"))
    transport.sent.clear()
    report.get_provider_tree("host")
    found = report.get_allocations_for_provider_tree()
    assert transport.sent == ["GET /resource_providers"] * 2 + ["GET /allocations"]
    expected = {uid(f"consumer {number}") for number in range(40) if number != 3}
    assert set(found) == expected | {uid("late"), shared}


# ---------------------------------------------------------------------------------------------
# Both ways


def described(tree: ProviderTree) -> dict[str, Any]:
    """All that a tree says of its providers."""
    return {uuid: tree.data(uuid) for uuid in tree.get_provider_uuids()}


def furnish(client: Client) -> None:
    """A host with everything: children, traits, aggregates, shared storage, and consumers."""
    far = client.create_provider("far", uuid=uid("far"))
    client.set_inventories(far.uuid, {"VCPU": Inventory(total=8)}, far.generation)
    create_sharing(client)
    create_sharing(client, "other storage", "another")
    create_sharing(client, "strange storage", "unrelated")
    report = ReportClient(client)
    tree = report.get_provider_tree_and_ensure_root("host", uid("host"))
    tree.update_inventory("host", {"MEMORY_MB": inventory(4096, reserved=512, step_size=16)})
    tree.update_aggregates("host", {uid("aggregate")})
    for number in range(2):
        name = f"numa{number}"
        tree.new_child(name, "host", uuid=uid(name))
        tree.update_inventory(name, {"VCPU": inventory(8, allocation_ratio=4.0)})
        tree.update_traits(name, {"HW_NUMA_ROOT"})
        tree.new_child(f"card{number}", name, uuid=uid(f"card{number}"))
    tree.update_aggregates("numa1", {uid("another")})
    report.update_from_provider_tree(tree)
    claim(client, "both", {uid("numa0"): {"VCPU": 1}, uid("storage"): {"DISK_GB": 3}})
    claim(client, "shared", {uid("storage"): {"DISK_GB": 4}, uid("other storage"): {"DISK_GB": 1}})
    claim(client, "evacuated", {uid("numa1"): {"VCPU": 2}, uid("far"): {"VCPU": 2}})
    claim(client, "elsewhere", {uid("far"): {"VCPU": 1}, uid("storage"): {"DISK_GB": 1}})
    claim(client, "strange", {uid("strange storage"): {"DISK_GB": 1}})


def read_everything(client: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    report = ReportClient(client)
    tree = report.get_provider_tree("host")
    return described(tree), report.get_allocations_for_provider_tree()


def check_furnished(tree: dict[str, Any], held: dict[str, Any]) -> None:
    sharing = {uid("storage"), uid("other storage")}
    own = {uid(name) for name in ("host", "numa0", "numa1", "card0", "card1")}
    assert set(tree) == own | sharing
    assert {uuid for uuid, data in tree.items() if data.parent_uuid is None} == {
        uid("host"),
        *sharing,
    }
    assert tree[uid("numa1")].used == {"VCPU": 2}
    assert tree[uid("storage")].used == {"DISK_GB": 8}
    assert tree[uid("storage")].traits == {SHARING_TRAIT}
    assert set(held) == {uid("both"), uid("shared"), uid("evacuated")}
    for record in held.values():
        assert all(isinstance(each["generation"], int) for each in record["allocations"].values())


def test_both_ways_of_reading_see_the_same(client: Client, agent_server: RoostServer) -> None:
    furnish(client)
    with Client(agent_server.url, transport=WithoutExtensions()) as plain:
        expected = read_everything(plain)
    found = read_everything(client)
    assert found == expected
    check_furnished(*found)


def test_a_tree_of_placement_is_read(client: Client, tmp_path: Path) -> None:
    """OpenStack Placement has no request for a whole tree. What is read is the same."""
    furnish(client)
    with Reference(tmp_path) as reference, Client(str(reference.client.base_url)) as placement:
        assert placement.known_extensions == frozenset()
        furnish(placement)
        found, expected = read_everything(placement), read_everything(client)
        check_furnished(*found)
        assert found == expected
        # Only what has changed is read again here, too.
        report = ReportClient(placement)
        report.get_provider_tree("host")
        report.get_allocations_for_provider_tree()
        placement.delete_consumer(uid("both"))
        claim(placement, "late", {uid("numa0"): {"VCPU": 1}})
        report.get_provider_tree("host")
        held = report.get_allocations_for_provider_tree()
        assert set(held) == {uid("late"), uid("shared"), uid("evacuated")}


# ---------------------------------------------------------------------------------------------
# Roots, and those of others


def test_a_root_that_is_gone_is_looked_for_by_its_name(client: Client) -> None:
    report = ReportClient(client)
    first = report.get_provider_tree_and_ensure_root("host").data("host").uuid
    assert report.get_provider_tree("host").data("host").uuid == first
    client.delete_provider(first)
    second = client.create_provider("host").uuid
    assert report.get_provider_tree("host").data("host").uuid == second
    # Somebody has given the name to another provider.
    client.update_provider(second, name="old")
    third = client.create_provider("host").uuid
    assert report.get_provider_tree("host").data("host").uuid == third
    client.delete_provider(third)
    assert report.get_provider_tree("host").data("host").generation is None
    assert report.get_allocations_for_provider_tree() == {}


def test_a_name_that_is_taken_within_the_tree_is_an_error(client: Client) -> None:
    host = client.create_provider("host")
    client.create_provider("other", parent_uuid=host.uuid)
    with pytest.raises(UpdateFailed, match="cannot become other: the name is taken"):
        ReportClient(client).get_provider_tree("other", host.uuid)
    with pytest.raises(UpdateFailed, match="has this name"):
        ReportClient(client).get_provider_tree("other", str(uuid.uuid4()))


CHANGES = {
    "inventory": lambda tree: tree.update_inventory("storage", {"DISK_GB": inventory(5)}),
    "traits": lambda tree: tree.add_traits("storage", "STORAGE_DISK_SSD"),
    "aggregates": lambda tree: tree.update_aggregates("storage", set()),
    "name": lambda tree: tree.rename("storage", "pool"),
    "parent": lambda tree: tree.reparent("storage", "host"),
    "child": lambda tree: tree.new_child("shelf", "storage"),
    "removal": lambda tree: tree.remove("storage"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_others_share_cannot_be_changed(client: Client, change: Any) -> None:
    create_sharing(client)

    def join(tree: ProviderTree, nodename: str, _: dict[str, Any] | None) -> None:
        tree.update_aggregates(nodename, {uid("aggregate")})

    driver = ShapeDriver(join)
    tracker = Tracker(client, driver, "host")
    tracker.update(startup=True)
    driver.shape = lambda tree, nodename, _: change(tree)
    before = client.providers()
    for act in (tracker.plan, lambda: tracker.update(startup=True)):
        with pytest.raises(DriverError, match="changes storage, which shares resources"):
            act()
    assert client.providers() == before


def test_a_driver_may_change_what_it_shares_itself(client: Client) -> None:
    create_sharing(client)

    class Owner(ShapeDriver):
        def nodenames(self) -> list[str]:
            return ["host", "storage"]

    def grow(tree: ProviderTree, nodename: str, _: dict[str, Any] | None) -> None:
        tree.update_aggregates("host", {uid("aggregate")})
        if tree.exists("storage"):
            tree.update_inventory("storage", {"DISK_GB": inventory(200)})

    tracker = Tracker(client, Owner(grow), "host")
    for _ in range(2):
        assert tracker.update(startup=True) is not None
    assert tracker.update(startup=True) is None
    assert client.inventories(uid("storage")).inventories["DISK_GB"].total == 200
