"""Clients that change what the providers are, and one that watches them.

Each object that is changed belongs to one client, which knows what it may look like.
"""

from collections.abc import Sequence

from tests.faults.clients import Client, Unknown
from tests.faults.cloud import (
    HOST_NAMES,
    MEMORY_MIN,
    OWNER,
    TREE_CHILD,
    TREE_ROOT,
    TREE_VCPUS,
    WANDERER,
)
from tests.faults.history import History
from tests.faults.service import Worker
from tests.support.names import uid


class InventoryWriter(Client):
    """Changes the memory of a host again and again."""

    pause_seconds = 0.05

    def __init__(self, host: str, workers: Sequence[Worker], history: History, seed: int) -> None:
        super().__init__(f"keeper of {host}", workers, history, seed)
        self.path = f"/resource_providers/{uid(host)}/inventories"
        self.possible = {MEMORY_MIN}

    def step(self) -> None:
        seen = self.read("read inventories", self.path)
        total = seen["inventories"]["MEMORY_MB"]["total"]
        if total not in self.possible:
            self.history.violate(f"{self.name}: {total}, expected one of {self.possible}")
        new = MEMORY_MIN + self.random.randint(1, 1000)
        inventories = {**seen["inventories"]}
        inventories["MEMORY_MB"] = {**inventories["MEMORY_MB"], "total": new}
        body = {
            "resource_provider_generation": seen["resource_provider_generation"],
            "inventories": inventories,
        }
        try:
            answer = self.send("change inventories", "PUT", self.path, body)
        except Unknown:
            # It may still take place, as long as no other write has.
            self.possible |= {new}
            raise
        if answer.status == 200:
            self.possible = {new}
        elif answer.status != 409:
            self.history.violate(f"{self.name}: {answer.status} {answer.text[:300]}")


class Reshaper(Client):
    """Moves the inventory of a root to its child and back, with the consumers that hold it."""

    pause_seconds = 0.05
    holders = (uid("holder one"), uid("holder two"))
    amount = 3

    def step(self) -> None:
        names = (TREE_ROOT, TREE_CHILD)
        inventories = {
            name: self.read("read inventories", f"/resource_providers/{uid(name)}/inventories")
            for name in names
        }
        holders = {one: self.read("read", f"/allocations/{one}") for one in self.holders}
        with_inventory = [name for name in names if inventories[name]["inventories"]]
        if len(with_inventory) != 1:
            # A reshape of an earlier step took place between these reads.
            return
        [source] = with_inventory
        target = TREE_CHILD if source == TREE_ROOT else TREE_ROOT
        body = {
            "inventories": {
                uid(name): {
                    "resource_provider_generation": inventories[name][
                        "resource_provider_generation"
                    ],
                    "inventories": {"VCPU": {"total": TREE_VCPUS}} if name == target else {},
                }
                for name in names
            },
            "allocations": {
                one: {
                    "allocations": {uid(target): {"resources": {"VCPU": self.amount}}},
                    "consumer_generation": seen.get("consumer_generation"),
                    **OWNER,
                }
                for one, seen in holders.items()
            },
        }
        answer = self.send("reshape", "POST", "/reshaper", body)
        if answer.status not in (204, 409):
            self.history.violate(f"reshape: {answer.status} {answer.text[:300]}")


class Mover(Client):
    """Moves a provider from one host to another."""

    pause_seconds = 0.1

    def __init__(self, name: str, workers: Sequence[Worker], history: History, seed: int) -> None:
        super().__init__(name, workers, history, seed)
        self.possible: set[str] = {uid(HOST_NAMES[0])}

    def step(self) -> None:
        path = f"/resource_providers/{uid(WANDERER)}"
        seen = self.read("read provider", path)
        if seen["parent_provider_uuid"] not in self.possible:
            self.history.violate(f"{self.name}: below {seen['parent_provider_uuid']}")
        if seen["root_provider_uuid"] != seen["parent_provider_uuid"]:
            self.history.violate(f"{self.name}: the root is not the parent: {seen}")
        parent = uid(self.random.choice(HOST_NAMES))
        body = {"name": WANDERER, "parent_provider_uuid": parent}
        try:
            answer = self.send("move provider", "PUT", path, body)
        except Unknown:
            # No generation guards this write, so it may take place at any later time.
            self.possible |= set(map(uid, HOST_NAMES))
            raise
        if answer.status == 200 and len(self.possible) == 1:
            self.possible = {parent}
        elif answer.status not in (200, 409):
            self.history.violate(f"{self.name}: {answer.status} {answer.text[:300]}")


class Watcher(Client):
    """Reads through one worker after the other: no generation ever decreases."""

    pause_seconds = 0.02

    def __init__(self, name: str, workers: Sequence[Worker], history: History, seed: int) -> None:
        super().__init__(name, workers, history, seed)
        self.generations: dict[str, int] = {}

    def step(self) -> None:
        listed = self.read("list", "/resource_providers")["resource_providers"]
        for one in listed:
            last = self.generations.get(one["uuid"], 0)
            if one["generation"] < last:
                self.history.violate(
                    f"{self.name}: the generation of {one['name']} was {last}, is "
                    f"{one['generation']}"
                )
            self.generations[one["uuid"]] = one["generation"]
        self.check_tree()

    def check_tree(self) -> None:
        query = f"/allocation_candidates?resources=VCPU:1&in_tree={uid(TREE_ROOT)}"
        summaries = self.read("search", query)["provider_summaries"]
        if not summaries:
            return
        with_inventory = [
            summaries[uid(name)]["resources"]["VCPU"]["used"]
            for name in (TREE_ROOT, TREE_CHILD)
            if "VCPU" in summaries[uid(name)]["resources"]
        ]
        if len(with_inventory) != 1 or with_inventory[0] not in (0, 2 * Reshaper.amount):
            self.history.violate(f"{self.name}: half a reshape: {summaries}")
