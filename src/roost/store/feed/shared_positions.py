"""How far the processes of one service have written, in memory that they share.

To ask the database for the position of the feed takes as long as all the rest of a small request.
While nobody but one service writes, its processes know the position without asking:

- Before a writer commits, it shows here that it is about to, and afterwards how far it has come.
  While one is about to commit and another one shows something new, which may rest on that, the
  others ask the database. They also ask once one of them knows that it has committed already, and
  after a COMMIT whose outcome is unknown.
- An answer of the database in which all writers but those of the service have ended holds for
  `RELY_SECONDS`: a process of another service that registers later does not write for longer than
  that (`registration.py`). How far those who ended had written is part of what is compared.

So whoever needs no answer knows every write that was acknowledged before the question, as whoever
asks. Processes on other machines share nothing: each of them finds the others, and asks. A process
that dies while it is about to commit leaves that on show, and its siblings ask, until another one
takes its place and ends its row.

The clock goes on while the machine sleeps, and all processes of the machine have the same. Only
Linux has it, and memory without a name; elsewhere every process asks.
"""

import mmap
import os
import time
from collections.abc import Callable
from typing import NamedTuple

from roost.store.change_record import Announcement
from roost.store.feed.positions import FeedPosition
from roost.store.feed.shared_lock import SharedLock, lock_byte
from roost.store.feed.shared_records import SharedRecords

# How long an answer holds. Busy services ask twenty times a second instead of thousands of times.
RELY_SECONDS = 0.05
_RELY_NANOSECONDS = int(RELY_SECONDS * 1e9)

# Numbers of eight bytes, which are read and written as one. First when the database was asked, and
# when answers to earlier questions have ceased to hold. Then a digest of how far writers that have
# ended had come, and for each writer its id (0: none) and its state: twice the number of its last
# record, and 1 more while it is about to commit.
_CELL_BYTES = 8
_ASKED_AT, _DOUBTED_AT, _OTHERS, _WRITERS = 0, 1, 2, 3
_WRITER_CELLS = 2
# Each process has one for transactions, and one for what it writes at once.
WRITERS_EACH = 2


class SharedPositions:
    """The memory, made by the parent of the processes. Each process joins it once."""

    def __init__(self, processes_max: int) -> None:
        self._places = list(range(processes_max))
        size = (_WRITERS + processes_max * WRITERS_EACH * _WRITER_CELLS) * _CELL_BYTES
        # Without a name: it is gone with the last process that has it open.
        self._file = os.memfd_create("roost-positions")
        os.ftruncate(self._file, size)
        self._memory = mmap.mmap(self._file, size)
        self._cells = memoryview(self._memory).cast("q")
        self.records = SharedRecords(processes_max * WRITERS_EACH)
        # Of the places of writers, and of the answer; then that of claims (`operations/claiming`).
        self._changes = SharedLock(self._file, processes_max)
        self.claim_turn = SharedLock(self._file, processes_max + 1)
        self._end: Callable[[], None] | None = None
        # Writers in whose place this process has put another one, or none, and the number of the
        # last record of each. They write no more.
        self.replaced: dict[int, int] = {}
        # What the memory held when this process knew that a position was the newest one.
        self._known: tuple[bytes, FeedPosition] = b"", {}

    # -----------------------------------------------------------------------------------------
    # Writers

    def join(self, end: Callable[[], None]) -> "tuple[SharedWriter, SharedWriter] | None":
        """Take a place, which is free again when this process is gone; None if there is none.

        `end` lets its writers end.
        """
        for place in self._places:
            if lock_byte(self._file, place, wait=False):
                # The lock would let this process in once more.
                self._places.remove(place)
                first = place * WRITERS_EACH
                writers = SharedWriter(self, first), SharedWriter(self, first + 1)
                for writer in writers:
                    writer.clear()
                self._end = end
                return writers
        return None

    def leave(self) -> None:
        """Let the writers of this process end, before it does."""
        if self._end is not None:
            self._end()

    def _replace_writer(self, writer: int, writer_id: int, sequence: int) -> None:
        cell = _WRITERS + writer * _WRITER_CELLS
        with self._changes.hold():
            # What an answer said is void: it was about other writers.
            self._cells[_ASKED_AT] = 0
            if self._cells[cell]:
                self.replaced[self._cells[cell]] = self._cells[cell + 1] // 2
            self._cells[cell] = 0
            self._cells[cell + 1] = 2 * sequence
            self._cells[cell] = writer_id

    def doubt(self) -> None:
        """Let all processes ask the database, until an answer shows nothing that they do not."""
        self._cells[_DOUBTED_AT] = self._now()

    def _show(self, writer: int, state: int) -> None:
        self._cells[_WRITERS + writer * _WRITER_CELLS + 1] = state

    # -----------------------------------------------------------------------------------------
    # Readers

    def newest(self, position: FeedPosition) -> FeedPosition | None:
        """The newest position, for a process that knows all up to this one; None: ask the database.

        The same object if nothing is new.
        """
        # First of all: a newer answer may be about writers that were not there before, and is not
        # good for what was read before it.
        asked_at = self._cells[_ASKED_AT]
        seen = self._seen()
        is_doubted = asked_at <= self._cells[_DOUBTED_AT]
        if is_doubted or self._now() - asked_at >= _RELY_NANOSECONDS:
            return None
        known, known_position = self._known
        if position is known_position and seen == known:
            return position
        newest = _newest(seen, position)
        # Otherwise one writer may have been read before it wrote, and the next one afterwards.
        if newest is None or (newest is not position and seen != self._seen()):
            return None
        if newest is position:
            self._known = seen, position
        return newest

    def has_news(self, position: FeedPosition) -> bool:
        """Whether siblings show records after this position. No question to the database."""
        seen = self._seen()
        if position is self._known[1] and seen == self._known[0]:
            return False
        return any(state // 2 > position.get(id, 0) for id, state in _writers(seen).items())

    def begin_question(self) -> "Question":
        """What to keep while the database is asked, for `rely_on`."""
        return Question(self._now(), _writers(self._seen()))

    def rely_on(self, question: "Question", answer: FeedPosition, ended: frozenset[int]) -> bool:
        """Let all processes rely on an answer of the database; False if others may write.

        `ended` are writers that write no more.
        """
        writers = question.writers
        others = answer.keys() - writers.keys()
        shown = _writers(self._seen())
        if any(answer.get(id, 0) > state // 2 for id, state in shown.items()):
            # Whoever was told of it may ask a sibling next.
            self.doubt()
        # Some other service may have ended a writer of this one, which does not know that yet.
        is_whole = all(state == 2 * answer.get(id, -1) for id, state in writers.items())
        # A writer of this service has to be registered, or a new one of another service would not
        # know that it has to wait.
        if not (writers and is_whole and others <= ended):
            return False
        self._rely(question, _digest({id: answer[id] for id in others}))
        return True

    def own_ids(self) -> frozenset[int]:
        """The writers of this service."""
        return frozenset(_writers(self._seen()))

    def _rely(self, question: "Question", digest: int) -> None:
        # Whoever is at it may be stopped at this moment, and this is a request that waits.
        with self._changes.hold(seconds_max=0) as is_alone:
            if not is_alone or _writers(self._seen()).keys() != question.writers.keys():
                return
            if self._cells[_OTHERS] != digest:
                # Nobody may take the old one for that of the new answer.
                self._cells[_ASKED_AT] = 0
                self._cells[_OTHERS] = digest
            self._cells[_ASKED_AT] = max(self._cells[_ASKED_AT], question.asked_at)

    def _seen(self) -> bytes:
        return self._memory[_OTHERS * _CELL_BYTES :]

    @staticmethod
    def _now() -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Question(NamedTuple):
    """A question to the database that is on its way."""

    asked_at: int
    writers: dict[int, int]  # the state of each writer of this service, by its id


class SharedWriter:
    """What other processes see of one writer."""

    def __init__(self, shared: SharedPositions, number: int) -> None:
        self._shared = shared
        self._number = number

    def enter(self, writer_id: int, sequence: int) -> None:
        """Begin with an id that is new, before the first write."""
        self._shared._replace_writer(self._number, writer_id, sequence)

    def clear(self) -> None:
        """There is no writer. If there was one, it now counts among others."""
        self._shared._replace_writer(self._number, 0, 0)

    def begin_commit(self, sequence: int) -> None:
        """It may have written this record at any moment."""
        self._shared._show(self._number, 2 * (sequence - 1) + 1)

    def give_up(self, sequence: int) -> None:
        """It has not written this record."""
        self._shared._show(self._number, 2 * (sequence - 1))

    def leave_open(self) -> None:
        """Nobody knows whether it has written this record. Whoever asks the database finds out."""
        self._shared.doubt()

    def finish(self, announcement: Announcement) -> None:
        """It has written this record."""
        self._shared.records.keep(self._number, announcement)
        self._shared._show(self._number, 2 * announcement.sequence)


def _newest(seen: bytes, position: FeedPosition) -> FeedPosition | None:
    """The newest position if this is the memory; None if that says too little."""
    writers = _writers(seen)
    others = {id: sequence for id, sequence in position.items() if id not in writers}
    if _digest(others) != memoryview(seen).cast("q")[0]:
        return None
    newest = {id: state // 2 for id, state in writers.items()}
    if all(position.get(id) == sequence for id, sequence in newest.items()):
        # What is about to be committed was not acknowledged to anybody.
        return position
    if any(state % 2 for state in writers.values()):
        # What others have written may rest on that.
        return None
    return {**others, **newest}


def _writers(seen: bytes) -> dict[int, int]:
    """The state of each writer, by its id."""
    cells = memoryview(seen).cast("q")
    first = _WRITERS - _OTHERS
    pairs = zip(cells[first::_WRITER_CELLS], cells[first + 1 :: _WRITER_CELLS], strict=True)
    return {id: state for id, state in pairs if id}


def _digest(others: FeedPosition) -> int:
    # Of numbers alone, so it is the same in every process.
    return hash(tuple(sorted(others.items())))
