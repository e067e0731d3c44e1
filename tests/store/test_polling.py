"""The question that is asked before every answer: where is the change feed?"""

import pytest

from roost.store.connection.database import Database
from roost.store.connection.engine import EngineOptions
from roost.store.feed import position_question
from roost.store.feed.polling import WriterPoll
from roost.store.feed.positions import read_position
from roost.store.feed.writer import Writer
from roost.store.migrations import migrate


@pytest.fixture
def database(database_url: str) -> Database:
    opened = Database(database_url, EngineOptions())
    migrate.sync(opened.engine)
    return opened


def test_the_shortcut_through_the_driver_says_what_the_table_says(database: Database) -> None:
    """It uses what drivers do not document. If it failed, a slower way would hide that."""
    poll = WriterPoll(database)
    try:
        for _ in range(4):
            asked = poll._polled(poll._read_position)
            assert asked is not None
            assert (poll._question is None) == (database.dialect == "sqlite")
            assert dict(asked) == database.read(read_position)
            # None the first time, then several: each registration is a writer.
            Writer(database).register()
    finally:
        poll.close()
        database.dispose()


def test_a_cursor_asks_where_nothing_can_be_prepared(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As through some proxies. This server knows no such command."""
    monkeypatch.setattr(position_question, "_PREPARE_STATEMENT", 0x30)
    poll = WriterPoll(database)
    try:
        Writer(database).register()
        asked = poll._polled(poll._read_position)
        assert (poll._question is None) == (database.dialect in ("sqlite", "mysql"))
        assert asked is not None
        assert dict(asked) == database.read(read_position)
    finally:
        poll.close()
        database.dispose()


def test_a_lost_connection_is_noticed_and_replaced(database: Database) -> None:
    poll = WriterPoll(database)
    try:
        Writer(database).register()
        known = poll.position()
        assert poll._connection is not None
        poll._connection.driver_connection.close()  # type: ignore[attr-defined]
        assert poll.position() == known
        assert poll._polled(poll._read_position) is not None
    finally:
        poll.close()
        database.dispose()
