"""What a list of consumers costs the database: few statements, all of them through indexes."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from roost.api.handlers.allocation_list import JsonLayout
from roost.operations import consumer_list
from roost.operations.consumer_list import list_consumers
from roost.query import ConsumerQuery, Page
from roost.service.service import Roost
from roost.settings import Settings
from roost.store import schema
from roost.store.store import Store
from tests.store.test_statements import StatementCounter
from tests.support.names import uid

HOSTS, CONSUMERS = 250, 2000
CHUNK = 500


@pytest.fixture
def roost(synchronised_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Roost]:
    monkeypatch.setattr(consumer_list, "CHUNK_CONSUMERS", CHUNK)
    store = Store.open(synchronised_url)
    fill(store.engine)
    opened = Roost(store, Settings())
    yield opened
    opened.close()


def fill(engine: sa.Engine) -> None:
    """So many rows that the databases do not rather read whole tables."""
    hosts = range(1, HOSTS + 1)
    consumers = range(1, CONSUMERS + 1)
    with engine.begin() as connection:
        for table in (schema.projects, schema.users):
            rows = [{"id": number, "external_id": f"{number}"} for number in range(1, 41)]
            connection.execute(sa.insert(table), rows)
        connection.execute(
            sa.insert(schema.resource_providers),
            [
                {"id": id, "uuid": uid(f"{id}"), "name": f"{id}", "root_provider_id": id}
                for id in hosts
            ],
        )
        connection.execute(
            sa.insert(schema.consumers),
            [
                {"id": id, "uuid": uid(f"c{id}"), "project_id": id % 40 + 1, "user_id": 1}
                for id in consumers
            ],
        )
        connection.execute(
            sa.insert(schema.allocations),
            [
                {
                    "resource_provider_id": id % HOSTS + 1,
                    "resource_class_id": class_id,
                    "consumer_id": uid(f"c{id}"),
                    "used": 1,
                }
                for id in consumers
                # Few have something of the third class.
                for class_id in ((0, 1, 2) if id % 500 == 0 else (0, 1))
            ],
        )
    analyze(engine)


def analyze(engine: sa.Engine) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in schema.PLACEMENT_TABLES:
            word = "ANALYZE TABLE" if engine.dialect.name == "mysql" else "ANALYZE"
            connection.exec_driver_sql(f"{word} {table.name}").close()


LARGE = frozenset({"allocations", "consumers", "resource_providers"})
# MariaDB estimates how many rows a table has from a few pages, anew whenever it likes. Where it was
# far off, it is asked to look again.
ESTIMATES_MAX = 3


def read(roost: Roost, page: Page, **rules: Any) -> int:
    found = list_consumers(roost, query=ConsumerQuery(**rules), page=page, layout=JsonLayout())
    return sum(map(len, found))


def test_a_chunk_takes_two_statements(roost: Roost) -> None:
    roost.current_index()
    counter = StatementCounter(roost.store)
    # A look at the change feed to find what filters name; for each chunk, such a look and a read;
    # and once the names of projects, users and types. A look costs nothing on SQLite.
    assert counter.count(lambda: read(roost, Page(limit=10))) <= 4
    assert counter.count(lambda: read(roost, Page(limit=CHUNK - 1))) <= 4
    chunks = CONSUMERS // CHUNK + 1  # the last one is empty
    assert counter.count(lambda: read(roost, Page())) <= 2 + 2 * chunks
    assert counter.count(lambda: read(roost, Page(), provider_uuids=frozenset({uid("7")}))) <= 4
    many = frozenset(uid(f"{id}") for id in range(1, HOSTS))
    one_chunk = Page(limit=CHUNK - 1)
    assert counter.count(lambda: read(roost, one_chunk, provider_uuids=many)) <= 4


def scans(connection: sa.Connection, statement: str, parameters: Any) -> list[str]:
    """The tables of which the database reads every row."""
    if connection.dialect.name == "postgresql":
        # It would rather read a table that fits into a few pages.
        connection.exec_driver_sql("SET enable_seqscan = off")
    if connection.dialect.name == "mysql":
        # It would, too, where its estimate of the rows is far off.
        connection.exec_driver_sql("SET max_seeks_for_key = 1")
    explain = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN "
    rows = connection.exec_driver_sql(explain + statement, parameters).mappings().all()
    if connection.dialect.name == "mysql":
        return [row["table"] for row in rows if row["type"] in ("ALL", "index")]
    lines = [str(list(row.values())[-1]) for row in rows]
    pattern = r"Seq Scan on (\w+)" if connection.dialect.name == "postgresql" else r"SCAN (\w+)"
    return [found[1] for line in lines for found in re.finditer(pattern, line)]


RULES: dict[str, tuple[dict[str, Any], int]] = {
    "everything": ({}, CONSUMERS),
    "a provider": ({"provider_uuids": frozenset({uid("7")})}, CONSUMERS // HOSTS),
    "many providers": (
        {"provider_uuids": frozenset(uid(f"{id}") for id in range(1, 61))},
        60 * CONSUMERS // HOSTS,
    ),
    "a tree": ({"tree_uuid": uid("7")}, CONSUMERS // HOSTS),
    "a provider and a class": (
        {"provider_uuids": frozenset({uid("7")}), "resource_class": "VCPU"},
        CONSUMERS // HOSTS,
    ),
    "a class that few have": ({"resource_class": "DISK_GB"}, CONSUMERS // 500),
    "a class that all have": ({"resource_class": "VCPU"}, CONSUMERS),
    "a project": ({"project_id": "7"}, CONSUMERS // 40),
    "no type": ({"consumer_type": "unknown"}, CONSUMERS),
}


def test_every_filter_is_served_by_indexes(roost: Roost) -> None:
    statements: list[tuple[str, Any]] = []

    def remember(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "ORDER BY consumers.id" in statement:
            statements.append((statement, parameters))

    engine = roost.store._database.reader
    sa.event.listen(engine, "before_cursor_execute", remember)
    for title, (rules, count) in RULES.items():
        statements.clear()
        assert read(roost, Page(), **rules) == count, title
        statement, parameters = statements[0]
        for _ in range(ESTIMATES_MAX):
            with engine.connect() as connection:
                # What is read as a whole is small: the names of projects, and what a filter found.
                large = LARGE.intersection(scans(connection, statement, parameters))
            if not large:
                break
            analyze(engine)
        assert not large, title
