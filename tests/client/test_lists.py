"""Long answers, read a page at a time: providers, consumers and candidates; and the summary."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from roost.client import (
    BadRequest,
    Client,
    Consumer,
    InvalidRequest,
    Inventory,
    Provider,
    ProviderDetails,
    Request,
)

HOSTS = 5


@pytest.fixture
def rack(client: Client) -> str:
    """An aggregate of hosts, each with a child that has the processors."""
    aggregate = str(uuid.uuid4())
    for _ in range(HOSTS):
        host = client.create_provider(f"host-{uuid.uuid4()}")
        client.set_provider_aggregates(host.uuid, {aggregate}, host.generation)
        node = client.create_provider(f"node-{uuid.uuid4()}", parent_uuid=host.uuid)
        written = client.set_inventories(node.uuid, {"VCPU": Inventory(total=4)}, node.generation)
        client.set_provider_traits(node.uuid, {"HW_NUMA_ROOT"}, written.generation)
        client.set_provider_aggregates(node.uuid, {aggregate}, written.generation + 1)
    return aggregate


def place(client: Client, rack: str, count: int, *, project: str = "project") -> list[str]:
    request = Request().resources(VCPU=1).member_of(rack)
    placed = client.place(request, count, project_id=project, user_id="user")
    return list(placed)


def read_singly(client: Client, provider: Provider) -> ProviderDetails:
    return ProviderDetails(
        provider=client.provider(provider.uuid),
        inventories=client.inventories(provider.uuid).inventories,
        usages=client.usages(provider.uuid),
        traits=client.provider_traits(provider.uuid).traits,
        aggregates=client.provider_aggregates(provider.uuid).aggregates,
    )


@pytest.mark.parametrize("limit", [3, 1000])
def test_providers_in_bulk_are_those_of_single_reads(client: Client, rack: str, limit: int) -> None:
    place(client, rack, 3)
    listed = client.providers({"member_of": rack})
    found = list(client.bulk_providers(member_of=rack, limit=limit))
    assert {each.provider.uuid for each in found} == {each.uuid for each in listed}
    assert found == [read_singly(client, each.provider) for each in found]


def test_what_is_not_asked_for_is_empty(client: Client, rack: str) -> None:
    details = next(
        client.bulk_providers(include=["traits"], member_of=[rack], required=["HW_NUMA_ROOT"])
    )
    assert details.traits == {"HW_NUMA_ROOT"}
    assert (details.inventories, details.usages, details.aggregates) == ({}, {}, frozenset())
    bare = next(client.bulk_providers(include=(), member_of=rack, resources={"VCPU": 4}))
    assert bare == ProviderDetails(provider=bare.provider)
    node = bare.provider
    tree = list(client.bulk_providers(tree=node.uuid))
    assert {each.provider.uuid for each in tree} == {node.uuid, node.root_uuid}
    assert next(client.bulk_providers(name=node.name)).provider == node
    assert next(client.bulk_providers(uuid=node.uuid, in_tree=node.root_uuid)).provider == node


def test_candidates_are_read_a_page_at_a_time(client: Client, rack: str) -> None:
    request = Request().resources(VCPU=1).member_of(rack)
    expected = client.candidates(request.order("root")).candidates
    assert len(expected) == HOSTS
    assert list(client.all_candidates(request)) == expected
    assert list(client.all_candidates(request.limit(2))) == expected
    # A request that is too long for a URL names its position in the body.
    long = request.limit(2)
    while len(str(long)) < 8000:
        long = long.member_of(f"in:{rack}")
    assert list(client.all_candidates(long)) == expected
    spreads = [
        [*client.all_candidates(request.order(f"random:{seed}").limit(2))] for seed in range(4)
    ]
    # One of them may be in that order by chance.
    assert any(spread != expected for spread in spreads)
    for spread in spreads:
        assert sorted(map(repr, spread)) == sorted(map(repr, expected))


def test_consumers_are_listed_with_what_they_hold(client: Client, rack: str) -> None:
    project = f"project-{rack}"
    placed = place(client, rack, 4, project=project)
    found = list(client.consumers(project_id=project, limit=3))
    assert sorted(each.consumer.uuid for each in found) == sorted(placed)
    assert [each.consumer for each in found] == [
        client.consumer(each.consumer.uuid) for each in found
    ]
    now = datetime.now(UTC)
    for each in found:
        assert each.changed_at is not None
        assert now - timedelta(minutes=1) < each.changed_at <= now
    (one, *_) = found
    (provider,) = one.consumer.allocations
    node = client.provider(provider)
    for selected in (
        client.consumers(resource_provider=provider, resource_class="VCPU"),
        client.consumers(resource_provider={provider, node.root_uuid}),
        client.consumers(tree=node.root_uuid, user_id="user", consumer_type="INSTANCE"),
    ):
        assert one.consumer.uuid in [each.consumer.uuid for each in selected]
    assert list(client.consumers(tree=node.uuid, changed_before=now - timedelta(hours=1))) == []
    with pytest.raises(InvalidRequest, match="time zone"):
        client.consumers(changed_before=datetime(2026, 1, 1))


def test_consumers_of_several_providers_are_listed_once(client: Client, rack: str) -> None:
    nodes = [
        each.provider.uuid
        for each in client.bulk_providers(member_of=rack, required=["HW_NUMA_ROOT"])
    ]
    both = Consumer(
        uuid=str(uuid.uuid4()),
        allocations={nodes[0]: {"VCPU": 1}, nodes[1]: {"VCPU": 1}},
        project_id="project",
        user_id="user",
        consumer_type="INSTANCE",
    )
    client.set_consumer(both)
    found = [each.consumer.uuid for each in client.consumers(resource_provider=iter(nodes))]
    assert found == [both.uuid]
    assert list(client.consumers(resource_provider=nodes[2:])) == []


def test_providers_of_consumers_must_be_some_and_not_too_many(client: Client) -> None:
    with pytest.raises(InvalidRequest, match="names no provider"):
        client.consumers(resource_provider=[])
    many = [str(uuid.uuid4()) for _ in range(1001)]
    with pytest.raises(InvalidRequest, match="names 1001 providers; at most 1000"):
        client.consumers(resource_provider=many)
    # The most that are allowed fit into a URL.
    with pytest.raises(BadRequest, match="No resource provider"):
        list(client.consumers(resource_provider=many[:1000]))


def test_a_consumer_that_was_written_again_says_when(client: Client, rack: str) -> None:
    project = f"project-{rack}"
    (one,) = place(client, rack, 1, project=project)
    held = client.consumer(one)
    client.set_consumer(
        Consumer(
            uuid=one,
            allocations={each: {"VCPU": 2} for each in held.allocations},
            project_id=project,
            user_id="user",
            consumer_type="INSTANCE",
            generation=held.generation,
        )
    )
    (found,) = client.consumers(project_id=project)
    assert found.created_at is not None
    assert found.changed_at == found.updated_at
    assert found.updated_at is not None
    assert found.updated_at >= found.created_at


def test_a_summary_adds_up_what_providers_have(client: Client, rack: str) -> None:
    place(client, rack, 2)
    summary = client.summary(by=["aggregates", "traits"], resource_classes=["VCPU"])
    hosts = summary.aggregates[rack]
    assert (hosts.providers, hosts.trees) == (2 * HOSTS, HOSTS)
    vcpu = hosts.resources["VCPU"]
    assert (vcpu.total, vcpu.capacity, vcpu.used, vcpu.free) == (20, 20, 2, 18)
    assert (vcpu.reserved, vcpu.providers) == (0, HOSTS)
    assert summary.resources.keys() == {"VCPU"}
    assert summary.providers >= hosts.providers
    plain = client.summary()
    assert (plain.aggregates, plain.traits) == ({}, {})
    assert plain.resources["VCPU"] == summary.resources["VCPU"]
