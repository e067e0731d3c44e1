"""A small cloud for audits, on a service in this process."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from roost.client import Client, Consumer, Inventory, direct
from tests.support.names import uid


class Cloud:
    """Hosts with ten cores each, and what consumers hold of them."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def add_host(self, name: str) -> None:
        host = self.client.create_provider(name, uuid=uid(name))
        inventories = {"VCPU": Inventory(total=10), "DISK_GB": Inventory(total=100)}
        self.client.set_inventories(host.uuid, inventories, host.generation)

    def add_consumer(
        self, name: str, held: Mapping[str, Mapping[str, int]], *, kind: str | None = "INSTANCE"
    ) -> None:
        self.client.set_consumer(
            Consumer(
                uuid=uid(name),
                allocations={uid(host): resources for host, resources in held.items()},
                project_id="project",
                user_id="user",
                consumer_type=kind,
            )
        )

    def write_again(self, name: str) -> None:
        """Somebody writes a consumer as it is."""
        self.client.set_consumer(self.consumer(name))

    def consumer(self, name: str) -> Consumer:
        return self.client.consumer(uid(name))

    def used(self, host: str) -> int:
        return self.client.usages(uid(host))["VCPU"]


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    with direct(f"sqlite:///{tmp_path / 'roost.db'}", sync=True) as client:
        cloud = Cloud(client)
        cloud.add_host("host1")
        cloud.add_host("host2")
        yield cloud
