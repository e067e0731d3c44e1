"""Adding an inventory guards its resource class, and readers see nothing of it."""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from roost import assembly
from roost.model import EventKind, Inventory
from roost.operations.events import EventFilter, current_position, read_events
from roost.operations.inventories import add_inventory, delete_inventories
from roost.operations.providers import create_provider
from roost.operations.resource_classes import create_resource_class, rename_resource_class
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.schema import resource_classes
from roost.store.store import Store
from tests.support.headers import HEADERS
from tests.support.names import uid

OpenRoost = Callable[[], Roost]

NAME = "CUSTOM_LICENCE"
LONG_AGO = datetime(2020, 2, 3, 4, 5, 6)


@pytest.fixture
def open_roost(synchronised_url: str) -> Iterator[OpenRoost]:
    opened: list[Roost] = []

    def open_one() -> Roost:
        store = Store.open(synchronised_url)
        opened.append(Roost(store, Settings()))
        return opened[-1]

    yield open_one
    for roost in opened:
        roost.close()


def times(roost: Roost) -> tuple[datetime | None, datetime | None]:
    """The times of the class, as the table holds them."""
    columns = resource_classes.c
    with roost.store.engine.connect() as connection:
        row = connection.execute(
            select(columns.created_at, columns.updated_at).where(columns.name == NAME)
        ).first()
        connection.rollback()
    return row.created_at, row.updated_at


def set_times(roost: Roost, **values: datetime | None) -> None:
    with roost.store.engine.begin() as connection:
        statement = update(resource_classes).where(resource_classes.c.name == NAME)
        connection.execute(statement.values(**values))


def class_row(roost: Roost) -> tuple[Any, ...]:
    """The row of the class that every process loads into its index."""
    _, rows = roost.store.load()
    [row] = [each for each in rows.resource_classes if each[1] == NAME]
    return row


def new_class(roost: Roost) -> None:
    create_resource_class(roost, name=NAME)
    set_times(roost, created_at=LONG_AGO)


def renamed_class(roost: Roost) -> None:
    create_resource_class(roost, name="CUSTOM_OTHER")
    rename_resource_class(roost, name="CUSTOM_OTHER", new_name=NAME)
    set_times(roost, created_at=LONG_AGO)


def class_without_times(roost: Roost) -> None:
    create_resource_class(roost, name=NAME)
    set_times(roost, created_at=None, updated_at=None)


@pytest.mark.parametrize("create_class", [new_class, renamed_class, class_without_times])
def test_no_reader_sees_that_a_class_was_guarded(
    open_roost: OpenRoost, create_class: Callable[[Roost], None]
) -> None:
    writer, reader = open_roost(), open_roost()
    create_class(writer)
    create_provider(writer, uuid=uid("host"), name="host", parent_uuid=None)
    loaded = class_row(writer)
    for _ in range(4):
        position, _ = reader.store.load()
        events_begin = current_position(reader)
        before = times(writer)
        add_inventory(
            writer, provider_uuid=uid("host"), resource_class=NAME, inventory=Inventory(total=1)
        )
        # Only a row that really changed conflicts with its deletion on another Galera node.
        assert times(writer) != before
        news = reader.store.changes_since(position)
        assert news is not None
        _, changes = news
        assert changes.provider_ids
        assert not changes.class_ids
        assert class_row(writer) == loaded
        events = [
            event.kind
            for write in read_events(reader, position=events_begin, event_filter=EventFilter())
            for event in write.events
        ]
        assert events == [EventKind.INVENTORIES]
        delete_inventories(writer, provider_uuid=uid("host"), resource_class=NAME)


def test_guarding_a_class_does_not_change_its_last_modified(tmp_path: Path) -> None:
    def application() -> assembly.Application:
        return assembly.build_application(
            settings=Settings(auth_strategy="noauth2"),
            database_url=f"sqlite:///{tmp_path / 'roost.db'}",
            sync=True,
        )

    def client() -> httpx.Client:
        return httpx.Client(
            transport=httpx.WSGITransport(app=application()),
            base_url="http://cloud.example",
            headers=HEADERS,
        )

    def last_modified(client: httpx.Client) -> str:
        return client.get(f"/resource_classes/{NAME}").headers["last-modified"]

    with client() as setup:
        setup.put(f"/resource_classes/{NAME}").raise_for_status()
        setup.post("/resource_providers", json={"name": "host", "uuid": uid("host")})
    store = Store.open(f"sqlite:///{tmp_path / 'roost.db'}")
    with store.engine.begin() as connection:
        connection.execute(
            update(resource_classes)
            .where(resource_classes.c.name == NAME)
            .values(created_at=LONG_AGO)
        )
    store.dispose()
    with client() as first:
        before = last_modified(first)
        assert before == "Mon, 03 Feb 2020 04:05:06 GMT"
        first.put(
            f"/resource_providers/{uid('host')}/inventories",
            json={"resource_provider_generation": 0, "inventories": {NAME: {"total": 4}}},
        ).raise_for_status()
        assert last_modified(first) == before
    with client() as second:
        assert last_modified(second) == before
