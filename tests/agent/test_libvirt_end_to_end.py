"""libvirt's test driver and a service: it is reported, claimed from, and reshaped."""

import socket

import pytest

from roost.agent.drivers import load_driver
from roost.agent.tracker import ReshapeForbidden, Tracker
from tests.agent.hosts import claim
from tests.agent.libvirt_hosts import domains_of_test_driver, pinned_domain
from tests.support.cli_runner import CommandLine, roost
from tests.support.names import uid

URI = "test:///default"
# Six domains of equal size. Three fit on node 0, whose memory is half of that of node 1.
NODES = {"domain-0": 1, "domain-1": 0, "domain-2": 1, "domain-3": 0, "domain-4": 1, "domain-5": 1}


def tracker(client, **options):
    driver = load_driver("libvirt", {"uri": URI, "reserved_memory_mb": "0", **options})
    return Tracker(client, driver, "host")


def names(client):
    return {each.name: each.uuid for each in client.providers()}


def domains():
    for number, (name, node) in enumerate(NODES.items()):
        cpus = [8 * node + number, 8 * node + (number + 1) % 8]
        yield pinned_domain(uid(name), node, cpus, 512)


def test_numa_nodes_are_introduced_and_every_domain_is_where_libvirt_says(client):
    assert tracker(client, numa="never").update(startup=True)
    root = names(client)["host"]
    resources = {"VCPU": 2, "MEMORY_MB": 512}
    for name in NODES:
        claim(client, name, {root: resources})
    with domains_of_test_driver(*domains()):
        with pytest.raises(ReshapeForbidden):
            tracker(client, numa="always").update(startup=False)
        plan = tracker(client, numa="always").update(startup=True)
    assert not plan.settlement.guessed
    found = names(client)
    assert {name: client.consumer(uid(name)).allocations for name in NODES} == {
        name: {found[f"host_numa{node}"]: resources} for name, node in NODES.items()
    }
    assert not tracker(client, numa="always").update(startup=False)


def test_a_consumer_that_is_no_domain_goes_where_there_is_room(client):
    tracker(client, numa="never").update(startup=True)
    root = names(client)["host"]
    claim(client, "domain", {root: {"VCPU": 2, "MEMORY_MB": 512}})
    claim(client, "other", {root: {"VCPU": 2, "MEMORY_MB": 1800}})
    with domains_of_test_driver(pinned_domain(uid("domain"), 0, [0, 1], 512)):
        plan = tracker(client, numa="always").update(startup=True)
    assert {consumer for consumer, _ in plan.settlement.guessed} == {uid("other")}
    found = names(client)
    assert client.consumer(uid("domain")).allocations.keys() == {found["host_numa0"]}
    assert client.consumer(uid("other")).allocations.keys() == {found["host_numa1"]}


def test_the_command_reshapes_a_host(client, agent_server):
    """In this process, whose domains the test driver shows."""
    tracker(client, numa="never", name="host").update(startup=True)
    claim(client, "domain", {names(client)["host"]: {"VCPU": 2, "MEMORY_MB": 512}})
    command = CommandLine(agent_server.url)
    options = ["--driver", "libvirt", "-o", f"uri={URI}", "-o", "name=host"]
    options += ["-o", "reserved_memory_mb=0", "-o", "numa=always"]
    with domains_of_test_driver(pinned_domain(uid("domain"), 1, [8, 9], 512)):
        command("agent", "reshape", *options)
    assert client.consumer(uid("domain")).allocations == {
        names(client)["host_numa1"]: {"VCPU": 2, "MEMORY_MB": 512}
    }


def test_the_command_reports_the_test_driver(client, agent_server):
    options = ["--driver", "libvirt", "-o", f"uri={URI}", "-o", "pool=default-pool"]
    roost("agent", "run", *options, "--once", url=agent_server.url)
    host = socket.gethostname()
    shown = roost("tree", host, url=agent_server.url)
    assert f"{host}_numa1" in shown
    inventories = {
        name: {
            resource_class: inventory.total
            for resource_class, inventory in client.inventories(uuid).inventories.items()
        }
        for name, uuid in names(client).items()
    }
    assert inventories == {
        host: {"DISK_GB": 100},
        f"{host}_numa0": {"VCPU": 8, "MEMORY_MB": 2048},
        f"{host}_numa1": {"VCPU": 8, "MEMORY_MB": 4096},
    }


@pytest.mark.parametrize("command", [["run", "--once"], ["reshape"]])
def test_a_daemon_that_does_not_run_is_one_line(client, agent_server, command):
    options = ["--driver", "libvirt", "-o", "uri=qemu+unix:///system?socket=/nowhere"]
    [line] = roost("agent", *command, *options, url=agent_server.url, status=2).splitlines()
    assert "cannot connect: Failed to connect socket to '/nowhere'" in line
    assert client.providers() == []
