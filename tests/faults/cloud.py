"""The small cloud that the clients write to."""

from typing import Any

import httpx

from tests.support import world
from tests.support.headers import HEADERS
from tests.support.hostile.cloud import device_tree, puzzle_tree
from tests.support.names import uid

# Only services may reshape.
SERVICE_HEADERS = {**HEADERS, "x-roles": "admin,service"}
OWNER = {"project_id": "project", "user_id": "user", "consumer_type": "INSTANCE"}

HOSTS = 4
HOST_VCPUS = 10
MEMORY_MIN = 1000
STORAGE_DISK = 120
TREE_VCPUS = 8
CROWDS = 2
CROWD_PCPUS = 10


HOST_NAMES = [f"host{number}" for number in range(HOSTS)]
STORAGE, TREE_ROOT, TREE_CHILD, WANDERER = "storage", "tree", "tree-child", "wanderer"


def crowd_provider(number: int) -> str:
    """The provider that one crowd alone claims."""
    return f"crowd{number}"


CROWD_NAMES = [crowd_provider(number) for number in range(CROWDS)]
NAMES = [*HOST_NAMES, STORAGE, TREE_ROOT, TREE_CHILD, WANDERER, *CROWD_NAMES]


def build(url: str) -> None:
    """Create the cloud through one worker."""
    with httpx.Client(base_url=url, headers=SERVICE_HEADERS, timeout=30) as client:
        build_with(client)


def build_with(client: httpx.Client) -> None:
    for name in HOST_NAMES:
        _provider(client, name)
        _set_inventories(client, name, VCPU=HOST_VCPUS, MEMORY_MB=MEMORY_MIN)
    _provider(client, STORAGE)
    _set_inventories(client, STORAGE, DISK_GB=STORAGE_DISK)
    _provider(client, TREE_ROOT)
    _provider(client, TREE_CHILD, TREE_ROOT)
    _set_inventories(client, TREE_ROOT, VCPU=TREE_VCPUS)
    _provider(client, WANDERER, HOST_NAMES[0])
    for name in CROWD_NAMES:
        _provider(client, name)
        _set_inventories(client, name, PCPU=CROWD_PCPUS)
    # What hostile clients search. No honest client wants anything of these classes.
    world.load(world.build(*device_tree(), *puzzle_tree()), client)


def _send(client: httpx.Client, method: str, path: str, body: Any) -> None:
    answer = client.request(method, path, json=body)
    if answer.status_code not in (200, 201, 204):
        raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")


def _provider(client: httpx.Client, name: str, parent: str | None = None) -> None:
    body = {"name": name, "uuid": uid(name)}
    if parent is not None:
        body["parent_provider_uuid"] = uid(parent)
    _send(client, "POST", "/resource_providers", body)


def _set_inventories(client: httpx.Client, name: str, **totals: int) -> None:
    body = {
        "resource_provider_generation": 0,
        "inventories": {key: {"total": total} for key, total in totals.items()},
    }
    _send(client, "PUT", f"/resource_providers/{uid(name)}/inventories", body)
