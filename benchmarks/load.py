"""Worlds into databases, by the fastest way that each database has.

The reference makes the schema, also for roost, which adopts it. A world is written to files once
and loaded as often as it is needed, so that both sides get the same bytes.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import os_resource_classes
import os_traits
import sqlalchemy

from benchmarks.worlds import World, class_ids, custom_traits

# Rows tell when they were made; both sides answer with it in a header.
MADE_AT = "2026-01-01 00:00:00"
PROJECTS = 20
CONSUMER_TYPE = "INSTANCE"
# What tab-separated text calls NULL, for PostgreSQL and for MariaDB alike.
NULL = r"\N"
BLOCK_SIZE = 1 << 20

Row = Sequence[object]


class Rows(NamedTuple):
    """What goes into one table."""

    table: str
    columns: tuple[str, ...]
    rows: Iterable[Row]


def create_schema(url: str) -> None:
    """The tables, as the reference makes them."""
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
    """The same database for the reference, which cannot write through psycopg 3."""
    return url.replace("postgresql+psycopg:", "postgresql+psycopg2:")


class Dump:
    """A world as one file for each table, in a folder."""

    def __init__(self, world: World, folder: Path) -> None:
        self.tables: list[tuple[str, tuple[str, ...], Path]] = []
        for table, columns, rows in tables(world):
            path = folder / f"{table}.tsv"
            with path.open("w") as file:
                for row in rows:
                    file.write("\t".join([NULL if v is None else str(v) for v in row]) + "\n")
            self.tables.append((table, columns, path))

    def load(self, url: str) -> None:
        """Fill the empty tables of a database, and let it look at what it got."""
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

        with psycopg.connect(plain(url), autocommit=True) as connection:
            for table, columns, path in self.tables:
                statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
                with connection.cursor() as cursor, cursor.copy(statement) as copy:
                    copy_file(path, copy)
                if "id" in columns:
                    # Ids were given, so the sequence has not moved.
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


def plain(url: str) -> str:
    """The URL as the driver itself reads it."""
    return url.replace("postgresql+psycopg:", "postgresql:")


def copy_file(path: Path, copy: Any) -> None:
    with path.open("rb") as file:
        while block := file.read(BLOCK_SIZE):
            copy.write(block)


def read_rows(path: Path) -> Iterator[list[str | None]]:
    with path.open() as file:
        for line in file:
            yield [None if value == NULL else value for value in line.rstrip("\n").split("\t")]


def tables(world: World) -> Iterator[Rows]:
    """All rows of a world, in an order that keeps references whole."""
    classes = class_ids(world)
    names = [*sorted(os_traits.get_traits()), *custom_traits(world)]
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
            for number, uuid, name, root, parent in world.providers
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
            for number, (provider, name, *values) in enumerate(world.inventories, 1)
        ),
    )
    yield Rows(
        "resource_provider_traits",
        ("created_at", "resource_provider_id", "trait_id"),
        ((MADE_AT, provider, traits[name]) for provider, name in world.traits),
    )
    yield Rows(
        "placement_aggregates",
        ("created_at", "id", "uuid"),
        ((MADE_AT, number, uuid) for number, uuid in world.aggregate_uuids.items()),
    )
    yield Rows(
        "resource_provider_aggregates",
        ("created_at", "resource_provider_id", "aggregate_id"),
        ((MADE_AT, provider, aggregate) for provider, aggregate in world.aggregates),
    )
    yield Rows(
        "consumers",
        ("created_at", "id", "uuid", "project_id", "user_id", "generation", "consumer_type_id"),
        (
            (MADE_AT, number, uuid, number % PROJECTS + 1, number % PROJECTS + 1, 1, 1)
            for number, uuid in world.consumers
        ),
    )
    yield Rows(
        "allocations",
        ("created_at", "id", "resource_provider_id", "consumer_id", "resource_class_id", "used"),
        (
            (MADE_AT, number, provider, consumer, classes[name], used)
            for number, (provider, name, consumer, used) in enumerate(world.allocations, 1)
        ),
    )


def _catalogue(classes: dict[str, int], traits: dict[str, int]) -> Iterator[Rows]:
    """What every Placement database has, whatever the cloud."""
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
