"""What must hold, checked in the tables and through workers, during a run and after it."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import httpx

from roost.assembly import build_application
from tests.faults.claimers import Allocations, Claimer
from tests.faults.cloud import MEMORY_MIN, NAMES, SERVICE_HEADERS, TREE_CHILD, TREE_ROOT
from tests.faults.crowds import Crowd
from tests.faults.databases import Database
from tests.faults.history import History
from tests.faults.keepers import Reshaper
from tests.faults.service import Worker
from tests.support.names import uid

# One statement, so that all rows are of one snapshot.
USED = """
SELECT p.uuid, i.resource_class_id, i.total, COALESCE(SUM(a.used), 0)
FROM resource_providers p
JOIN inventories i ON i.resource_provider_id = p.id
LEFT JOIN allocations a
  ON a.resource_provider_id = p.id AND a.resource_class_id = i.resource_class_id
GROUP BY p.uuid, i.resource_class_id, i.total
"""
WITHOUT_INVENTORY = """
SELECT a.consumer_id, p.name FROM allocations a
JOIN resource_providers p ON p.id = a.resource_provider_id
LEFT JOIN inventories i
  ON i.resource_provider_id = a.resource_provider_id
  AND i.resource_class_id = a.resource_class_id
WHERE i.id IS NULL
"""
HELD = """
SELECT a.consumer_id, p.uuid, c.name, a.used FROM allocations a
JOIN resource_providers p ON p.id = a.resource_provider_id
JOIN resource_classes c ON c.id = a.resource_class_id
"""
GENERATIONS = "SELECT uuid, generation FROM resource_providers"
TABLES = (
    "resource_providers",
    "inventories",
    "allocations",
    "consumers",
    "projects",
    "users",
    "resource_provider_aggregates",
    "resource_provider_traits",
    "roost_writers",
    "roost_changes",
    "roost_placements",
)
# What is shown of the log of a worker. The last line of a traceback says most.
TRACEBACK_LENGTH_MAX = 20_000
# Reads whose answers together show everything that an index contains.
INDEX_PATHS = (
    "/resource_providers",
    *(
        f"/resource_providers/{uid(name)}/{what}"
        for name in NAMES
        for what in ("inventories", "usages", "traits", "aggregates")
    ),
    *(
        f"/allocation_candidates?resources={resources}"
        for resources in ("VCPU:1", "DISK_GB:1", "VCPU:1,MEMORY_MB:1", f"MEMORY_MB:{MEMORY_MIN}")
    ),
)


class Sampler:
    """Checks the tables of every node, again and again."""

    def __init__(self, database: Database, history: History) -> None:
        self._database = database
        self._history = history
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(60)

    def _run(self) -> None:
        while not self._stop.is_set():
            for number in range(len(self._database.nodes)):
                # A node that is down or not in sync does not answer.
                with contextlib.suppress(Exception):
                    self._check_node(number)
            time.sleep(0.05)

    def _check_node(self, number: int) -> None:
        used = self._database.rows(number, USED)
        without_inventory = self._database.rows(number, WITHOUT_INVENTORY)
        report_excess(used, self._history, f"node {number}")
        for row in without_inventory:
            self._history.violate(f"node {number}: an allocation without inventory: {row}")


def report_excess(used: Iterable[tuple[Any, ...]], history: History, where: str) -> None:
    with_inventory = set()
    for provider, class_id, total, amount in used:
        if amount > total:
            history.violate(f"{where}: {amount} of {total} used of {provider}, class {class_id}")
        if provider in (uid(TREE_ROOT), uid(TREE_CHILD)):
            with_inventory.add(provider)
            if amount not in (0, 2 * Reshaper.amount):
                history.violate(f"{where}: half a reshape: {amount} used of {provider}")
    if len(with_inventory) != 1:
        history.violate(f"{where}: half a reshape: inventories of {with_inventory}")


# ---------------------------------------------------------------------------------------------
# After the run


def check_all(
    database: Database, workers: Sequence[Worker], claimers: Sequence[Claimer], history: History
) -> None:
    check_nodes(database, history)
    report_excess(database.rows(0, USED), history, "in the end")
    check_consumers(database, claimers, history)
    with contextlib.closing(fresh_service(database)) as fresh:
        for worker in workers:
            try:
                check_worker(worker, database, history)
                check_index(worker, fresh, history)
            except httpx.HTTPError as error:
                history.violate(f"in the end worker {worker.number} does not answer: {error!r}")
            check_log(worker, history)


def check_nodes(database: Database, history: History) -> None:
    """All nodes hold the same rows."""
    for table in TABLES:
        contents = [
            sorted(database.rows(number, f"SELECT * FROM {table}"), key=repr)
            for number in range(len(database.nodes))
        ]
        if any(other != contents[0] for other in contents[1:]):
            sizes = [len(rows) for rows in contents]
            history.violate(f"nodes differ in {table}: {sizes} rows")


def held_in_tables(database: Database) -> dict[str, dict[str, dict[str, int]]]:
    held: dict[str, dict[str, dict[str, int]]] = {}
    for consumer, provider, name, used in database.rows(0, HELD):
        held.setdefault(consumer, {}).setdefault(provider, {})[name] = used
    return held


def check_consumers(database: Database, claimers: Sequence[Claimer], history: History) -> None:
    """Acknowledged writes are stored, refused ones are not, uncertain ones not by half."""
    held = held_in_tables(database)
    for claimer in claimers:
        for consumer, (expected, _) in claimer.known.items():
            if held.get(consumer, {}) != expected:
                history.violate(
                    f"in the end {consumer} of {claimer.name} holds {held.get(consumer, {})}, "
                    f"was told {expected}"
                )
        for uncertain in claimer.uncertain_writes:
            found: Mapping[str, Allocations] = {one: held.get(one, {}) for one in uncertain.after}
            if not uncertain.allows(found):
                history.violate(f"neither {uncertain.before} nor {uncertain.after}: {found}")


def check_generations(database: Database, crowds: Sequence[Crowd], history: History) -> None:
    """Every acknowledged claim moved its providers, also those that shared a transaction."""
    generations = dict(database.rows(0, GENERATIONS))
    claims = sum((crowd.acknowledged for crowd in crowds), Counter[str]())
    for provider, count in claims.items():
        # The inventory was written before them.
        if generations[provider] < 1 + count:
            history.violate(
                f"{count} claims of {provider} were acknowledged, its generation is "
                f"{generations[provider]}"
            )


def check_worker(worker: Worker, database: Database, history: History) -> None:
    """What a worker answers is what the tables contain."""
    generations = dict(database.rows(0, GENERATIONS))
    used: dict[str, int] = {}
    for provider, _, _, amount in database.rows(0, USED):
        used[provider] = used.get(provider, 0) + int(amount)
    with httpx.Client(base_url=worker.url, headers=SERVICE_HEADERS, timeout=30) as client:
        listed = client.get("/resource_providers").json()["resource_providers"]
        seen = {one["uuid"]: one["generation"] for one in listed}
        if seen != generations:
            history.violate(f"worker {worker.number} knows {seen}, the tables {generations}")
        for provider in generations:
            usages = client.get(f"/resource_providers/{provider}/usages").json()["usages"]
            if sum(usages.values()) != used.get(provider, 0):
                history.violate(
                    f"worker {worker.number}: {usages} used of {provider}, the tables "
                    f"{used.get(provider, 0)}"
                )


def fresh_service(database: Database) -> httpx.Client:
    """A service that has just loaded the tables."""
    url = database.url().format(port=database.nodes[0].port)
    application = build_application(database_url=url, auth_strategy="noauth2", sync=False)
    return httpx.Client(
        transport=httpx.WSGITransport(app=application),
        base_url="http://fresh",
        headers=SERVICE_HEADERS,
    )


def check_index(worker: Worker, fresh: httpx.Client, history: History) -> None:
    """The index that a worker kept up to date all along answers as one that was just loaded."""
    with httpx.Client(base_url=worker.url, headers=SERVICE_HEADERS, timeout=30) as client:
        for path in INDEX_PATHS:
            expected, found = (contents(side.get(path).json()) for side in (fresh, client))
            if found != expected:
                history.violate(
                    f"worker {worker.number}, {path}: {found}, a fresh service says {expected}"
                )


def contents(answer: Any) -> Any:
    """An answer in which the order of lists does not count."""
    if isinstance(answer, dict):
        return {key: contents(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return sorted(map(contents, answer), key=repr)
    return answer


def check_log(worker: Worker, history: History) -> None:
    if "Traceback" in worker.log:
        start = worker.log.index("Traceback")
        history.violate(
            f"worker {worker.number}: {worker.log[start : start + TRACEBACK_LENGTH_MAX]}"
        )
