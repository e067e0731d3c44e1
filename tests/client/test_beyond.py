"""The requests of the client that only roost answers, on a server and without one."""

import uuid

import pytest

from roost.api.parsing.tokens import encode_position
from roost.client import (
    BadRequest,
    Client,
    Conflict,
    Consumer,
    Gone,
    HoldTooSoon,
    InvalidRequest,
    Inventory,
    NotFound,
)


@pytest.fixture
def rack(client: Client) -> str:
    """An aggregate of two hosts, each with a capacity of two."""
    aggregate = str(uuid.uuid4())
    for _ in range(2):
        host = client.create_provider(f"host-{uuid.uuid4()}")
        inventories = client.set_inventories(
            host.uuid, {"VCPU": Inventory(total=2)}, host.generation
        )
        client.set_provider_aggregates(host.uuid, {aggregate}, inventories.generation)
    return aggregate


def new_consumer() -> Consumer:
    return Consumer(
        uuid=str(uuid.uuid4()), project_id="project", user_id="user", consumer_type="INSTANCE"
    )


def test_consumers_are_placed_on_different_hosts(client: Client, rack: str) -> None:
    one, other = new_consumer(), new_consumer()
    query = {"resources": "VCPU:1", "member_of": rack}
    placed = client.place(query, [one, other], order="pack", apart=True)
    assert placed.keys() == {one.uuid, other.uuid}
    assert placed[one.uuid].allocations.keys() != placed[other.uuid].allocations.keys()
    for uuid_, candidate in placed.items():
        assert client.consumer(uuid_).allocations == candidate.allocations
        assert candidate.mappings == {"": list(candidate.allocations)}
    with pytest.raises(Conflict) as full:
        client.place(f"resources=VCPU:2&member_of={rack}", [new_consumer()])
    assert full.value.code == "placement.no_candidates"


def test_a_repeated_placement_under_the_same_key_is_the_first_one(
    client: Client, rack: str
) -> None:
    key, consumers = str(uuid.uuid4()), [new_consumer()]
    query = {"resources": "VCPU:2", "member_of": rack}
    placed = client.place(query, consumers, idempotency_key=key)
    assert client.place(query, consumers, idempotency_key=key) == placed
    with pytest.raises(Conflict) as reused:
        client.place(query, [new_consumer()], idempotency_key=key)
    assert reused.value.code == "placement.idempotency_key_reused"


def test_an_invalid_placement_is_refused(client: Client) -> None:
    with pytest.raises(InvalidRequest, match="colour"):
        client.place({"colour": "red"}, [new_consumer()])
    with pytest.raises(InvalidRequest, match="project_id"):
        client.place("resources=VCPU:1", [str(uuid.uuid4())])
    with pytest.raises(BadRequest, match="consumers"):
        client.place("resources=VCPU:1", [])


def test_a_tree_is_held_and_released(client: Client, rack: str) -> None:
    (host, _) = client.providers({"member_of": rack})
    hold = client.hold(tree=host.uuid, seconds=5)
    assert hold.seconds == 5
    with pytest.raises(HoldTooSoon):
        client.hold(tree=host.uuid, seconds=5)
    client.release_hold(hold.id)
    with pytest.raises(NotFound):
        client.release_hold(hold.id)
    # Claims go on.
    client.place({"resources": "VCPU:2", "in_tree": host.uuid}, [new_consumer()])
    with pytest.raises(BadRequest, match="seconds"):
        client.hold(tree=host.uuid, seconds=0)


def test_events_since_a_position(client: Client, rack: str) -> None:
    start = client.events()
    assert start.events == []
    consumer = new_consumer()
    placed = client.place({"resources": "VCPU:1", "member_of": rack}, [consumer])
    (host,) = placed[consumer.uuid].allocations
    found = client.events(start.position, wait=5, kinds=["allocations"], tree=host)
    (event,) = found.events
    assert (event.kind, event.provider_uuid, event.root_uuid) == ("allocations", host, host)
    assert event.usage == {"VCPU": 1}
    assert client.events(found.position).events == []
    client.delete_consumer(consumer.uuid)
    again = client.events(start.position, kinds=["allocations", "provider"])
    assert [each.usage for each in again.events] == [{"VCPU": 1}, {"VCPU": -1}]


def test_an_unknown_position_is_refused(client: Client) -> None:
    with pytest.raises(BadRequest, match="after"):
        client.events("nonsense")
    with pytest.raises(Gone) as gone:
        # There was never a writer with this id.
        client.events(encode_position({12345: 7}))
    assert gone.value.code == "placement.events.position_gone"
