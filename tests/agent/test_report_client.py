"""Reading a tree from the service, and writing it back."""

import uuid
from typing import Any

import httpx
import pytest

from roost.agent.provider_tree import ProviderTree
from roost.agent.report.report_client import ReportClient
from roost.agent.report.tree_update import ReshapeConflict, UpdateFailed
from roost.client import Client, Inventory
from tests.agent.hosts import (
    claim,
    delete_everything,
    flat,
    graphics,
    inventory,
    uid,
)
from tests.agent.transports import Crash, WithoutExtensions, counting_client_of
from tests.support.roost_server import RoostServer

SHARING = "MISC_SHARES_VIA_AGGREGATE"


def write_flat(client: Client) -> tuple[ReportClient, ProviderTree]:
    report = ReportClient(client)
    tree = report.get_provider_tree_and_ensure_root("host")
    flat(tree, "host", None)
    report.update_from_provider_tree(tree)
    return report, tree


def test_a_new_host_is_created(client: Client) -> None:
    write_flat(client)
    [host] = client.providers({"name": "host"})
    assert client.inventories(host.uuid).inventories == {
        "VCPU": Inventory(total=16),
        "MEMORY_MB": Inventory(total=4096),
        "VGPU": Inventory(total=8),
    }
    assert client.provider_traits(host.uuid).traits == {"HW_CPU_X86_AVX2", "CUSTOM_GOLD"}


def test_a_host_that_exists_is_found(client: Client) -> None:
    host = client.create_provider("host")
    report = ReportClient(client)
    assert report.get_provider_tree_and_ensure_root("host").get_provider_uuids() == [host.uuid]
    # A driver sees the name that it gave.
    assert report.get_provider_tree_and_ensure_root("other", host.uuid).exists("other")
    assert report.last_read_tree().exists("host")
    with pytest.raises(UpdateFailed, match="has this name"):
        report.get_provider_tree_and_ensure_root("host", str(uuid.uuid4()))


def test_a_tree_can_be_read_without_creating_its_root(client: Client) -> None:
    tree = ReportClient(client).get_provider_tree("host")
    assert tree.exists("host")
    assert client.providers() == []


def test_only_changes_are_sent(client: Client, agent_server: RoostServer) -> None:
    """What did not change is not sent, and what did is sent once."""
    write_flat(client)
    with counting_client_of(agent_server) as (counting_client, transport):
        report = ReportClient(counting_client)
        tree = report.get_provider_tree_and_ensure_root("host")
        # One for the root, one for the tree.
        assert len(transport.sent) == 2
        transport.sent.clear()
        assert report.update_from_provider_tree(tree) is False
        assert transport.sent == []
        tree.update_inventory("host", {"VCPU": inventory(32)})
        tree.new_child("child", "host", uuid=uid("child"))
        tree.add_traits("child", "CUSTOM_GOLD")
        assert report.update_from_provider_tree(tree) is True
        # The provider, its traits, the inventories of the root. CUSTOM_GOLD is known.
        assert [line.split()[0] for line in transport.sent] == ["POST", "PUT", "PUT"]
        transport.sent.clear()
        assert report.update_from_provider_tree(tree) is False
        assert transport.sent == []


def test_a_child_becomes_a_root(client: Client) -> None:
    report, tree = write_flat(client)
    tree.new_child("child", "host", uuid=uid("child"))
    report.update_from_provider_tree(tree)
    tree.reparent("child", None)
    assert report.update_from_provider_tree(tree) is True
    assert client.provider(uid("child")).parent_uuid is None
    # It was sent, and is not sent again.
    assert report.update_from_provider_tree(tree) is False


def test_a_rename_does_not_undo_a_move_by_another_client(client: Client) -> None:
    report, tree = write_flat(client)
    for name in ("a", "b"):
        tree.new_child(name, "host", uuid=uid(name))
    report.update_from_provider_tree(tree)
    client.update_provider(uid("b"), name="b", parent_uuid=uid("a"))
    tree.rename("b", "other")
    report.update_from_provider_tree(tree)
    renamed = client.provider(uid("b"))
    assert (renamed.name, renamed.parent_uuid) == ("other", uid("a"))


def test_a_name_that_could_not_be_created_is_created_later(
    client: Client, agent_server: RoostServer
) -> None:
    name = f"CUSTOM_{uuid.uuid4().hex.upper()}"
    refusals = [httpx.Response(403, json={"errors": [{"detail": "not you"}]})]

    class Refusing(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path == f"/traits/{name}" and refusals:
                return refusals.pop()
            return super().handle_request(request)

    with Client(agent_server.url, transport=Refusing()) as refused_once:
        report, tree = write_flat(refused_once)
        tree.add_traits("host", name)
        with pytest.raises(UpdateFailed, match="not you"):
            report.update_from_provider_tree(tree)
        assert report.update_from_provider_tree(tree) is True
    [host] = client.providers()
    assert name in client.provider_traits(host.uuid).traits


def test_a_change_while_the_tree_is_read_is_not_overwritten(
    client: Client, agent_server: RoostServer
) -> None:
    write_flat(client)
    client.create_trait("CUSTOM_OF_AN_OPERATOR")
    [host] = client.providers()
    interferences = ["once"]

    class Interfering(WithoutExtensions):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path.endswith("/aggregates") and interferences:
                interferences.pop()
                seen = client.provider_traits(host.uuid)
                traits = seen.traits | {"CUSTOM_OF_AN_OPERATOR"}
                client.set_provider_traits(host.uuid, traits, seen.generation)
            return super().handle_request(request)

    with Client(agent_server.url, transport=Interfering()) as interfered:
        report = ReportClient(interfered)
        tree = report.get_provider_tree_and_ensure_root("host")
        tree.add_traits("host", "HW_CPU_X86_AVX")
        with pytest.raises(UpdateFailed, match="traits"):
            report.update_from_provider_tree(tree)
    assert "CUSTOM_OF_AN_OPERATOR" in client.provider_traits(host.uuid).traits


def test_providers_are_moved_renamed_and_deleted(client: Client) -> None:
    report, tree = write_flat(client)
    for name in ("a", "b", "c"):
        tree.new_child(name, "host", uuid=uid(name))
    tree.new_child("leaf", "a", uuid=uid("leaf"))
    tree.update_inventory("leaf", {"FPGA": inventory(1)})
    report.update_from_provider_tree(tree)
    tree.reparent("leaf", "b")
    tree.rename("c", "see")
    tree.remove("a")
    report.update_from_provider_tree(tree)
    found = {each.name: each.parent_uuid for each in client.providers()}
    [host] = client.providers({"name": "host"})
    assert found == {"host": None, "b": host.uuid, "see": host.uuid, "leaf": uid("b")}


def test_aggregates_are_written(client: Client) -> None:
    report, tree = write_flat(client)
    tree.update_aggregates("host", {uid("aggregate")})
    report.update_from_provider_tree(tree)
    [host] = client.providers()
    assert client.provider_aggregates(host.uuid).aggregates == {uid("aggregate")}


def test_a_concurrent_claim_does_not_fail_an_update(client: Client) -> None:
    """Claims change the generation, but nothing that the agent writes."""
    report, tree = write_flat(client)
    [host] = client.providers()
    claim(client, "consumer", {host.uuid: {"VCPU": 2}})
    tree.update_inventory("host", {**tree.data("host").inventory, "VCPU": inventory(32)})
    tree.add_traits("host", "CUSTOM_MORE")
    report.update_from_provider_tree(tree)
    assert client.inventories(host.uuid).inventories["VCPU"].total == 32
    assert client.usages(host.uuid)["VCPU"] == 2


def test_traits_that_another_client_changed_are_not_overwritten(client: Client) -> None:
    report, tree = write_flat(client)
    [host] = client.providers()
    client.set_provider_traits(host.uuid, {"HW_CPU_X86_SSE"}, client.provider(host.uuid).generation)
    tree.add_traits("host", "CUSTOM_MORE")
    tree.update_inventory("host", {"VCPU": inventory(64)})
    with pytest.raises(UpdateFailed) as failed:
        report.update_from_provider_tree(tree)
    # The other steps succeeded.
    assert [(each.provider, each.step) for each in failed.value.failures] == [("host", "traits")]
    assert client.provider_traits(host.uuid).traits == {"HW_CPU_X86_SSE"}
    assert client.inventories(host.uuid).inventories["VCPU"].total == 64
    # The next run reads the tree first.
    tree = report.get_provider_tree_and_ensure_root("host")
    tree.add_traits("host", "CUSTOM_MORE")
    report.update_from_provider_tree(tree)
    assert client.provider_traits(host.uuid).traits == {"HW_CPU_X86_SSE", "CUSTOM_MORE"}


def test_a_failed_step_is_reported_and_the_others_are_done(client: Client) -> None:
    report, tree = write_flat(client)
    [host] = client.providers()
    claim(client, "consumer", {host.uuid: {"VGPU": 1}})
    tree.update_inventory("host", {"VCPU": inventory(16)})
    tree.new_child("child", "host", uuid=uid("child"))
    with pytest.raises(UpdateFailed, match="host: inventories:"):
        report.update_from_provider_tree(tree)
    assert client.provider(uid("child")).name == "child"


# ---------------------------------------------------------------------------------------------
# Allocations and reshapes


def test_the_consumers_of_a_tree_are_read(client: Client) -> None:
    """Everything that they hold, including consumers that hold shared resources only."""
    report, tree = write_flat(client)
    storage, far = client.create_provider("storage"), client.create_provider("far")
    for provider, resource_class in ((storage, "DISK_GB"), (far, "VCPU")):
        client.set_inventories(provider.uuid, {resource_class: Inventory(total=100)}, 0)
    generation = client.provider(storage.uuid).generation
    generation = client.set_provider_traits(storage.uuid, {SHARING}, generation).generation
    client.set_provider_aggregates(storage.uuid, {uid("aggregate")}, generation)
    tree.update_aggregates("host", {uid("aggregate")})
    report.update_from_provider_tree(tree)
    host = tree.data("host").uuid
    here = claim(client, "here", {host: {"VCPU": 1}, storage.uuid: {"DISK_GB": 10}})
    shared = claim(client, "shared", {storage.uuid: {"DISK_GB": 5}})
    claim(client, "there", {far.uuid: {"VCPU": 1}, storage.uuid: {"DISK_GB": 1}})
    report.get_provider_tree("host")
    found = report.get_allocations_for_provider_tree()
    assert set(found) == {here, shared}
    generation = client.provider(storage.uuid).generation
    assert found[here]["allocations"][storage.uuid] == {
        "resources": {"DISK_GB": 10},
        "generation": generation,
    }
    assert found[here]["consumer_generation"] == 1


def reshape(report: ReportClient) -> None:
    tree = report.get_provider_tree_and_ensure_root("host")
    allocations = report.get_allocations_for_provider_tree()
    graphics(tree, "host", allocations)
    report.update_from_provider_tree(tree, allocations)


def assert_reshaped(client: Client) -> None:
    [host] = client.providers({"name": "host"})
    assert "VGPU" not in client.inventories(host.uuid).inventories
    cards = [uid(f"host_gpu{number}") for number in (0, 1)]
    assert sum(client.usages(card)["VGPU"] for card in cards) == 6
    assert client.usages(host.uuid) == {"VCPU": 2, "MEMORY_MB": 0}
    for name in ("one", "two"):
        held = client.consumer(uid(name)).allocations
        assert held[host.uuid] == {"VCPU": 1}
        assert sum(held.get(card, {}).get("VGPU", 0) for card in cards) == 3


def claim_graphics(client: Client) -> None:
    [host] = client.providers({"name": "host"})
    for name in ("one", "two"):
        claim(client, name, {host.uuid: {"VCPU": 1, "VGPU": 3}})


def test_a_reshape_moves_inventories_and_allocations(client: Client) -> None:
    report, _ = write_flat(client)
    claim_graphics(client)
    reshape(report)
    assert_reshaped(client)


def test_a_reshape_that_lost_a_race_changes_nothing(client: Client) -> None:
    report, _ = write_flat(client)
    claim_graphics(client)
    tree = report.get_provider_tree_and_ensure_root("host")
    allocations = report.get_allocations_for_provider_tree()
    graphics(tree, "host", allocations)
    [host] = client.providers({"name": "host"})
    claim(client, "late", {host.uuid: {"VGPU": 1}})
    before = client.inventories(host.uuid)
    with pytest.raises(ReshapeConflict):
        report.update_from_provider_tree(tree, allocations)
    assert client.inventories(host.uuid) == before
    assert client.usages(host.uuid)["VGPU"] == 7
    client.delete_consumer(uid("late"))
    reshape(report)
    assert_reshaped(client)


@pytest.mark.parametrize("moment", ["cut_before", "cut_after"])
def test_a_reshape_can_be_repeated_after_a_crash_at_any_step(
    client: Client, agent_server: RoostServer, moment: str
) -> None:
    """After a crash at any write, the next run ends where an undisturbed one would."""
    number = 1
    while True:
        delete_everything(client)
        write_flat(client)
        claim_graphics(client)
        with counting_client_of(agent_server) as (crashing, transport):
            setattr(transport, moment, number)
            try:
                reshape(ReportClient(crashing))
            except Crash:
                assert_nothing_is_lost(client)
            else:
                break
        reshape(ReportClient(client))
        assert_reshaped(client)
        number += 1
    # Two providers, and the reshape.
    assert number == 4


def change_everything(tree: ProviderTree) -> None:
    """One change of every kind. Applying it twice has the same effect as once."""
    for name, parent in (("a", "host"), ("b", "host"), ("leaf", "a")):
        if not tree.exists(name):
            tree.new_child(name, parent, uuid=uid(name))
    if tree.exists("old"):
        tree.remove("old")
    if tree.data("mover").parent_uuid != uid("b"):
        tree.reparent("mover", "b")
    tree.update_inventory("host", {"VCPU": inventory(4)})
    tree.update_inventory("leaf", {"CUSTOM_THING": inventory(3)})
    tree.update_traits("a", {"CUSTOM_GOLD", "CUSTOM_NEW"})
    tree.update_aggregates("b", {uid("aggregate")})


@pytest.mark.parametrize("moment", ["cut_before", "cut_after"])
def test_an_update_can_be_repeated_after_a_crash_at_any_step(
    client: Client, agent_server: RoostServer, moment: str
) -> None:
    number = 1
    while True:
        delete_everything(client)
        report, tree = write_flat(client)
        for name in ("old", "mover"):
            tree.new_child(name, "host", uuid=uid(name))
        tree.update_inventory("old", {"FPGA": inventory(1)})
        report.update_from_provider_tree(tree)
        with counting_client_of(agent_server) as (crashing, transport):
            setattr(transport, moment, number)
            try:
                update_everything(ReportClient(crashing))
            except Crash:
                crashed = True
            else:
                crashed = False
        # The next run of the agent.
        sent = update_everything(ReportClient(client))
        names = {each.name: each.parent_uuid for each in client.providers()}
        host = client.providers({"name": "host"})[0].uuid
        below = {"a": host, "b": host, "leaf": uid("a"), "mover": uid("b")}
        assert names == {"host": None, **below}
        assert client.inventories(uid("leaf")).inventories == {"CUSTOM_THING": Inventory(total=3)}
        assert client.provider_traits(uid("a")).traits == {"CUSTOM_GOLD", "CUSTOM_NEW"}
        assert client.provider_aggregates(uid("b")).aggregates == {uid("aggregate")}
        if not crashed:
            assert not sent
            break
        number += 1
    # Two names, three new providers, a move, traits, aggregates, two inventories, a deletion.
    assert number == 12


def update_everything(report: ReportClient) -> bool:
    tree = report.get_provider_tree_and_ensure_root("host")
    change_everything(tree)
    return report.update_from_provider_tree(tree)


def assert_nothing_is_lost(client: Client) -> None:
    """Six of eight VGPUs are held, whichever providers have them."""
    total = used = 0
    for provider in client.providers():
        vgpus: Any = client.inventories(provider.uuid).inventories.get("VGPU")
        if vgpus is not None:
            total += vgpus.total
            used += client.usages(provider.uuid)["VGPU"]
    assert (total, used) == (8, 6)
