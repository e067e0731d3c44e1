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
from tests.health.broken import BREAKS, drop_all_keys, make_cloud, write

INCOMPLETE = IncompleteIds()


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    store = make_cloud(database_url)
    yield store
    store.dispose()


def found(store: Store, *kinds: FindingKind) -> list[Finding]:
    findings = check(store)
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
    drop_all_keys(store.engine, "resource_provider_traits", "projects")
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


# ---------------------------------------------------------------------------------------------
# Primary keys

DROP_PRIMARY_KEY = {
    "postgresql": "ALTER TABLE {0} DROP CONSTRAINT {0}_pkey CASCADE",
    # A column that counts up cannot be without a key.
    "mysql": "ALTER TABLE {0} MODIFY id INTEGER NOT NULL, DROP PRIMARY KEY",
}
OTHER_PRIMARY_KEY = {
    "postgresql": "ALTER TABLE {0} DROP CONSTRAINT {0}_pkey, ADD PRIMARY KEY ({1})",
    "mysql": "ALTER TABLE {0} DROP PRIMARY KEY, ADD PRIMARY KEY ({1})",
}


def details(findings: list[Finding], kind: FindingKind) -> dict[str, str]:
    return {each.subject: each.detail for each in findings if each.kind is kind}


@SERVERS
@pytest.mark.parametrize("table", ["resource_providers", "inventories"])
def test_a_missing_primary_key_is_found_with_everything_else(store: Store, table: str) -> None:
    dialect = store.engine.dialect.name
    if dialect == "mysql" and table != "inventories":
        # Of these the index of the key is kept by foreign keys.
        drop_keys(store.engine, "resource_providers", "resource_provider_traits")
    write(
        store.engine,
        DROP_PRIMARY_KEY[dialect].format(table),
        BREAKS[FindingKind.OVER_CAPACITY][0],
    )
    findings = found(store, FindingKind.MISSING_KEY, FindingKind.OVER_CAPACITY)
    assert f"{table} (id)" in details(findings, FindingKind.MISSING_KEY)
    assert details(findings, FindingKind.OVER_CAPACITY) == {"host": "VCPU: 17 used of 16"}
    assert repair(store, FindingKind.MISSING_KEY, INCOMPLETE) == len(findings) - 1
    assert details(found(store, FindingKind.OVER_CAPACITY), FindingKind.MISSING_KEY) == {}


@SERVERS
def test_another_primary_key_is_named_and_left_alone(store: Store) -> None:
    dialect = store.engine.dialect.name
    write(
        store.engine,
        OTHER_PRIMARY_KEY[dialect].format("inventories", "id, resource_provider_id"),
    )
    [finding] = found(store, FindingKind.MISSING_KEY)
    assert finding.subject == "inventories (id)"
    assert "another primary key, (id, resource_provider_id)" in finding.detail
    assert finding.repair == ""
    assert repair(store, FindingKind.MISSING_KEY, INCOMPLETE) == 0
    write(store.engine, finding.detail.rpartition("; then ")[2])
    assert found(store) == []


@SERVERS
def test_the_order_of_the_columns_of_a_key_does_not_matter(store: Store) -> None:
    drop_keys(store.engine, "resource_provider_traits")
    write(
        store.engine,
        OTHER_PRIMARY_KEY[store.engine.dialect.name].format(
            "resource_provider_traits", "resource_provider_id, trait_id"
        ),
    )
    drop_keys(store.engine, "inventories")
    write(
        store.engine,
        "CREATE UNIQUE INDEX x ON inventories (resource_class_id, resource_provider_id)",
    )
    repair(store, FindingKind.MISSING_KEY, INCOMPLETE)
    assert found(store) == []


@SERVERS
def test_a_foreign_key_waits_for_the_primary_key(store: Store) -> None:
    drop_keys(store.engine, "traits", "resource_provider_traits")
    write(
        store.engine,
        DROP_PRIMARY_KEY[store.engine.dialect.name].format("traits"),
        "INSERT INTO traits (id, name) VALUES (1, 'CUSTOM_FIRST_AGAIN')",
    )
    told = details(check(store), FindingKind.MISSING_KEY)
    assert "1 values are in more than one row (1)" in told["traits (id)"]
    assert "add the primary key of traits; then" in told["resource_provider_traits (trait_id)"]
    # The unique key of the names, and the other foreign key.
    assert repair(store, FindingKind.MISSING_KEY, INCOMPLETE) == 2
    write(store.engine, "DELETE FROM traits WHERE name = 'CUSTOM_FIRST_AGAIN'")
    assert repair(store, FindingKind.MISSING_KEY, INCOMPLETE) == 2
    assert found(store) == []


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_rows_without_an_id_are_named(store: Store) -> None:
    """Nothing can be loaded then, so nothing else is checked."""
    if store.engine.dialect.name == "sqlite":
        drop_all_keys(store.engine, "resource_providers")
    else:
        write(
            store.engine,
            DROP_PRIMARY_KEY["postgresql"].format("resource_providers"),
            "ALTER TABLE resource_providers ALTER id DROP NOT NULL",
        )
    write(store.engine, "INSERT INTO resource_providers (uuid, name) VALUES ('no', 'id')")
    write(store.engine, "UPDATE resource_providers SET id = NULL WHERE uuid = 'no'")
    findings = check(store)
    assert details(findings, FindingKind.NULL_IN_KEY) == {"resource_providers (id)": "1 row"}
    key = details(findings, FindingKind.MISSING_KEY)["resource_providers (id)"]
    assert "complete or remove 1 rows with NULL in id; then " in key
    write(store.engine, "DELETE FROM resource_providers WHERE uuid = 'no'")
    repair(store, FindingKind.MISSING_KEY, INCOMPLETE)
    assert details(check(store), FindingKind.NULL_IN_KEY) == {}


# ---------------------------------------------------------------------------------------------
# Names that are taken

NAME = "allocations_consumer_id_idx"


def drop_index(store: Store, name: str, table: str) -> None:
    where = f" ON {table}" if store.engine.dialect.name == "mysql" else ""
    write(store.engine, f"DROP INDEX {name}{where}")


def other_indexes(dialect: str) -> list[str]:
    """Statements for plain indexes that have the name, and do not serve the purpose."""
    some = {
        "sqlite": f"CREATE INDEX {NAME} ON allocations (consumer_id) WHERE id > 5",
        "postgresql": f"CREATE INDEX {NAME} ON allocations (consumer_id) WHERE id > 5",
        "mysql": f"CREATE INDEX {NAME} ON allocations (consumer_id(4))",
    }
    return [f"CREATE INDEX {NAME} ON allocations (used)", some[dialect]]


@pytest.mark.parametrize("number", [0, 1])
def test_an_index_that_only_has_the_name_is_replaced(store: Store, number: int) -> None:
    before = definitions(store.engine)
    drop_index(store, NAME, "allocations")
    write(store.engine, other_indexes(store.engine.dialect.name)[number])
    [finding] = found(store, FindingKind.MISSING_INDEX)
    assert finding.subject == "allocations (consumer_id)"
    assert f"DROP INDEX {NAME}; CREATE INDEX {NAME}" in finding.detail
    assert repair(store, FindingKind.MISSING_INDEX, INCOMPLETE) == 1
    assert found(store) == []
    assert definitions(store.engine) == before


def test_what_has_the_name_and_may_be_needed_is_named_and_left_alone(store: Store) -> None:
    """The other indexes are created."""
    drop_index(store, NAME, "allocations")
    drop_index(store, "allocations_resource_class_id_idx", "allocations")
    write(store.engine, f"CREATE UNIQUE INDEX {NAME} ON allocations (id, used)")
    told = details(found(store, FindingKind.MISSING_INDEX), FindingKind.MISSING_INDEX)
    assert set(told) == {"allocations (consumer_id)", "allocations (resource_class_id)"}
    advice = told["allocations (consumer_id)"]
    assert f"the name {NAME} is taken by a unique index of allocations" in advice
    assert repair(store, FindingKind.MISSING_INDEX, INCOMPLETE) == 1
    [left] = found(store, FindingKind.MISSING_INDEX)
    assert (left.detail, left.repair) == (advice, "")
    for statement in advice.split("unless you need it, ")[1].split("; then "):
        write(store.engine, statement)
    assert found(store) == []


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_a_name_can_be_taken_by_another_table(store: Store) -> None:
    drop_index(store, NAME, "allocations")
    drop_index(store, "allocations_resource_class_id_idx", "allocations")
    write(
        store.engine,
        "CREATE TABLE copy (name VARCHAR(36))",
        f"CREATE INDEX {NAME} ON copy (name)",
        "CREATE TABLE allocations_resource_class_id_idx (name VARCHAR(36))",
    )
    told = details(found(store, FindingKind.MISSING_INDEX), FindingKind.MISSING_INDEX)
    assert (
        f"is taken by an index of copy: unless you need it, DROP INDEX {NAME}; then "
        in (told["allocations (consumer_id)"])
    )
    assert "is taken by a table: rename it; then " in told["allocations (resource_class_id)"]
    assert repair(store, FindingKind.MISSING_INDEX, INCOMPLETE) == 0


@SERVERS
def test_what_the_database_refuses_is_told_and_the_rest_is_added(store: Store) -> None:
    drop_keys(store.engine, "projects", "users", "resource_provider_traits")
    if store.engine.dialect.name == "mysql":
        write(store.engine, "ALTER TABLE resource_provider_traits MODIFY trait_id BIGINT NOT NULL")
        refused = "foreign key of resource_provider_traits (trait_id): "
    else:
        text = "(SELECT string_agg(md5(n::text), '') FROM generate_series(1, 999) AS n)"
        write(
            store.engine,
            "ALTER TABLE projects ALTER external_id TYPE text",
            f"INSERT INTO projects (external_id) VALUES ({text})",
        )
        refused = "unique key of projects (external_id): "
    count = len(found(store, FindingKind.MISSING_KEY))
    failures: list[str] = []
    assert repair(store, FindingKind.MISSING_KEY, INCOMPLETE, failures.append) == count - 1
    [failure] = failures
    assert failure.startswith(refused)
    assert "\n" not in failure
    assert len(found(store, FindingKind.MISSING_KEY)) == 1


# ---------------------------------------------------------------------------------------------
# Keys that do not belong there


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_unique_indexes_of_expressions_and_of_some_rows_are_found(store: Store) -> None:
    write(
        store.engine,
        "CREATE UNIQUE INDEX one_spelling ON resource_providers (lower(name))",
        "CREATE UNIQUE INDEX one_of_some ON consumers (project_id) WHERE id > 5",
        "CREATE INDEX by_spelling ON resource_providers (upper(name))",
    )
    findings = found(store, FindingKind.EXTRA_KEY)
    assert {each.detail for each in findings} == {
        "unique key one_spelling: DROP INDEX one_spelling;",
        "unique key one_of_some: DROP INDEX one_of_some;",
    }


def test_a_unique_index_that_contains_a_key_refuses_nothing(store: Store) -> None:
    write(store.engine, "CREATE UNIQUE INDEX wide ON resource_providers (generation, uuid)")
    assert found(store) == []
