"""A synchronised database on each kind of server, and any number of services on it."""

from collections.abc import Callable, Iterator

import pytest

from roost.service.service import Roost
from roost.settings import Settings
from roost.store import standard_names
from roost.store.migrations import migrate
from roost.store.store import Store


@pytest.fixture
def open_roost(database_url: str) -> Iterator[Callable[[], Roost]]:
    """A function that opens one more service on the database, as another process would."""
    opened: list[Roost] = []

    def open_one() -> Roost:
        # Enough connections for every thread of a test to have one.
        store = Store.open(database_url, max_pool_size=30)
        if not opened:
            migrate.sync(store.engine)
            standard_names.synchronise(store)
        opened.append(Roost(store, Settings()))
        return opened[-1]

    yield open_one
    for roost in opened:
        roost.close()


@pytest.fixture
def roost(open_roost: Callable[[], Roost]) -> Roost:
    return open_roost()
