"""Defects that can be built into roost, to show that the fault test notices them."""

import contextlib
import functools
import threading
import time
from typing import Any

import msgspec
from sqlalchemy import Connection, text

from roost.errors import RoostError
from roost.operations.claiming import claim
from roost.operations.claiming.judgement import Judged
from roost.progress import SILENT, Progress
from roost.store import at_once_writer
from roost.store.change_record import decode
from roost.store.connection import statements
from roost.store.connection.driver_errors import LostRace
from roost.store.connection.statements import Write
from roost.store.feed import shared_positions, writer
from roost.store.feed.positions import FeedPosition
from roost.store.feed.reader import Feed, _combine
from roost.store.feed.shared_positions import Question, SharedPositions
from roost.store.store import Store
from roost.store.tables import index_rows, new_claims

# Until the cloud is built, what would keep it from being built is not broken.
BUILT_SECONDS = 5.0


def break_guard() -> None:
    """Writes no longer check whether generations moved."""
    original = statements.Prepared.write

    def write(self: Any, dialect: Any, values: Any, **fields: Any) -> Any:
        if fields.get("reason") == new_claims.GENERATION_CHANGED:
            fields["expected"] = None
        return original(self, dialect, values, **fields)

    statements.Prepared.write = write  # type: ignore[method-assign]
    break_batch_guard()


def break_commit() -> None:
    """A COMMIT without an answer is repeated, whether or not it took place."""
    writer.Writer._took_place = _never_took_place  # type: ignore[method-assign]


def _never_took_place(self: writer.Writer, *_: Any) -> bool:
    # Its number is used up if it did take place.
    self.forget()
    return False


# ---------------------------------------------------------------------------------------------
# Claims of new consumers, which share transactions


def break_batch_guard() -> None:
    """As `break_guard`, for these alone."""
    for name in ("_POSTGRESQL_ROWS", "_POSTGRESQL_AT_ONCE"):
        text = getattr(new_claims, name)
        setattr(new_claims, name, text.replace(new_claims._POSTGRESQL_GUARD, "1"))
    rows = new_claims._mysql

    def rows_unguarded(*arguments: Any) -> list[Write]:
        guard, *others = rows(*arguments)
        return [msgspec.structs.replace(guard, expected=None), *others]

    new_claims._mysql = rows_unguarded


def break_batch_commit() -> None:
    """As `break_commit`, for those that are written at once alone."""
    original = at_once_writer.AtOnceWriter.__init__

    def create(self: Any, *arguments: Any) -> None:
        original(self, *arguments)
        self.feed_writer._took_place = functools.partial(_never_took_place, self.feed_writer)

    at_once_writer.AtOnceWriter.__init__ = create  # type: ignore[method-assign]


def break_dropped_claim() -> None:
    """The last claim of a batch is acknowledged and not written."""
    rows, record = Judged.rows, Judged.record

    def without_last(judged: Judged) -> Judged:
        kept = judged.accepted[:-1] or judged.accepted
        return msgspec.structs.replace(judged, accepted=kept)

    Judged.rows = lambda self, *names: rows(without_last(self), *names)  # type: ignore[method-assign]
    Judged.record = lambda self: record(without_last(self))  # type: ignore[method-assign]


def break_early_answer() -> None:
    """Claims are acknowledged before the database has them, and it may refuse them."""
    original = Store.write_at_once

    def write_later(self: Store, *arguments: Any) -> None:
        def write() -> None:
            with contextlib.suppress(LostRace, RoostError):
                original(self, *arguments)

        threading.Thread(target=write, daemon=True).start()

    Store.write_at_once = write_later  # type: ignore[method-assign]


def break_loser() -> None:
    """Claims that do not fit beside others of their batch are written with them, and refused."""
    judge = claim.judge
    rows = Judged.rows
    losers_of: dict[int, list[Any]] = {}

    def remember_losers(claims: Any, *state: Any) -> Judged:
        judged = judge(claims, *state)
        consumers = {change.consumer_uuid for each in judged.accepted for change in each}
        losers_of[id(judged)] = []
        for each in claims:
            uuids = {change.consumer_uuid for change in each}
            if consumers.isdisjoint(uuids) and judge([each], *state).accepted:
                consumers |= uuids
                losers_of[id(judged)].append(each)
        return judged

    def rows_of_all(self: Judged, *names: Any) -> Any:
        written = [*self.accepted, *losers_of.pop(id(self))]
        return rows(msgspec.structs.replace(self, accepted=written), *names)

    claim.judge = remember_losers
    Judged.rows = rows_of_all  # type: ignore[method-assign]


def break_sum() -> None:
    """Each claim is judged as if it was alone in its batch."""
    judge = claim.judge

    def judge_alone(claims: Any, *state: Any) -> Judged:
        accepted = [each for each in claims if judge([each], *state).accepted]
        by_consumer = {each[0].consumer_uuid: each for each in accepted}
        return msgspec.structs.replace(judge([], *state), accepted=list(by_consumer.values()))

    claim.judge = judge_alone


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


# ---------------------------------------------------------------------------------------------
# What the processes of one service know without asking


def break_siblings() -> None:
    """A process does not look at what its siblings show, for a second."""
    newest, begins_at = SharedPositions.newest, time.monotonic() + BUILT_SECONDS
    shared_positions._RELY_NANOSECONDS = 1_000_000_000

    def own(self: SharedPositions, position: FeedPosition) -> FeedPosition | None:
        found = newest(self, position)
        return found if found is None or time.monotonic() < begins_at else position

    SharedPositions.newest = own  # type: ignore[method-assign]


def break_newcomer() -> None:
    """Services rely on being alone, whoever else is there, and for a second."""
    shared_positions._RELY_NANOSECONDS = 1_000_000_000
    SharedPositions.rely_on = _rely_always  # type: ignore[method-assign]


def _rely_always(self: SharedPositions, question: Question, answer: FeedPosition, _: Any) -> bool:
    others = answer.keys() - question.writers.keys()
    self._rely(question, shared_positions._digest({id: answer[id] for id in others}))
    return True


BREAKS = {
    "guard": break_guard,
    "feed": break_feed,
    "commit": break_commit,
    "batch-guard": break_batch_guard,
    "batch-commit": break_batch_commit,
    "dropped-claim": break_dropped_claim,
    "early-answer": break_early_answer,
    "loser": break_loser,
    "sum": break_sum,
    "siblings": break_siblings,
    "newcomer": break_newcomer,
}
