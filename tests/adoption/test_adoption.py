"""roost adopts a Placement database in place, and Placement can use it again afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from roost.store import standard_names
from roost.store.adoption.adopt import WITH_EVERY_COLUMN, IncompleteIds
from roost.store.connection.engine import create_engine
from roost.store.definitions import compare_definitions
from roost.store.migrations import migrate
from roost.store.store import Store
from tests.adoption import upstream
from tests.adoption.conftest import load
from tests.adoption.full_comparison import FullComparison, RoostSide, record
from tests.adoption.tables import Rows, describe, dump, fill
from tests.adoption.upstream import HEAD, REVISIONS
from tests.comparison.comparison import ask
from tests.comparison.requests import Request
from tests.comparison.sides import Side
from tests.comparison.worlds import World

OLD = REVISIONS[:-1]
SEARCHES = 20
SEARCHES_OLD = 8
PROVIDER = "11111111-2222-4333-8444-555555555555"
OTHER_PROVIDER = "99999999-2222-4333-8444-555555555555"
ZEROS = IncompleteIds()
INCOMPLETE = IncompleteIds(project="somebody's", user="nobody")


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    yield engine
    engine.dispose()


def adopt(url: str, incomplete: IncompleteIds = ZEROS) -> None:
    """What `roost db sync` does."""
    store = Store.open(url)
    migrate.sync(store.engine, incomplete)
    standard_names.synchronise(store)
    store.dispose()


def make_provider(side: Side, uuid: str, name: str) -> None:
    body = {"uuid": uuid, "name": name}
    assert ask(side, Request("POST", "/resource_providers", "1.39", body=body)).status == 200
    inventories = {"VCPU": {"total": 8}, "CUSTOM_X": {"total": 8}}
    for part, value in (("inventories", inventories), ("traits", ["CUSTOM_FAST"])):
        generation = {"inventories": 0, "traits": 1}[part]
        body = {"resource_provider_generation": generation, part: value}
        path = f"/resource_providers/{uuid}/{part}"
        assert ask(side, Request("PUT", path, "1.39", body=body)).status == 200


def claim(side: Side, consumer: str, provider: str) -> None:
    body = {
        "allocations": {provider: {"resources": {"VCPU": 3}}},
        "project_id": "project-1",
        "user_id": "user-1",
        "consumer_generation": None,
        "consumer_type": "MIGRATION",
    }
    answer = ask(side, Request("PUT", f"/allocations/{consumer}", "1.39", body=body))
    assert answer.status == 204, answer


def test_answers_are_equal_before_and_after_adoption_and_after_the_return(
    world: World, database_url: str, engine: Engine, tmp_path: Path
) -> None:
    upstream.migrate(database_url, tmp_path)
    with upstream.serving(database_url, tmp_path) as side:
        load(world, side)
        before = record(world, side, SEARCHES)
    rows, tables = dump(engine), describe(engine)
    adopt(database_url)
    assert dump(engine) == rows
    assert describe(engine) == tables
    roost = RoostSide(database_url)
    assert FullComparison(world, before, roost).difference(SEARCHES) == ""

    make_provider(roost, PROVIDER, "made by roost")
    claim(roost, world.unused_consumers[0], PROVIDER)
    upstream.migrate(database_url, tmp_path)
    with upstream.serving(database_url, tmp_path) as side:
        assert FullComparison(world, side, roost).difference(SEARCHES) == ""
        answer = ask(side, Request("GET", f"/allocations/{world.unused_consumers[0]}", "1.39"))
        assert answer.body["allocations"][PROVIDER]["resources"] == {"VCPU": 3}
        assert answer.body["consumer_type"] == "MIGRATION"
        # A roost that starts now serves what the reference wrote.
        make_provider(side, OTHER_PROVIDER, "made by the reference")
        claim(side, world.unused_consumers[1], OTHER_PROVIDER)
        adopt(database_url)
        assert FullComparison(world, side, RoostSide(database_url)).difference(SEARCHES) == ""


@pytest.mark.parametrize("revision", OLD)
def test_an_older_revision_is_adopted(
    world: World, rows: Rows, database_url: str, engine: Engine, tmp_path: Path, revision: str
) -> None:
    upstream.migrate(database_url, tmp_path, revision)
    fill(engine, rows)
    removed = remove_values(engine, revision)
    before, tables = dump(engine), describe(engine)
    assert wrong_definitions(engine) == ([], [])
    adopt(database_url, INCOMPLETE)
    assert wrong_definitions(engine) == ([], [])
    assert migrate.placement_version(engine) == WITH_EVERY_COLUMN
    assert rows_lost(before, dump(engine)) == removed
    assert no_definition_is_lost(tables, describe(engine))
    # A second run changes nothing.
    after = dump(engine)
    adopt(database_url)
    assert dump(engine) == after

    roost = RoostSide(database_url)
    make_provider(roost, PROVIDER, "made by roost")
    claim(roost, world.unused_consumers[0], PROVIDER)
    upstream.migrate(database_url, tmp_path)
    assert migrate.placement_version(engine) == HEAD
    with upstream.serving(database_url, tmp_path) as side:
        assert FullComparison(world, side, roost).difference(SEARCHES_OLD) == ""
        claim(side, world.unused_consumers[1], PROVIDER)


def wrong_definitions(engine: Engine) -> object:
    """What `roost db check` says about indexes and keys: nothing, with the old indexes too."""
    with engine.connect() as connection:
        return compare_definitions(connection)


def remove_values(engine: Engine, revision: str) -> dict[str, int]:
    """Remove values that this revision may lack; returns how many rows to fill in, by table."""
    if revision not in REVISIONS[:2]:
        return {}
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM consumers WHERE id > 1"))
        if revision == REVISIONS[0]:
            connection.execute(sa.text("UPDATE resource_providers SET root_provider_id = NULL"))
            found = connection.scalar(sa.text("SELECT count(*) FROM resource_providers"))
            return {"resource_providers": int(found or 0)}
    return {}


def rows_lost(before: Rows, after: Rows) -> dict[str, int]:
    """How many rows of each table are missing or changed, not counting new columns."""
    found = {}
    for name, rows in before.items():
        if name == "alembic_version" or not rows:
            continue
        columns = rows[0].keys()
        kept = [repr({column: row[column] for column in columns}) for row in after[name]]
        if missing := [row for row in rows if repr(row) not in kept]:
            found[name] = len(missing)
    return found


def no_definition_is_lost(before: dict[str, object], after: dict[str, object]) -> bool:
    for name, parts in before.items():
        assert isinstance(parts, dict)
        for part, items in parts.items():
            found = after[name][part]  # type: ignore[index]
            if isinstance(items, list):
                assert all(item in found for item in items), (name, part)
            else:
                assert items == found
    return True


def test_missing_roots_and_consumers_are_filled_in(
    rows: Rows, database_url: str, engine: Engine, tmp_path: Path
) -> None:
    upstream.migrate(database_url, tmp_path, REVISIONS[0])
    fill(engine, rows)
    remove_values(engine, REVISIONS[0])
    with pytest.raises(RuntimeError, match="online_data_migrations"):
        upstream.migrate(database_url, tmp_path)
    adopt(database_url, INCOMPLETE)
    after = dump(engine)

    def roots(found: Rows) -> dict[int, int]:
        return {row["id"]: row["root_provider_id"] for row in found["resource_providers"]}

    assert roots(after) == roots(rows)
    assert {row["uuid"] for row in after["consumers"]} == {row["uuid"] for row in rows["consumers"]}
    projects = {row["id"]: row["external_id"] for row in after["projects"]}
    users = {row["id"]: row["external_id"] for row in after["users"]}
    owners = {
        row["id"]: (projects[row["project_id"]], users[row["user_id"]], row["generation"])
        for row in after["consumers"]
    }
    assert owners.pop(1) == ("project-1", "user-1", 1)
    assert set(owners.values()) == {("somebody's", "nobody", 0)}
    assert len(owners) == len(rows["consumers"]) - 1


def test_tables_without_a_revision_are_recognised(
    rows: Rows, database_url: str, engine: Engine, tmp_path: Path
) -> None:
    upstream.migrate(database_url, tmp_path)
    fill(engine, rows)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE alembic_version"))
    adopt(database_url)
    assert migrate.placement_version(engine) == HEAD
    upstream.migrate(database_url, tmp_path)
