"""A reshape beside clients that never stop to claim, on two servers of one database."""

import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.client import Client, Consumer, HoldTooSoon, Inventory, Provider, ProviderInventories
from tests.support.long_form import choose
from tests.support.roost_server import RoostServer

pytestmark = pytest.mark.process

CONSUMERS = 60
CHILDREN = 8
CLAIMERS = 6
RESHAPES = choose(short=2, long=3)


@pytest.fixture
def clients(synchronised_url: str, tmp_path: Path) -> Iterator[tuple[Client, Client]]:
    with (
        RoostServer(synchronised_url, tmp_path, arguments=["--threads", "4"]) as first,
        RoostServer(synchronised_url, tmp_path, arguments=["--threads", "4"]) as second,
        Client(first.url, timeout=60) as one,
        Client(second.url, timeout=60) as other,
    ):
        yield one, other


class Tree:
    """A host, whose children have the processors in turn."""

    def __init__(self, client: Client) -> None:
        self.root = client.create_provider("host")
        self.children = [
            client.create_provider(f"child{number}", parent_uuid=self.root.uuid)
            for number in range(CHILDREN)
        ]
        # Of no class that is claimed, so that half of the children can be emptied.
        for child in self.children[: CHILDREN // 2]:
            client.set_inventories(child.uuid, {"VCPU": Inventory(total=100_000)}, child.generation)
        self.is_swapped = False

    @property
    def open(self) -> list[Provider]:
        """Those that have an inventory now."""
        half = CHILDREN // 2
        return self.children[half:] if self.is_swapped else self.children[:half]


def consumer(uuid_: str, provider: str) -> Consumer:
    return Consumer(
        uuid=uuid_,
        allocations={provider: {"VCPU": 1}},
        project_id="project",
        user_id="user",
        consumer_type="INSTANCE",
    )


class Claimer(threading.Thread):
    """Claims and releases, one after the other, until it is told to stop and has done both."""

    def __init__(self, client: Client, tree: str, stop: threading.Event) -> None:
        super().__init__()
        self._client = client
        self._tree = tree
        self._told = stop
        self.kept: list[str] = []
        self.released: list[str] = []
        self.errors: list[BaseException] = []

    def run(self) -> None:
        try:
            while not (self._told.is_set() and self.released):
                request = {"resources": "VCPU:1", "in_tree": self._tree}
                (placed,) = self._client.place(request, project_id="project", user_id="user")
                if len(self.kept) < 3:
                    self.kept.append(placed)
                else:
                    self._client.delete_consumer(placed)
                    self.released.append(placed)
        except BaseException as error:
            self.errors.append(error)


def swap(client: Client, tree: Tree) -> None:
    """Move all inventories, and what consumers hold of them, to the other half of the children."""
    details = {each.provider.uuid: each for each in client.bulk_providers(tree=tree.root.uuid)}
    targets = dict(
        zip(
            [each.uuid for each in tree.open],
            [each.uuid for each in tree.children if each not in tree.open],
            strict=True,
        )
    )
    inventories = {
        uuid_: ProviderInventories(
            generation=details[uuid_].provider.generation, inventories=inventories
        )
        for source, target in targets.items()
        for uuid_, inventories in (
            (source, {}),
            (target, details[source].inventories),
        )
    }
    moved = [
        Consumer(
            uuid=each.consumer.uuid,
            allocations={
                targets[uuid_]: dict(amounts)
                for uuid_, amounts in each.consumer.allocations.items()
            },
            project_id=each.consumer.project_id,
            user_id=each.consumer.user_id,
            consumer_type=each.consumer.consumer_type,
            generation=each.consumer.generation,
        )
        for each in client.consumers(tree=tree.root.uuid)
    ]
    client.reshape(inventories, moved)
    tree.is_swapped = not tree.is_swapped


def test_a_reshape_succeeds_at_the_first_try_while_the_tree_is_held(
    clients: tuple[Client, Client],
) -> None:
    one, other = clients
    tree = Tree(one)
    held = [str(uuid.uuid4()) for _ in range(CONSUMERS)]
    one.set_consumers(
        consumer(each, tree.open[number % len(tree.open)].uuid) for number, each in enumerate(held)
    )
    stop = threading.Event()
    claimers = [Claimer(clients[number % 2], tree.root.uuid, stop) for number in range(CLAIMERS)]
    for claimer in claimers:
        claimer.start()
    try:
        time.sleep(0.5)
        for number in range(RESHAPES):
            # The processes take turns, and what one is asked for the other one learns of.
            hold_when_rested(clients[number % 2], tree.root.uuid)
            swap(clients[(number + 1) % 2], tree)
    finally:
        stop.set()
        for claimer in claimers:
            claimer.join(120)
    assert [error for claimer in claimers for error in claimer.errors] == []
    assert all(not claimer.is_alive() for claimer in claimers)
    # Nobody was refused or forgotten, and each holds what it was given.
    kept = {each for claimer in claimers for each in claimer.kept}
    assert len(kept) == 3 * CLAIMERS
    found = {each.consumer.uuid: each.consumer for each in other.consumers(tree=tree.root.uuid)}
    assert found.keys() == kept | set(held)
    for each in found.values():
        (amounts,) = each.allocations.values()
        assert amounts == {"VCPU": 1}
    used = {
        each.provider.uuid: each.usages.get("VCPU", 0)
        for each in one.bulk_providers(tree=tree.root.uuid)
    }
    assert sum(used.values()) == len(found)
    assert {uuid_ for uuid_, amount in used.items() if amount} <= {each.uuid for each in tree.open}


def hold_when_rested(client: Client, tree: str) -> None:
    for _ in range(600):
        try:
            client.hold(tree=tree, seconds=10)
            return
        except HoldTooSoon:
            # After the hold before this one.
            time.sleep(0.1)
    raise AssertionError("the tree rests for ever")
