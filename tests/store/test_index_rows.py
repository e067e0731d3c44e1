"""The rows from which the index is loaded."""

import ctypes
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import update

from roost.changes import Rows, TableColumns
from roost.model import Inventory, InventoryChange
from roost.operations.inventories import replace_inventories
from roost.operations.providers import create_provider
from roost.service import service
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.schema import resource_classes, traits
from roost.store.store import Store
from roost.store.tables import index_rows
from tests.support.names import uid
from tests.support.recorded_progress import RecordedProgress

PROVIDERS = 25
PART_ROWS = 10
RATIOS = (0.1, 1.0, 1.5, 16.0)


@pytest.fixture
def roost(synchronised_url: str) -> Iterator[Roost]:
    store = Store.open(synchronised_url)
    service = Roost(store, Settings())
    for number in range(PROVIDERS):
        create_provider(service, uuid=uid(f"host{number}"), name=f"host{number}", parent_uuid=None)
    for number, ratio in enumerate(RATIOS):
        inventory = Inventory(total=8, reserved=1, max_unit=4, allocation_ratio=ratio)
        change = InventoryChange(
            provider_uuid=uid(f"host{number}"),
            inventories={"VCPU": inventory},
            expected_generation=0,
        )
        replace_inventories(service, change=change)
    yield service
    service.close()


def test_a_load_says_how_far_it_is(roost: Roost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_rows, "PART_ROWS_MAX", PART_ROWS)
    progress = RecordedProgress()
    _, rows = roost.store.load(progress)
    assert progress.titles == [
        "reading providers",
        "reading inventories",
        "adding up allocations",
        "reading traits",
        "reading aggregates",
    ]
    assert progress.counted == {
        "reading providers": len(rows.providers),
        "reading inventories": len(rows.inventories),
        "reading traits": 0,
        "reading aggregates": 0,
    }
    assert len(rows.providers) == PROVIDERS


def test_a_load_that_nobody_watches_counts_nothing(roost: Roost) -> None:
    progress = RecordedProgress(is_shown=False)
    roost.store.load(progress)
    assert {each.total for each in progress.stages} == {None}


def test_tables_are_read_in_parts(roost: Roost, monkeypatch: pytest.MonkeyPatch) -> None:
    _, whole = roost.store.load()
    sizes = []

    class RecordingColumns(TableColumns):
        def extend(self, rows: Iterable[Sequence[Any]]) -> None:
            part = list(rows)
            sizes.append(len(part))
            super().extend(part)

    monkeypatch.setattr(index_rows, "TableColumns", RecordingColumns)
    monkeypatch.setattr(index_rows, "PART_ROWS_MAX", PART_ROWS)
    _, parted = roost.store.load()
    assert list(parted.providers) == list(whole.providers)
    assert len(whole.providers) == PROVIDERS
    assert max(sizes) == PART_ROWS


def test_reading_all_rows_and_reading_some_agree(roost: Roost) -> None:
    """Catching up with the feed and loading everything give the same values."""
    _, everything = roost.store.load()
    ids = [row[0] for row in everything.providers]
    some = roost.store._database.read_snapshot(
        lambda connection: index_rows.read_some(connection, ids, range(10_000), range(10_000))
    )
    for name in Rows.__struct_fields__:
        assert sorted(getattr(some, name)) == sorted(getattr(everything, name)), name
    inventories = sorted(row[2:-1] for row in some.inventories)
    assert inventories == [(8, 1, 1, 4, 1, ratio) for ratio in RATIOS]


def test_times_are_seconds_since_1970(roost: Roost) -> None:
    _, loaded = roost.store.load()
    assert abs(loaded.providers[0][-1] - time.time()) < 100
    with roost.store.engine.begin() as connection:
        moment = datetime(2026, 1, 2, 3, 4, 5)
        connection.execute(update(traits).values(created_at=moment, updated_at=None))
        connection.execute(update(resource_classes).values(created_at=None, updated_at=None))
    _, loaded = roost.store.load()
    assert {row[-1] for row in loaded.trait_names} == {moment.replace(tzinfo=UTC).timestamp()}
    assert {row[-1] for row in loaded.resource_classes} == {0.0}


@pytest.mark.parametrize("microsecond", [678_901, 999_501, 999_999])
def test_times_keep_their_fractions(roost: Roost, synchronised_url: str, microsecond: int) -> None:
    # On MariaDB the times of Placement's tables are whole seconds.
    fraction = 0 if synchronised_url.startswith("mysql") else microsecond
    moment = datetime(2026, 1, 2, 3, 4, 5, fraction)
    with roost.store.engine.begin() as connection:
        connection.execute(update(traits).values(updated_at=moment))
    _, loaded = roost.store.load()
    assert {row[-1] for row in loaded.trait_names} == {moment.replace(tzinfo=UTC).timestamp()}


def test_free_memory_is_released_where_the_c_library_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service.release_free_memory()
    calls: list[int] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(malloc_trim=calls.append))
    service.release_free_memory()
    assert calls == [0]
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    service.release_free_memory()
