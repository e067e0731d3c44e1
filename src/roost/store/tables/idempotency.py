"""Answers stored under an idempotency key, for clients that lost the first one and ask again."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, delete, insert, select

from roost.model import Placed, Value
from roost.store.schema import roost_placements
from roost.store.tables.session import Session

_table = roost_placements

# Ample: a client that lost an answer asks again within seconds.
RETENTION_SECONDS = 24 * 60 * 60

# About one write in TRIM_INTERVAL also deletes expired answers, at most TRIM_ROWS_MAX of them.
TRIM_INTERVAL = 64
TRIM_ROWS_MAX = 256

_READ = select(_table.c.body_digest, _table.c.answer, _table.c.created_at).where(
    _table.c.key_digest == bindparam("key")
)

_DECODER = msgspec.json.Decoder(tuple[Placed, ...])


class StoredPlacement(Value, frozen=True, kw_only=True):
    """An answer, and the digest of the request that it answers."""

    body_digest: str
    placed: tuple[Placed, ...]


def read_stored_placement(connection: Connection, key_digest: str) -> StoredPlacement | None:
    """The answer stored under a key, unless it has expired."""
    row = connection.execute(_READ, {"key": key_digest}).first()
    return None if row is None or _has_expired(row.created_at) else _answer(row)


def _answer(row: Any) -> StoredPlacement:
    return StoredPlacement(body_digest=row.body_digest, placed=_DECODER.decode(row.answer))


def _has_expired(created_at: datetime) -> bool:
    return created_at < _earliest()


def _earliest() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=RETENTION_SECONDS)


class IdempotencyKeys:
    """Rows of `roost_placements`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def read(self, key_digest: str) -> StoredPlacement | None:
        """The answer stored under a key. One that has expired is deleted, which frees the key."""
        row = self._session.connection.execute(_READ, {"key": key_digest}).first()
        if row is not None and _has_expired(row.created_at):
            self._execute(delete(_table).where(_table.c.key_digest == key_digest))
            return None
        return None if row is None else _answer(row)

    def add(self, key_digest: str, body_digest: str, placed: Sequence[Placed]) -> None:
        """Store an answer. If another transaction has just used the key, this unit runs again."""
        self._execute(
            insert(_table).values(
                key_digest=key_digest,
                body_digest=body_digest,
                answer=msgspec.json.encode(placed).decode(),
                created_at=self._session.now,
            )
        )
        if secrets.randbelow(TRIM_INTERVAL) == 0:
            self._trim()

    def _trim(self) -> None:
        old = select(_table.c.key_digest).where(_table.c.created_at < _earliest())
        keys = self._session.connection.scalars(old.limit(TRIM_ROWS_MAX)).all()
        if keys:
            self._execute(delete(_table).where(_table.c.key_digest.in_(keys)))
