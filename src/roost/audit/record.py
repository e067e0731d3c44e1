"""The file that remembers what was given back: JSON, a line at a time.

The first line says what the file is. Before consumers are removed, a `planned` line for each has
all that it holds. Afterwards a line says what came of it: `removed`, or `kept` and why. Lines are
on the disk before the next step is taken. So whenever the process ends, what it has removed can be
put back. A consumer without a second line may have been removed or not.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec

from roost.client import Consumer
from roost.model import Value

FORMAT = "roost-audit-record"
VERSION = 1


class InvalidRecord(ValueError):
    """A file is not a record. The message is one line for the user."""


class RecordedConsumer(Value, frozen=True, kw_only=True):
    """What a consumer held before it was removed."""

    uuid: str
    project_id: str | None
    user_id: str | None
    consumer_type: str | None
    generation: int | None
    allocations: Mapping[str, Mapping[str, int]]  # provider UUID -> class -> amount

    @classmethod
    def of(cls, consumer: Consumer) -> Self:
        return cls(
            uuid=consumer.uuid,
            project_id=consumer.project_id,
            user_id=consumer.user_id,
            consumer_type=consumer.consumer_type,
            generation=consumer.generation,
            allocations=consumer.allocations,
        )

    def as_new(self) -> Consumer:
        """The consumer, to be written where it does not exist."""
        return Consumer(
            uuid=self.uuid,
            allocations=self.allocations,
            project_id=self.project_id,
            user_id=self.user_id,
            consumer_type=self.consumer_type,
        )


class Record:
    """A new file, which is written to as consumers are removed."""

    def __init__(self, path: Path) -> None:
        """Makes the file. Raises FileExistsError if there is one already."""
        self.path = path
        self.is_empty = True  # so far nothing was planned, and so nothing removed
        # Only its owner may read it: it says who held what.
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file: BinaryIO = os.fdopen(number, "wb", buffering=0)
        try:
            self._write([{"format": FORMAT, "version": VERSION, "at": _now()}])
        except OSError:
            self._file.close()
            path.unlink()
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def planned(self, consumers: Iterable[Consumer]) -> None:
        self._write([{"planned": RecordedConsumer.of(each)} for each in consumers])
        self.is_empty = False

    def removed(self, consumers: Iterable[Consumer]) -> None:
        now = _now()
        self._write([{"removed": each.uuid, "at": now} for each in consumers])

    def kept(self, consumer: Consumer, reason: str) -> None:
        self._write([{"kept": consumer.uuid, "reason": reason}])

    def _write(self, lines: Iterable[Mapping[str, Any]]) -> None:
        content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        while content:
            # A disk that becomes full takes a part.
            content = content[self._file.write(content) :]
        os.fsync(self._file.fileno())


class Line(Value, frozen=True, kw_only=True):
    """A line after the first one: one of the three."""

    planned: RecordedConsumer | None = None
    removed: str | None = None
    kept: str | None = None


def read_record(path: Path) -> list[RecordedConsumer]:
    """The consumers that were removed, or may have been, in the order of their removal."""
    lines = _lines(path)
    planned: dict[str, RecordedConsumer] = {}
    for number, content in lines:
        try:
            line = msgspec.json.decode(content, type=Line)
        except msgspec.DecodeError as error:
            raise InvalidRecord(f"{path}, line {number}: {error}") from None
        if line.planned is not None:
            planned[line.planned.uuid] = line.planned
        elif line.kept is not None:
            planned.pop(line.kept, None)
        elif line.removed not in planned:
            raise InvalidRecord(
                f"{path}, line {number}: expected planned, kept, or removed after planned"
            )
    return list(planned.values())


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """All lines but the first, with their numbers."""
    lines = path.read_bytes().split(b"\n")
    if lines[-1]:
        # The process ended while it wrote this line, so what it announces was not done.
        lines[-1] = b""
    try:
        first = msgspec.json.decode(lines[0])
        is_record = (first["format"], first["version"]) == (FORMAT, VERSION)
    except (msgspec.DecodeError, KeyError, TypeError):
        is_record = False
    if not is_record:
        raise InvalidRecord(f"{path} is not a record of roost audit")
    return ((number, line) for number, line in enumerate(lines[1:], 2) if line)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
