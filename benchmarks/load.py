"""Loads datasets into databases, in the fastest way that each database offers.

The reference creates the schema, also for roost, which adopts it. A dataset is written to files
once and loaded as often as it is needed, so that both services get the same rows.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import os_resource_classes  # type: ignore[import-untyped]
import os_traits  # type: ignore[import-untyped]
import sqlalchemy

from benchmarks.datasets import Dataset, class_ids, custom_traits

# The creation time of all rows. Both services return it in a header.
MADE_AT = "2026-01-01 00:00:00"
PROJECTS = 20
CONSUMER_TYPE = "INSTANCE"
# NULL in tab-separated text, for PostgreSQL and for MariaDB.
NULL = r"\N"
BLOCK_SIZE = 1 << 20

Row = Sequence[object]


class Rows(NamedTuple):
    """The rows of one table."""

    table: str
    columns: tuple[str, ...]
    rows: Iterable[Row]


def create_schema(url: str) -> None:
    """Create the tables with the reference's own command."""
    manage = shutil.which("placement-manage", path=str(Path(sys.executable).parent))
    if manage is None:
        raise RuntimeError("the distribution openstack-placement is not installed")
    environment = os.environ | {"OS_PLACEMENT_DATABASE__CONNECTION": reference_url(url)}
    done = subprocess.run(
        [manage, "db", "sync"], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"placement-manage db sync failed:\n{done.stdout}{done.stderr}")


def reference_url(url: str) -> str:
    """The URL of the database for the reference, which cannot write through psycopg 3."""
    return url.replace("postgresql+psycopg:", "postgresql+psycopg2:")


class Dump:
    """A dataset as files in a folder, one for each table."""

    def __init__(self, dataset: Dataset, folder: Path) -> None:
        self.tables: list[tuple[str, tuple[str, ...], Path]] = []
        for table, columns, rows in tables(dataset):
            path = folder / f"{table}.tsv"
            with path.open("w") as file:
                for row in rows:
                    file.write("\t".join([NULL if v is None else str(v) for v in row]) + "\n")
            self.tables.append((table, columns, path))

    def load(self, url: str) -> None:
        """Fill the empty tables of a database and update its statistics."""
        if url.startswith("sqlite"):
            self._load_sqlite(url)
        elif url.startswith("postgresql"):
            self._load_postgresql(url)
        else:
            self._load_mariadb(url)

    def _load_sqlite(self, url: str) -> None:
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        with connection:
            for table, columns, path in self.tables:
                places = ", ".join("?" for _ in columns)
                statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
                connection.executemany(statement, read_rows(path))
            connection.execute("ANALYZE")
        connection.close()

    def _load_postgresql(self, url: str) -> None:
        import psycopg

        with psycopg.connect(driver_url(url), autocommit=True) as connection:
            for table, columns, path in self.tables:
                statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
                with connection.cursor() as cursor, cursor.copy(statement) as copy:
                    copy_file(path, copy)
                if "id" in columns:
                    # The rows came with ids, so the sequence is still at its start.
                    connection.execute(
                        f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) "
                        f"FROM {table}"
                    )
            connection.execute("VACUUM ANALYZE")

    def _load_mariadb(self, url: str) -> None:
        engine = sqlalchemy.create_engine(url, connect_args={"local_infile": True})
        with engine.begin() as connection:
            connection.exec_driver_sql("SET foreign_key_checks = 0, unique_checks = 0")
            for table, columns, path in self.tables:
                connection.exec_driver_sql(
                    f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE {table} ({', '.join(columns)})"
                )
        with engine.begin() as connection:
            for table, _, _ in self.tables:
                connection.exec_driver_sql(f"ANALYZE TABLE {table}").close()
        engine.dispose()


def driver_url(url: str) -> str:
    """The URL in the form that the driver itself accepts."""
    return url.replace("postgresql+psycopg:", "postgresql:")


def copy_file(path: Path, copy: Any) -> None:
    with path.open("rb") as file:
        while block := file.read(BLOCK_SIZE):
            copy.write(block)


def read_rows(path: Path) -> Iterator[list[str | None]]:
    with path.open() as file:
        for line in file:
            yield [None if value == NULL else value for value in line.rstrip("\n").split("\t")]


def tables(dataset: Dataset) -> Iterator[Rows]:
    """All rows of a dataset, in an order that satisfies foreign keys."""
    classes = class_ids(dataset)
    names = [*sorted(os_traits.get_traits()), *custom_traits(dataset)]
    traits = {name: number for number, name in enumerate(names, 1)}
    yield from _catalogue(classes, traits)
    yield Rows(
        "resource_providers",
        (
            "created_at",
            "id",
            "uuid",
            "name",
            "generation",
            "root_provider_id",
            "parent_provider_id",
        ),
        (
            (MADE_AT, number, uuid, name, 1, root, parent)
            for number, uuid, name, root, parent in dataset.providers
        ),
    )
    yield Rows(
        "inventories",
        (
            *("created_at", "id", "resource_provider_id", "resource_class_id", "total", "reserved"),
            *("min_unit", "max_unit", "step_size", "allocation_ratio"),
        ),
        (
            (MADE_AT, number, provider, classes[name], *values)
            for number, (provider, name, *values) in enumerate(dataset.inventories, 1)
        ),
    )
    yield Rows(
        "resource_provider_traits",
        ("created_at", "resource_provider_id", "trait_id"),
        ((MADE_AT, provider, traits[name]) for provider, name in dataset.traits),
    )
    yield Rows(
        "placement_aggregates",
        ("created_at", "id", "uuid"),
        ((MADE_AT, number, uuid) for number, uuid in dataset.aggregate_uuids.items()),
    )
    yield Rows(
        "resource_provider_aggregates",
        ("created_at", "resource_provider_id", "aggregate_id"),
        ((MADE_AT, provider, aggregate) for provider, aggregate in dataset.aggregates),
    )
    yield Rows(
        "consumers",
        ("created_at", "id", "uuid", "project_id", "user_id", "generation", "consumer_type_id"),
        (
            (MADE_AT, number, uuid, number % PROJECTS + 1, number % PROJECTS + 1, 1, 1)
            for number, uuid in dataset.consumers
        ),
    )
    yield Rows(
        "allocations",
        ("created_at", "id", "resource_provider_id", "consumer_id", "resource_class_id", "used"),
        (
            (MADE_AT, number, provider, consumer, classes[name], used)
            for number, (provider, name, consumer, used) in enumerate(dataset.allocations, 1)
        ),
    )


def _catalogue(classes: dict[str, int], traits: dict[str, int]) -> Iterator[Rows]:
    """The classes, traits, projects, users and consumer types, which do not depend on the hosts."""
    standard = {name: number for number, name in enumerate(os_resource_classes.STANDARDS)}
    yield Rows(
        "resource_classes",
        ("created_at", "id", "name"),
        ((MADE_AT, number, name) for name, number in (standard | classes).items()),
    )
    yield Rows(
        "traits",
        ("created_at", "id", "name"),
        ((MADE_AT, number, name) for name, number in traits.items()),
    )
    for table, prefix in (("projects", "project"), ("users", "user")):
        yield Rows(
            table,
            ("created_at", "id", "external_id"),
            [(MADE_AT, number, f"{prefix}-{number}") for number in range(1, PROJECTS + 1)],
        )
    yield Rows("consumer_types", ("created_at", "id", "name"), [(MADE_AT, 1, CONSUMER_TYPE)])
