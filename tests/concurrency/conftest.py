"""A synchronised database on each kind of server, and any number of services on it."""

from collections.abc import Callable, Iterator

import pytest

from roost.service import service
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.store import Store
from tests.concurrency.races import add_provider


@pytest.fixture
def open_roost(synchronised_url: str) -> Iterator[Callable[[], Roost]]:
    """A function that opens one more service on the database, as another process would."""
    opened: list[Roost] = []

    def open_one() -> Roost:
        # Enough connections for every thread of a test to have one.
        store = Store.open(synchronised_url, max_pool_size=30)
        opened.append(Roost(store, Settings()))
        return opened[-1]

    yield open_one
    for roost in opened:
        roost.close()


@pytest.fixture
def roost(open_roost: Callable[[], Roost]) -> Roost:
    return open_roost()


@pytest.fixture
def stale_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index catches up for reads only, never before an optimistic write."""
    monkeypatch.setattr(service, "RECENT_SECONDS_MAX", 3600)
    monkeypatch.setattr(service, "NOTICE_SECONDS", 3600)


@pytest.fixture
def pair(open_roost: Callable[[], Roost]) -> tuple[Roost, Roost]:
    """Two services that know a host; the index of the second lacks what the first writes next."""
    first, second = open_roost(), open_roost()
    add_provider(first, "host", VCPU=4, MEMORY_MB=100)
    first.catch_up()
    second.catch_up()
    return first, second
