"""`roost db check` compares indexes and keys with the schema, and adds what is missing."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from roost.health.check import check
from roost.health.findings import Finding, FindingKind
from roost.health.repair import repair
from roost.store.adoption.adopt import IncompleteIds
from roost.store.schema import ROOST_TABLES
from roost.store.store import Store
from tests.adoption.tables import describe
from tests.health.broken import make_cloud, write

INCOMPLETE = IncompleteIds()


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    store = make_cloud(database_url)
    yield store
    store.dispose()


def found(store: Store, *kinds: FindingKind) -> list[Finding]:
    findings = check(store, lambda _: None)
    assert {each.kind for each in findings} <= {*kinds}
    return findings


def subjects(findings: list[Finding]) -> set[str]:
    return {each.subject for each in findings}


def definitions(engine: Engine) -> dict[str, Any]:
    inspector = sa.inspect(engine)
    own = {table.name: inspector.get_indexes(table.name) for table in ROOST_TABLES}
    return {**describe(engine), **own}


def drop_indexes(engine: Engine) -> set[str]:
    """Drop all indexes that are no keys; returns what a check should say about them."""
    inspector = sa.inspect(engine)
    dropped = set()
    for table in inspector.get_table_names():
        needed = [each["constrained_columns"] for each in inspector.get_foreign_keys(table)]
        for index in inspector.get_indexes(table):
            # MariaDB keeps the index of a foreign key.
            if index["unique"] or any(index["column_names"][:1] == each[:1] for each in needed):
                continue
            where = f" ON {table}" if engine.dialect.name == "mysql" else ""
            write(engine, f"DROP INDEX {index['name']}{where}")
            dropped.add(f"{table} ({', '.join(map(str, index['column_names']))})")
    return dropped


def drop_keys(engine: Engine, *tables: str) -> set[str]:
    """Drop all unique and foreign keys of these tables."""
    inspector = sa.inspect(engine)
    is_mysql = engine.dialect.name == "mysql"
    dropped = set()
    for table in tables:
        foreign, unique = ("FOREIGN KEY", "INDEX") if is_mysql else ("CONSTRAINT", "CONSTRAINT")
        for key in inspector.get_foreign_keys(table):
            write(engine, f"ALTER TABLE {table} DROP {foreign} {key['name']}")
            dropped.add(f"{table} ({', '.join(key['constrained_columns'])})")
        for other in inspector.get_unique_constraints(table):
            write(engine, f"ALTER TABLE {table} DROP {unique} {other['name']}")
            dropped.add(f"{table} ({', '.join(other['column_names'])})")
    return dropped


def test_missing_indexes_are_found_and_created(store: Store) -> None:
    before = definitions(store.engine)
    dropped = drop_indexes(store.engine)
    assert len(dropped) > 7
    assert "roost_placements (created_at)" in dropped
    findings = found(store, FindingKind.MISSING_INDEX)
    assert subjects(findings) == dropped
    assert repair(store, FindingKind.MISSING_INDEX, INCOMPLETE) == len(dropped)
    assert found(store) == []
    assert definitions(store.engine) == before


def test_the_statements_that_are_shown_create_them(store: Store) -> None:
    before = definitions(store.engine)
    drop_indexes(store.engine)
    for each in found(store, FindingKind.MISSING_INDEX):
        write(store.engine, each.detail.removeprefix("index: "))
    assert definitions(store.engine) == before


SERVERS = pytest.mark.parametrize("database_url", ["postgresql", "mariadb"], indirect=True)


@SERVERS
def test_missing_keys_are_found_and_added(store: Store) -> None:
    before = definitions(store.engine)
    dropped = drop_keys(
        store.engine, "resource_providers", "consumers", "projects", "resource_provider_traits"
    )
    assert len(dropped) == 9
    findings = found(store, FindingKind.MISSING_KEY)
    assert subjects(findings) == dropped
    assert repair(store, FindingKind.MISSING_KEY, INCOMPLETE) == len(findings)
    assert found(store) == []

    def names_of_unique_keys(tables: dict[str, Any]) -> list[str]:
        return [
            key["name"]
            for name in before
            if "unique" in before[name]
            for key in tables[name]["unique"]
        ]

    assert names_of_unique_keys(definitions(store.engine)) == names_of_unique_keys(before)


@SERVERS
def test_rows_in_the_way_of_a_key_are_named_and_left_alone(store: Store) -> None:
    drop_keys(store.engine, "projects", "resource_provider_traits")
    write(
        store.engine,
        "INSERT INTO projects (external_id) VALUES ('twice'), ('twice')",
        "INSERT INTO resource_provider_traits (resource_provider_id, trait_id) VALUES (999, 1)",
    )
    findings = found(store, FindingKind.MISSING_KEY, FindingKind.DANGLING)
    details = {each.subject: each.detail for each in findings}
    unique = details["projects (external_id)"]
    assert "1 values are in more than one row (twice)" in unique
    assert "ADD CONSTRAINT uniq_projects0external_id UNIQUE" in unique
    foreign = details["resource_provider_traits (resource_provider_id)"]
    assert "remove 1 rows that refer to nothing" in foreign
    # Only the foreign key of the other column can be added.
    assert repair(store, FindingKind.MISSING_KEY, INCOMPLETE) == 1
    assert repair(store, FindingKind.DANGLING, INCOMPLETE) == 1
    assert repair(store, FindingKind.MISSING_KEY, INCOMPLETE) == 1
    assert subjects(found(store, FindingKind.MISSING_KEY)) == {"projects (external_id)"}
    write(store.engine, "DELETE FROM projects WHERE external_id = 'twice'")
    assert repair(store, FindingKind.MISSING_KEY, INCOMPLETE) == 1
    assert found(store) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sqlite_can_add_unique_keys_alone(store: Store) -> None:
    """A copy of a table that was made by hand has no keys."""
    write(
        store.engine,
        "CREATE TABLE copy AS SELECT * FROM resource_provider_traits",
        "DROP TABLE resource_provider_traits",
        "ALTER TABLE copy RENAME TO resource_provider_traits",
        "CREATE TABLE copy AS SELECT * FROM projects",
        "DROP TABLE projects",
        "ALTER TABLE copy RENAME TO projects",
    )
    findings = found(store, FindingKind.MISSING_KEY, FindingKind.MISSING_INDEX)
    assert len(findings) == 6
    assert sum("SQLite cannot add it" in each.detail for each in findings) == 4
    assert repair(store, FindingKind.MISSING_INDEX, INCOMPLETE) == 1
    assert repair(store, FindingKind.MISSING_KEY, INCOMPLETE) == 1
    assert len(found(store, FindingKind.MISSING_KEY)) == 4


def test_keys_that_do_not_belong_there_are_found(store: Store) -> None:
    """They would make the database refuse what the API allows."""
    write(store.engine, "CREATE UNIQUE INDEX one_each ON inventories (resource_provider_id)")
    if store.engine.dialect.name != "sqlite":
        write(
            store.engine,
            "ALTER TABLE inventories ADD CONSTRAINT of_class FOREIGN KEY (resource_class_id)"
            " REFERENCES resource_classes (id)",
        )
    # A plain index does no harm.
    write(store.engine, "CREATE INDEX by_total ON inventories (total)")
    findings = found(store, FindingKind.EXTRA_KEY)
    assert subjects(findings) == {
        "inventories (resource_provider_id)",
        *(["inventories (resource_class_id)"] if store.engine.dialect.name != "sqlite" else []),
    }
    for each in findings:
        write(store.engine, re.sub(r"^[^:]*: ", "", each.detail))
    assert found(store) == []
