"""`roost db check` names consumers that are stored in two spellings."""

from collections.abc import Iterator

import pytest

from roost.health.check import check
from roost.health.findings import Finding, FindingKind
from roost.operations.allocations import delete_allocations
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.store import Store
from tests.health.broken import drop_all_keys, make_cloud, write

UUID = "a1b2c3d4-e5f6-4a7b-8c9d-e0f1a2b3c4d5"


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    store = make_cloud(database_url)
    if store.engine.dialect.name == "mysql":
        # Otherwise the database takes both spellings for one.
        for table in ("consumers", "allocations"):
            conversion = "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
            write(store.engine, f"ALTER TABLE {table} {conversion}")
    yield store
    store.dispose()


def add_consumers(store: Store, *uuids: str) -> None:
    for uuid in uuids:
        write(
            store.engine,
            "INSERT INTO consumers (uuid, project_id, user_id, generation)"
            f" VALUES ('{uuid}', 1, 1, 1)",
            "INSERT INTO allocations (resource_provider_id, resource_class_id, consumer_id, used)"
            f" VALUES (4, 2, '{uuid}', 1)",
        )


def found(store: Store) -> list[Finding]:
    findings = check(store)
    assert {each.kind for each in findings} <= {FindingKind.SAME_CONSUMER}
    return findings


def test_two_spellings_are_found_until_one_is_deleted(store: Store, database_url: str) -> None:
    add_consumers(store, UUID, UUID.upper())
    [finding] = found(store)
    spellings = {finding.subject, finding.detail.removeprefix("also stored as ")}
    assert spellings == {UUID, UUID.upper()}
    assert finding.repair == ""
    roost = Roost(Store.open(database_url), Settings())
    delete_allocations(roost, consumer_uuid=finding.subject)
    roost.close()
    assert found(store) == []
    # The other one still holds what it held.
    [other] = spellings - {finding.subject}
    left = store.reads.consumer([other])
    assert left is not None
    assert left.allocations


def test_three_spellings_are_one_finding(store: Store) -> None:
    add_consumers(store, UUID, UUID.upper(), UUID.replace("a", "A"))
    [finding] = found(store)
    assert finding.detail.endswith(", and 1 more")


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_rows_of_one_spelling_are_another_finding(store: Store) -> None:
    if store.engine.dialect.name == "sqlite":
        drop_all_keys(store.engine, "consumers")
    else:
        write(store.engine, "ALTER TABLE consumers DROP CONSTRAINT uniq_consumers0uuid")
    write(
        store.engine,
        "INSERT INTO consumers (id, uuid, project_id, user_id, generation)"
        " VALUES (98, 'first', 1, 1, 1)",
    )
    kinds = {each.kind for each in check(store)}
    assert FindingKind.MISSING_KEY in kinds
    assert FindingKind.SAME_CONSUMER not in kinds


@pytest.mark.parametrize("database_url", ["mariadb"], indirect=True)
def test_a_database_that_ignores_case_has_none(database_url: str) -> None:
    store = make_cloud(database_url)
    add_consumers(store, UUID.upper())
    assert found(store) == []
    store.dispose()
