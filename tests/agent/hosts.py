"""Hosts and consumers for the tests of the agent."""

from collections.abc import Callable, Mapping
from typing import Any

from roost.agent.driver import Driver, ReshapeNeeded
from roost.agent.provider_tree import ProviderTree
from roost.client import Client, Consumer
from tests.support.names import uid


def claim(client: Client, name: str, allocations: Mapping[str, Mapping[str, int]]) -> str:
    """Create a consumer with these allocations, by provider UUID; its UUID."""
    client.set_consumer(
        Consumer(
            uuid=uid(name),
            allocations=allocations,
            project_id="project",
            user_id="user",
            consumer_type="INSTANCE",
        )
    )
    return uid(name)


Shape = Callable[[ProviderTree, str, dict[str, Any] | None], None]


class ShapeDriver(Driver):
    """A driver that calls a function, which tests replace."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def nodenames(self) -> list[str]:
        return ["host"]

    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: dict[str, Any] | None = None,
    ) -> None:
        self.shape(provider_tree, nodename, allocations)


def inventory(total: int, **fields: Any) -> dict[str, Any]:
    return {"total": total, **fields}


def flat(tree: ProviderTree, nodename: str, _: dict[str, Any] | None) -> None:
    """A host that has everything on the root."""
    tree.update_inventory(
        nodename, {"VCPU": inventory(16), "MEMORY_MB": inventory(4096), "VGPU": inventory(8)}
    )
    tree.update_traits(nodename, {"HW_CPU_X86_AVX2", "CUSTOM_GOLD"})


def graphics(tree: ProviderTree, nodename: str, allocations: dict[str, Any] | None) -> None:
    """The same host with a child for each of two graphics cards, which have the VGPUs."""
    names = [f"{nodename}_gpu{number}" for number in (0, 1)]
    if "VGPU" in tree.data(nodename).inventory and allocations is None:
        raise ReshapeNeeded("VGPU moves from the root to the graphics cards")
    tree.update_inventory(nodename, {"VCPU": inventory(16), "MEMORY_MB": inventory(4096)})
    for name in names:
        if not tree.exists(name):
            tree.new_child(name, nodename, uuid=uid(name))
        tree.update_inventory(name, {"VGPU": inventory(4)})
    root, free = tree.data(nodename).uuid, dict.fromkeys(names, 4)
    for record in (allocations or {}).values():
        held = record["allocations"].get(root, {"resources": {}})["resources"]
        amount = held.pop("VGPU", 0)
        if amount:
            name = next(name for name in names if free[name] >= amount)
            free[name] -= amount
            record["allocations"][tree.data(name).uuid] = {"resources": {"VGPU": amount}}


def totals(tree: ProviderTree) -> dict[str, dict[str, int]]:
    """Name -> class -> total, parents first."""
    data = [tree.data(uuid) for uuid in tree.get_provider_uuids()]
    return {
        each.name: {name: fields["total"] for name, fields in each.inventory.items()}
        for each in data
    }


def delete_everything(client: Client) -> None:
    providers = client.providers()
    for provider in providers:
        for consumer in client.provider_consumers(provider.uuid):
            client.delete_consumer(consumer)
    # Children before their parents: a provider with children cannot be deleted.
    while providers:
        parents = {provider.parent_uuid for provider in providers}
        for provider in [each for each in providers if each.uuid not in parents]:
            client.delete_provider(provider.uuid)
        providers = client.providers()
