"""Defects that can be built into roost, to show that the fault test notices them."""

from typing import Any

from sqlalchemy import Connection, text

from roost.progress import SILENT, Progress
from roost.store.change_record import decode
from roost.store.connection import statements
from roost.store.feed import writer
from roost.store.feed.reader import Feed, _combine
from roost.store.tables import index_rows


def break_guard() -> None:
    """Writes no longer check whether generations moved."""
    original = statements.Prepared.write

    def write(self: Any, dialect: Any, values: Any, **fields: Any) -> Any:
        if fields.get("reason") == "a provider's generation changed":
            fields["expected"] = None
        return original(self, dialect, values, **fields)

    statements.Prepared.write = write  # type: ignore[method-assign]


def break_commit() -> None:
    """A COMMIT without an answer is repeated, whether or not it took place."""
    writer.Writer._took_place = lambda *_: False  # type: ignore[method-assign,assignment]


# ---------------------------------------------------------------------------------------------
# A feed that reads by one running number. It misses a transaction that took a lower number and
# committed later.

RUNNING_NUMBER = -1  # the key in a position, instead of a writer's id
ADD_NUMBER = {
    "postgresql": "ALTER TABLE roost_changes ADD COLUMN IF NOT EXISTS id BIGSERIAL",
    "mysql": "ALTER TABLE roost_changes ADD COLUMN IF NOT EXISTS id BIGINT AUTO_INCREMENT UNIQUE",
}


def break_feed() -> None:
    Feed.load = _load_numbered  # type: ignore[method-assign]
    Feed.changes_since = _changes_numbered  # type: ignore[method-assign]
    Feed.own_changes = lambda *_: iter(())  # type: ignore[method-assign,assignment]


def _load_numbered(self: Feed, progress: Progress = SILENT) -> Any:
    self._writer.register()
    with self._database.write() as connection:
        connection.execute(text(ADD_NUMBER[self._database.dialect]))
        connection.commit()

    def read(connection: Connection) -> Any:
        last = connection.scalar(text("SELECT max(id) FROM roost_changes")) or 0
        return {RUNNING_NUMBER: last}, index_rows.read_all(connection, progress)

    return self._database.read_snapshot(read)


def _changes_numbered(self: Feed, position: Any) -> Any:
    def read(connection: Connection) -> Any:
        newer_records = text("SELECT id, record FROM roost_changes WHERE id > :last ORDER BY id")
        found = connection.execute(newer_records, {"last": position[RUNNING_NUMBER]}).all()
        last = found[-1].id if found else position[RUNNING_NUMBER]
        return {RUNNING_NUMBER: last}, _combine(connection, [decode(row.record) for row in found])

    return self._database.read_snapshot(read)


BREAKS = {"guard": break_guard, "feed": break_feed, "commit": break_commit}
