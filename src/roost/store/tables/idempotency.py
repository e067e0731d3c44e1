"""IdempotencyKeys that are kept under a key, for clients that did not hear them and ask again."""

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

# A client that did not hear an answer asks again within seconds.
KEPT_SECONDS = 24 * 60 * 60

# One write in so many also removes what is older, a part at a time.
TRIM_INTERVAL = 64
TRIM_ROWS_MAX = 256

_READ = select(_table.c.body_digest, _table.c.answer, _table.c.created_at).where(
    _table.c.key_digest == bindparam("key")
)

_DECODER = msgspec.json.Decoder(tuple[Placed, ...])


class StoredPlacement(Value, frozen=True, kw_only=True):
    """What was answered, and the digest of what was asked."""

    body_digest: str
    placed: tuple[Placed, ...]


def read_stored_placement(connection: Connection, key_digest: str) -> StoredPlacement | None:
    """What was answered under a key."""
    row = connection.execute(_READ, {"key": key_digest}).first()
    return None if row is None or _is_old(row.created_at) else _answer(row)


def _answer(row: Any) -> StoredPlacement:
    return StoredPlacement(body_digest=row.body_digest, placed=_DECODER.decode(row.answer))


def _is_old(created_at: datetime) -> bool:
    return created_at < _earliest()


def _earliest() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=KEPT_SECONDS)


class IdempotencyKeys:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def read(self, key_digest: str) -> StoredPlacement | None:
        """What was answered under a key, which is free again if that is long ago."""
        row = self._session.connection.execute(_READ, {"key": key_digest}).first()
        if row is not None and _is_old(row.created_at):
            self._execute(delete(_table).where(_table.c.key_digest == key_digest))
            return None
        return None if row is None else _answer(row)

    def add(self, key_digest: str, body_digest: str, placed: Sequence[Placed]) -> None:
        """Keep an answer. If somebody else keeps one under this key, the unit runs again."""
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
