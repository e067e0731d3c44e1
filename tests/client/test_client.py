"""The typed client, on a real server and without one."""

import ssl
import threading
import uuid
from typing import Any

import msgspec
import pytest

from roost.client import (
    Client,
    Consumer,
    Inventory,
    ProviderInventories,
)
from tests.support.roost_server import RoostServer


def some_uuid() -> str:
    return str(uuid.uuid4())


def holding(consumer: str, provider: str, **resources: int) -> Consumer:
    return Consumer(
        uuid=consumer,
        allocations={provider: resources},
        project_id="project",
        user_id="user",
        consumer_type="INSTANCE",
    )


def test_every_verb(client: Client) -> None:
    assert client.version == (1, 39)
    name = f"host-{some_uuid()}"
    host = client.create_provider(name)
    assert client.provider(host.uuid) == host
    assert client.providers({"name": name}) == [host]
    child = client.create_provider(f"{name}-child", parent_uuid=host.uuid)
    assert {each.uuid for each in client.tree(host.uuid)} == {host.uuid, child.uuid}
    renamed = client.update_provider(child.uuid, name=f"{name}-other", parent_uuid=host.uuid)
    assert renamed.name == f"{name}-other"

    inventories = {
        "VCPU": Inventory(total=8, allocation_ratio=2.0),
        "MEMORY_MB": Inventory(total=1024),
    }
    written = client.set_inventories(host.uuid, inventories, host.generation)
    assert client.inventories(host.uuid) == written
    assert written.inventories["VCPU"].capacity == 16
    more = Inventory(total=16)
    generation = client.set_inventory(host.uuid, "VCPU", more, written.generation)
    assert client.inventories(host.uuid).inventories["VCPU"] == more

    client.create_trait("CUSTOM_GOLD")
    assert "CUSTOM_GOLD" in client.traits({"name": "startswith:CUSTOM_"})
    traits = client.set_provider_traits(host.uuid, {"CUSTOM_GOLD"}, generation)
    assert client.provider_traits(host.uuid) == traits
    aggregate = some_uuid()
    aggregates = client.set_provider_aggregates(host.uuid, {aggregate}, traits.generation)
    assert client.provider_aggregates(host.uuid) == aggregates
    client.create_resource_class("CUSTOM_THING")
    assert "CUSTOM_THING" in client.resource_classes()
    client.delete_resource_class("CUSTOM_THING")

    query = {"resources": "VCPU:2", "required": "CUSTOM_GOLD", "member_of": aggregate, "limit": 5}
    found = client.candidates(query)
    assert [each.allocations for each in found.candidates] == [{host.uuid: {"VCPU": 2}}]
    assert found.summaries[host.uuid].capacity["VCPU"] == 16

    one, other = some_uuid(), some_uuid()
    client.set_consumer(holding(one, host.uuid, VCPU=2))
    client.set_consumers([holding(other, host.uuid, VCPU=1)])
    assert client.usages(host.uuid) == {"VCPU": 3, "MEMORY_MB": 0}
    assert client.provider_consumers(host.uuid) == {one: {"VCPU": 2}, other: {"VCPU": 1}}
    held = client.consumer(one)
    assert (held.generation, held.consumer_type) == (1, "INSTANCE")
    assert client.project_usages("project")["INSTANCE"]["VCPU"] >= 3

    before = {uuid: client.inventories(uuid) for uuid in (host.uuid, child.uuid)}
    moved = {
        host.uuid: ProviderInventories(generation=before[host.uuid].generation, inventories={}),
        child.uuid: ProviderInventories(
            generation=before[child.uuid].generation, inventories=before[host.uuid].inventories
        ),
    }
    consumers = [client.consumer(each) for each in (one, other)]
    client.reshape(
        moved,
        [
            msgspec.structs.replace(each, allocations={child.uuid: each.allocations[host.uuid]})
            for each in consumers
        ],
    )
    assert client.usages(child.uuid)["VCPU"] == 3
    for each in (one, other):
        client.delete_consumer(each)
    assert client.consumer(one).allocations == {}
    client.delete_inventory(child.uuid, "VCPU")
    client.delete_inventories(child.uuid)
    client.delete_provider_traits(host.uuid)
    client.delete_trait("CUSTOM_GOLD")
    client.delete_provider(child.uuid)
    client.delete_provider(host.uuid)


def test_a_rename_keeps_the_parent(client: Client) -> None:
    name = f"host-{some_uuid()}"
    host = client.create_provider(name)
    child = client.create_provider(f"{name}-child", parent_uuid=host.uuid)
    renamed = client.update_provider(child.uuid, name=f"{name}-other")
    assert (renamed.name, renamed.parent_uuid) == (f"{name}-other", host.uuid)
    # None is not the default: the provider becomes a root.
    root = client.update_provider(child.uuid, name=f"{name}-other", parent_uuid=None)
    assert (root.parent_uuid, root.root_uuid) == (None, child.uuid)


def test_a_consumer_without_a_type_can_be_written_again(client: Client) -> None:
    host = client.create_provider(f"host-{some_uuid()}")
    client.set_inventories(host.uuid, {"VCPU": Inventory(total=8)}, host.generation)
    typeless = msgspec.structs.replace(holding(some_uuid(), host.uuid, VCPU=1), consumer_type=None)
    client.set_consumer(typeless)
    seen = client.consumer(typeless.uuid)
    assert seen.consumer_type == "unknown"
    client.set_consumer(msgspec.structs.replace(seen, allocations={host.uuid: {"VCPU": 2}}))
    assert client.usages(host.uuid) == {"VCPU": 2}


def test_values_can_be_encoded_as_json(client: Client) -> None:
    host = client.create_provider(f"host-{some_uuid()}")
    assert msgspec.to_builtins(host)["root_uuid"] == host.uuid
    assert msgspec.json.encode(client.provider_traits(host.uuid))


@pytest.mark.process
def test_a_client_may_be_used_by_many_threads(server: RoostServer) -> None:
    with Client(server.url) as client:
        threads = [threading.Thread(target=client.providers) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client.providers() is not None


@pytest.mark.parametrize(
    ("url", "authorities_read"),
    [("http://placement:8778", 0), ("https://placement", 1), ("HTTPS://placement", 1)],
)
def test_authorities_are_read_for_tls_alone(
    url: str, authorities_read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes longer than everything else that most commands do."""
    create, contexts = ssl.create_default_context, []

    def remember(*arguments: Any, **options: Any) -> ssl.SSLContext:
        contexts.append(create(*arguments, **options))
        return contexts[-1]

    monkeypatch.setattr(ssl, "create_default_context", remember)
    with Client(url):
        pass
    assert len(contexts) == authorities_read
    assert all(context.verify_mode is ssl.CERT_REQUIRED for context in contexts)
