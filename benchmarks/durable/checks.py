"""What must be true after many claims: in the tables, and in what the service says."""

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import os_resource_classes  # type: ignore[import-untyped]
import sqlalchemy

from benchmarks.bulk_reads import walk
from benchmarks.durable.holdings import EXAMPLES_MAX
from benchmarks.services import RoostService

# For each worker. The kernel chooses the worker of a connection; with these, each gets some.
USAGE_READS = 4

# Used amounts by the UUID of the provider and the name of the class; none is 0.
Usages = dict[tuple[str, str], int]


class Provider(msgspec.Struct):
    uuid: str
    usages: dict[str, int]


class ProviderPage(msgspec.Struct):
    resource_providers: list[Provider]


def read_usages(engine: sqlalchemy.Engine) -> Usages:
    """The sums of all allocations in the tables."""
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT p.uuid, a.resource_class_id, SUM(a.used) FROM allocations a "
            "JOIN resource_providers p ON p.id = a.resource_provider_id "
            "GROUP BY p.uuid, a.resource_class_id"
        ).all()
        names = read_class_names(connection)
    return {(uuid, names[number]): int(used) for uuid, number, used in rows}


def read_class_names(connection: sqlalchemy.Connection) -> dict[int, str]:
    rows = connection.exec_driver_sql("SELECT id, name FROM resource_classes").all()
    return dict(enumerate(os_resource_classes.STANDARDS)) | dict(rows)


def find_over_allocated(engine: sqlalchemy.Engine) -> list[str]:
    """Providers of which more is used than they have, according to the tables."""
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT p.uuid, i.resource_class_id, i.total, i.reserved, i.allocation_ratio "
            "FROM inventories i JOIN resource_providers p ON p.id = i.resource_provider_id"
        ).all()
        names = read_class_names(connection)
    capacities = {
        (uuid, names[number]): int((total - reserved) * ratio)
        for uuid, number, total, reserved, ratio in rows
    }
    over = [
        f"{uuid}: {used:,} of {capacities.get((uuid, name), 0):,} {name}"
        for (uuid, name), used in read_usages(engine).items()
        if used > capacities.get((uuid, name), 0)
    ]
    return [f"{len(over):,} over-allocated: {examples(over)}"] if over else []


def compare_usages(service: RoostService, engine: sqlalchemy.Engine) -> list[str]:
    """Whether the running service reports the usage that is in the tables."""
    stored = Counter(read_usages(engine))
    differing: set[str] = set()
    for _ in range(USAGE_READS * service.processes):
        served: Usages = {}
        with service.connect() as connection:
            for page in walk(connection, "/resource_providers?include=usages"):
                for provider in msgspec.json.decode(page, type=ProviderPage).resource_providers:
                    for name, used in provider.usages.items():
                        if used:
                            served[provider.uuid, name] = used
        differing |= {
            f"{uuid}: {served.get((uuid, name), 0):,} of {name} served, {stored[uuid, name]:,} held"
            for uuid, name in served.keys() | stored.keys()
            if served.get((uuid, name), 0) != stored[uuid, name]
        }
    if not differing:
        return []
    return [f"{len(differing):,} usages differ from the tables: {examples(sorted(differing))}"]


def run_db_check(database_url: str, folder: Path) -> list[str]:
    """What `roost db check` finds."""
    done = subprocess.run(
        [sys.executable, "-m", "roost", "db", "check", "--database", database_url],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return []
    return [f"roost db check: {(done.stdout + done.stderr).strip()}"]


def examples(texts: Sequence[str]) -> str:
    return "; ".join(texts[:EXAMPLES_MAX])
