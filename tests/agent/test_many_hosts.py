"""The agents of many hosts, concurrently, against one server on PostgreSQL.

`scripts/many-hosts` runs it with a thousand hosts.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from roost.agent.driver import Allocations
from roost.agent.provider_tree import ProviderTree
from roost.agent.tracker import Tracker
from roost.client import Client
from tests.agent.hosts import ShapeDriver, inventory, uid
from tests.support.database_servers import PostgreSQL
from tests.support.long_form import choose
from tests.support.roost_server import RoostServer

HOSTS = int(os.environ.get("ROOST_TEST_HOSTS", choose(short="34", long="50")))
CONCURRENT_UPDATES = 32


def numa(tree: ProviderTree, nodename: str, _: Allocations | None) -> None:
    """A root, two NUMA nodes with processors and memory, a network card below each."""
    tree.update_inventory(nodename, {"DISK_GB": inventory(1000)})
    for number in (0, 1):
        node, card = f"{nodename}_numa{number}", f"{nodename}_card{number}"
        if not tree.exists(node):
            tree.new_child(node, nodename, uuid=uid(node))
            tree.new_child(card, node, uuid=uid(card))
        tree.update_inventory(node, {"VCPU": inventory(32), "MEMORY_MB": inventory(65536)})
        tree.update_traits(node, {"HW_NUMA_ROOT"})
        tree.update_inventory(card, {"SRIOV_NET_VF": inventory(8)})


def test_many_hosts_are_created_and_updated_concurrently(
    postgresql: PostgreSQL, tmp_path: Path
) -> None:
    url = postgresql.create_database()
    arguments = ("--workers", "2")
    with (
        RoostServer(url, tmp_path, arguments=arguments) as server,
        Client(server.url, timeout=120) as client,
    ):
        names = [f"node{number}" for number in range(HOSTS)]
        drivers = {name: ShapeDriver(numa) for name in names}

        def update(name: str) -> bool:
            return Tracker(client, drivers[name], name).update(startup=True) is not None

        seconds = []
        with ThreadPoolExecutor(CONCURRENT_UPDATES) as pool:
            # The first round creates everything; in the second one nothing has changed.
            for expected in (True, False):
                began = time.monotonic()
                assert set(pool.map(update, names)) == {expected}
                seconds.append(time.monotonic() - began)
        print(f"{HOSTS} hosts: created in {seconds[0]:.0f} s, checked in {seconds[1]:.0f} s")
        assert len(client.providers()) == 5 * HOSTS
        found = client.candidates({"resources": "VCPU:32,MEMORY_MB:65536", "limit": 10_000})
        assert len(found.candidates) == 4 * HOSTS
    postgresql.drop_database(url)
