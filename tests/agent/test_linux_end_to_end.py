"""A Linux machine and a service: it is reported, claimed from, and reshaped."""

import pytest

from roost.agent.drivers import load_driver
from roost.agent.tracker import ReshapeForbidden, Tracker
from roost.model import Inventory
from tests.agent import machines
from tests.agent.hosts import claim


@pytest.fixture
def server(tmp_path):
    return machines.server(tmp_path)


def tracker(client, machine, **options):
    driver = load_driver("linux", {"root": str(machine.path), **options})
    return Tracker(client, driver, "host")


def names(client):
    return {each.name: each.uuid for each in client.providers()}


def test_numa_nodes_are_introduced_under_load(client, server):
    assert tracker(client, server, numa="never").update(startup=True)
    assert not tracker(client, server, numa="never").update(startup=True)
    root = names(client)["host"]
    resources = {"VCPU": 4, "MEMORY_MB": 14000, "DISK_GB": 10}
    consumers = [claim(client, f"consumer-{n}", {root: resources}) for n in range(4)]

    with pytest.raises(ReshapeForbidden):
        tracker(client, server).update(startup=False)
    assert tracker(client, server).update(startup=True)
    found = names(client)
    nodes = {found["host_numa0"], found["host_numa1"]}
    for uuid in consumers:
        held = client.consumer(uuid).allocations
        assert held.pop(root) == {"DISK_GB": 10}
        [(node, resources)] = held.items()
        assert node in nodes
        assert resources == {"VCPU": 4, "MEMORY_MB": 14000}
    assert {client.usages(node)["VCPU"] for node in nodes} == {8}
    assert not tracker(client, server).update(startup=False)


def test_a_host_of_openstack_is_adopted(client, server):
    """Nova reported the host before, and operators and Neutron wrote to it."""
    root = client.create_provider("host")
    inventories = client.inventories(root.uuid)
    known = {"VCPU": Inventory(total=16, allocation_ratio=4.0), "MEMORY_MB": Inventory(total=60000)}
    generation = client.set_inventories(root.uuid, known, inventories.generation).generation
    client.create_trait("CUSTOM_RACK_7")
    client.set_provider_traits(root.uuid, ["CUSTOM_RACK_7", "HW_CPU_X86_XOP"], generation)
    client.create_provider("host:ovs", parent_uuid=root.uuid)

    tracker(client, server).update(startup=True)
    found = names(client)
    assert "host:ovs" in found
    traits = client.provider_traits(root.uuid).traits
    assert traits >= {"CUSTOM_RACK_7", "HW_CPU_X86_AVX2"}
    assert "HW_CPU_X86_XOP" not in traits
    assert client.inventories(found["host_numa0"]).inventories["VCPU"].allocation_ratio == 4.0
