"""Hosts and children that get other names, also the names of others."""

import itertools

import pytest

from roost.agent.desired_tree import DesiredProvider, Ownership, apply, derived_uuid
from roost.agent.driver import Allocations, DriverError
from roost.agent.provider_tree import ProviderTree
from roost.agent.report.renames import plan_renames
from roost.agent.report.tree_update import UpdateFailed
from roost.agent.tracker import Tracker
from roost.client import Client, Inventory
from tests.agent.hosts import Shape, ShapeDriver, claim, delete_everything, uid
from tests.agent.transports import Crash, counting_client_of
from tests.support.roost_server import RoostServer

FOREIGN = "of another author"


def ownership(*, removes_unknown: bool) -> Ownership:
    return Ownership(
        resource_class=lambda name: True,
        trait=lambda name: True,
        removes_unknown=removes_unknown,
    )


def device(name: str, uuid: str | None = None) -> DesiredProvider:
    return DesiredProvider(name=name, uuid=uuid, inventories={"PGPU": Inventory(total=1)})


def shape_of(*children: DesiredProvider, removes_unknown: bool = False) -> Shape:
    def shape(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
        root = DesiredProvider(name=nodename, children=children)
        apply(tree, root, ownership(removes_unknown=removes_unknown))

    return shape


def names(client: Client) -> dict[str, str]:
    """UUIDs by name."""
    return {each.name: each.uuid for each in client.providers()}


# -- the order


def test_all_renames_of_three_providers_are_possible() -> None:
    """No name is given that another provider has at that moment."""
    uuids = ["u", "v", "w"]
    current = dict(zip(uuids, "ABC", strict=True))
    for chosen in itertools.permutations("ABCD", 3):
        wanted = dict(zip(uuids, chosen, strict=True))
        for gone in [(), ("u",), ("u", "v")]:
            kept = {uuid: name for uuid, name in wanted.items() if uuid not in gone}
            state = dict(current)
            for uuid, name in plan_renames(current, kept):
                assert name not in state.values()
                state[uuid] = name
            assert {uuid: state[uuid] for uuid in kept} == kept
            # A new provider can get the name of one that goes.
            assert len(plan_renames(current, kept | {"new": "A"})) <= 5


def test_no_provider_makes_way_without_need() -> None:
    assert plan_renames({"u": "A", "v": "B"}, {"u": "B", "v": "C"}) == [("v", "C"), ("u", "B")]
    assert plan_renames({"u": "A"}, {"u": "A"}) == []


# -- children that take the names of others

A, B, C = uid("device A"), uid("device B"), uid("device C")

EXCHANGES = {
    "chain": ([("A", A), ("B", B)], [("B", A), ("C", B)]),
    "swap": ([("A", A), ("B", B)], [("B", A), ("A", B)]),
    "circle": ([("A", A), ("B", B), ("C", C)], [("B", A), ("C", B), ("A", C)]),
    "replacement": ([("A", A), ("B", B)], [("A", C), ("B", B)]),
    "chain and replacement": ([("A", A), ("B", B)], [("B", A), ("A", C)]),
    "replacement of a derived one": ([("A", None), ("B", B)], [("A", C), ("B", B)]),
}


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("moment", ["cut_before", "cut_after"])
def test_children_exchange_their_names_whatever_breaks_off(
    client: Client, agent_server: RoostServer, exchange: str, moment: str
) -> None:
    """After a crash at any write, the next run ends where an undisturbed one would."""
    before, after = EXCHANGES[exchange]
    number = 1
    while True:
        delete_everything(client)
        setup = ShapeDriver(shape_of(*(device(*each) for each in before)))
        Tracker(client, setup, "host").update(startup=True)
        root = names(client)["host"]
        client.create_provider(FOREIGN, parent_uuid=root)
        # One that keeps its device, whatever that is called.
        claim(client, "holder", {B: {"PGPU": 1}})
        # Those that are not wanted any more are removed because they are the driver's own.
        gone = {uuid for _, uuid in before} - {uuid for _, uuid in after} - {None}
        driver = ShapeDriver(
            shape_of(*(device(*each) for each in after), removes_unknown=bool(gone))
        )
        if gone:
            client.delete_provider(names(client)[FOREIGN])
        if B in gone:
            client.delete_consumer(uid("holder"))
        with counting_client_of(agent_server) as (crashing, transport):
            setattr(transport, moment, number)
            try:
                Tracker(crashing, driver, "host").update(startup=True)
            except Crash:
                crashed = True
            else:
                crashed = False
        sent = Tracker(client, driver, "host").update(startup=True)
        found = names(client)
        found.pop(FOREIGN, None)
        assert found == {"host": root} | dict(after)
        if B not in gone:
            assert client.consumer(uid("holder")).allocations == {B: {"PGPU": 1}}
        if not crashed:
            assert sent is None
            break
        number += 1
    assert number > 2


def test_a_name_that_stays_with_another_author_is_refused() -> None:
    tree = ProviderTree()
    root = tree.new_root("host", uid("host"))
    tree.new_child("A", root, uuid=uid(FOREIGN))
    before = tree.data("A")
    with pytest.raises(DriverError, match=f"A cannot be added: {uid(FOREIGN)} has this name"):
        shape_of(device("A", A))(tree, "host", None)
    assert tree.data("A") == before


def test_a_provider_of_another_tree_is_not_taken() -> None:
    tree = ProviderTree()
    tree.new_root("host", uid("host"))
    tree.new_root("storage", uid("storage"))
    for wanted in (device("storage"), device("mine", uid("storage"))):
        with pytest.raises(DriverError, match="it is in the tree of storage"):
            shape_of(wanted)(tree, "host", None)
    assert tree.data("storage").parent_uuid is None


# -- hosts


def numa_shape(nodes: int = 2) -> Shape:
    """As the linux driver names its children: after the host, without UUIDs."""

    def shape(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
        children = tuple(
            DesiredProvider(
                name=f"{nodename}_numa{number}", inventories={"VCPU": Inventory(total=8)}
            )
            for number in range(nodes)
        )
        apply(
            tree,
            DesiredProvider(name=nodename, children=children),
            ownership(removes_unknown=False),
        )

    return shape


class NamedDriver(ShapeDriver):
    """A driver of a host with this name."""

    def __init__(self, shape: Shape, name: str) -> None:
        super().__init__(shape)
        self.name = name

    def nodenames(self) -> list[str]:
        return [self.name]


def named_tracker(client: Client, name: str, shape: Shape) -> Tracker:
    return Tracker(client, NamedDriver(shape, name), name, uuid=uid("host"))


@pytest.mark.parametrize("moment", ["cut_before", "cut_after"])
def test_a_host_is_renamed_with_its_children(
    client: Client, agent_server: RoostServer, moment: str
) -> None:
    number = 1
    while True:
        delete_everything(client)
        named_tracker(client, "old", numa_shape()).update(startup=True)
        before = names(client)
        client.create_provider("old:ovs", parent_uuid=uid("host"))
        claim(client, "one", {before["old_numa1"]: {"VCPU": 4}})
        with counting_client_of(agent_server) as (crashing, transport):
            setattr(transport, moment, number)
            try:
                # Nobody holds less or more than before, so that any update may do it.
                named_tracker(crashing, "new", numa_shape()).update(startup=False)
            except Crash:
                crashed = True
            else:
                crashed = False
        sent = named_tracker(client, "new", numa_shape()).update(startup=False)
        after = names(client)
        assert after.pop("old:ovs")
        assert after == {
            "new": before["old"],
            "new_numa0": before["old_numa0"],
            "new_numa1": before["old_numa1"],
        }
        assert client.consumer(uid("one")).allocations == {after["new_numa1"]: {"VCPU": 4}}
        if not crashed:
            assert sent is None
            break
        number += 1
    # Three names.
    assert number == 4


def test_a_host_is_renamed_and_reshaped_at_once(client: Client) -> None:
    named_tracker(client, "old", numa_shape(1)).update(startup=True)
    claim(client, "one", {names(client)["old_numa0"]: {"VCPU": 4}})

    def flat(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
        root = DesiredProvider(name=nodename, inventories={"VCPU": Inventory(total=8)})
        apply(tree, root, ownership(removes_unknown=False))

    plan = named_tracker(client, "new", flat).update(startup=True)
    assert plan is not None
    assert names(client) == {"new": uid("host")}
    assert client.usages(uid("host")) == {"VCPU": 4}


def test_the_name_of_another_root_is_one_line(client: Client) -> None:
    named_tracker(client, "old", numa_shape()).update(startup=True)
    client.create_provider("new")
    before = names(client)
    with pytest.raises(UpdateFailed) as failure:
        named_tracker(client, "new", numa_shape()).update(startup=True)
    assert "\n" not in str(failure.value)
    assert str(failure.value).startswith("new: rename:")
    assert {name for name in names(client) if not name.startswith("new_numa")} >= {"old", "new"}
    assert set(names(client).values()) == set(before.values())


def test_a_new_child_can_have_the_former_name_of_another() -> None:
    """B is now C, and another device has come that is called B."""
    tree = ProviderTree()
    root = tree.new_root("host", uid("host"))
    tree.new_child("B", root, uuid=B)
    shape_of(device("C", B), device("B"))(tree, "host", None)
    assert tree.data("C").uuid == B
    assert tree.data("B").uuid == derived_uuid(root, "B")
