"""The newest change records of the processes of one service, in memory that they share.

To read a record from the database takes a round trip. Here the sibling that committed it has left
it, before it shows its number (`shared_positions.py`). Each writer has slots for its last records.
Whoever finds another record there, or none, reads the database.
"""

import mmap

from roost.store.change_record import Announcement
from roost.store.feed.positions import SequenceRanges

# Records of claims and of reports of one host are shorter than a slot. Pages of memory that nobody
# has written to take no room.
SLOTS = 128
SLOT_BYTES = 4096
# Before the text of a slot: its writer and its number, and how long it is.
_NUMBERS_EACH = 3
TEXT_BYTES_MAX = SLOT_BYTES - _NUMBERS_EACH * 8

_WRITER, _SEQUENCE, _LENGTH = range(_NUMBERS_EACH)


class SharedRecords:
    """Slots for each of a number of writers."""

    def __init__(self, writers: int) -> None:
        self._writers = range(writers)
        self._memory = mmap.mmap(-1, writers * SLOTS * SLOT_BYTES)
        self._numbers = memoryview(self._memory).cast("q")

    def keep(self, writer: int, announcement: Announcement) -> None:
        """Leave a record that was committed. `writer` says whose slots they are."""
        encoded = announcement.record.encode()
        if len(encoded) > TEXT_BYTES_MAX:
            return
        begin = self._slot(writer, announcement.sequence)
        cell = begin // 8
        # Whoever reads it at this moment finds out that it was not whole.
        self._numbers[cell + _WRITER] = 0
        self._numbers[cell + _SEQUENCE] = announcement.sequence
        self._numbers[cell + _LENGTH] = len(encoded)
        first = begin + _NUMBERS_EACH * 8
        self._memory[first : first + len(encoded)] = encoded
        self._numbers[cell + _WRITER] = announcement.writer_id

    def forget(self) -> None:
        """Leave no record, for whoever does not know whether they are true."""
        for begin in range(0, len(self._memory), SLOT_BYTES):
            # Not to touch a page that nobody has written to.
            if self._numbers[begin // 8 + _WRITER]:
                self._numbers[begin // 8 + _WRITER] = 0

    def read(self, ranges: SequenceRanges) -> dict[int, list[str]]:
        """The records in these ranges, of each writer that has left all of its own."""
        found = {}
        for writer_id, (after, last) in ranges.items():
            if last - after > SLOTS:
                continue
            texts = [self._read(writer_id, each) for each in range(after + 1, last + 1)]
            whole = [text for text in texts if text is not None]
            if len(whole) == len(texts):
                found[writer_id] = whole
        return found

    def _read(self, writer_id: int, sequence: int) -> str | None:
        for writer in self._writers:
            begin = self._slot(writer, sequence)
            numbers = self._numbers[begin // 8 : begin // 8 + _NUMBERS_EACH]
            if numbers[_WRITER] == writer_id and numbers[_SEQUENCE] == sequence:
                first = begin + _NUMBERS_EACH * 8
                encoded = self._memory[first : first + numbers[_LENGTH]]
                # Its writer may have begun with another one meanwhile.
                is_whole = numbers[_WRITER] == writer_id and numbers[_SEQUENCE] == sequence
                return encoded.decode() if is_whole else None
        return None

    def _slot(self, writer: int, sequence: int) -> int:
        return (writer * SLOTS + sequence % SLOTS) * SLOT_BYTES
