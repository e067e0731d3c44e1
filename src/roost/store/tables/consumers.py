"""Consumers, and the guard on their generation.

A consumer keeps the spelling of its UUID under which it was first stored. It is found by that one,
and in lower and upper case.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Dialect,
    and_,
    bindparam,
    case,
    delete,
    func,
    or_,
    select,
    update,
)

from roost.model import Value
from roost.store.connection.driver_errors import LostRace
from roost.store.connection.statements import CHUNK, PreparedInsert, Write, chunks
from roost.store.schema import (
    allocations,
    consumers,
    provider_generation,
    resource_providers,
)
from roost.store.tables.consumer_references import ConsumerReferences, References
from roost.store.tables.providers import ProviderState
from roost.store.tables.session import Session
from roost.uuids import SPELLINGS_MAX, canonical_uuid

_table = consumers


class Holding(Value, frozen=True, kw_only=True):
    """A row of allocations: what a consumer holds of one class of one provider."""

    id: int
    provider_id: int
    class_id: int
    used: int


class ConsumerRecord(Value, frozen=True, kw_only=True):
    """A row of consumers as it was read, with the allocations of the consumer."""

    id: int
    uuid: str
    generation: int
    project_id: int
    user_id: int
    type_id: int | None
    holdings: tuple[Holding, ...]


class ConsumerRow(Value, frozen=True, kw_only=True):
    """The values to write to a row of consumers."""

    uuid: str
    project_id: int
    user_id: int
    type_id: int | None


_SELECT = select(
    _table.c.id,
    _table.c.uuid,
    _table.c.generation,
    _table.c.project_id,
    _table.c.user_id,
    _table.c.consumer_type_id,
    allocations.c.id.label("allocation_id"),
    allocations.c.resource_provider_id,
    allocations.c.resource_class_id,
    allocations.c.used,
).outerjoin_from(_table, allocations, allocations.c.consumer_id == _table.c.uuid)

# Built once: building a statement costs as much as running it.
_NAMED = _table.c.uuid.in_(bindparam("uuids", expanding=True))
_READ = _SELECT.where(_NAMED)
_READ_WITH_PROVIDERS = (
    _SELECT.add_columns(
        resource_providers.c.uuid.label("provider_uuid"),
        provider_generation.label("provider_generation"),
    )
    .outerjoin(resource_providers, resource_providers.c.id == allocations.c.resource_provider_id)
    .where(_NAMED)
)
_others = consumers.alias("others")


def _unique_uuid(dialect: str, parameter: Callable[[str], Any]) -> Any:
    """The UUID to insert. If the consumer exists in another spelling, it is that one.

    So the insert fails then too.
    """
    stored = []
    for spelling in ("canonical", "upper"):
        found = select(_others.c.uuid).where(_others.c.uuid == parameter(spelling))
        if dialect == "mysql":
            # It reads no table into which it inserts, except into a table in between.
            found = select(found.limit(1).subquery(f"stored_{spelling}").c.uuid)
        stored.append(found.scalar_subquery())
    return func.coalesce(*stored, parameter("uuid"))


_COLUMNS = ["project_id", "user_id", "consumer_type_id", "generation", "created_at"]
_INSERT = PreparedInsert(_table, ["uuid", *_COLUMNS])
_INSERT_ONCE = PreparedInsert(_table, _COLUMNS, computed={"uuid": _unique_uuid})


def insert_writes(
    dialect: Dialect, rows: Iterable[ConsumerRow], now: datetime, *, ignores_case: bool
) -> Iterable[Write]:
    """The statements that add consumers, and fail if one exists in any spelling."""
    values = [
        {
            "uuid": row.uuid,
            "canonical": canonical_uuid(row.uuid),
            "upper": canonical_uuid(row.uuid).upper(),
            "project_id": row.project_id,
            "user_id": row.user_id,
            "consumer_type_id": row.type_id,
            "generation": 1,
            "created_at": now,
        }
        for row in rows
    ]
    # A database that ignores case refuses the other spelling by itself.
    return (_INSERT if ignores_case else _INSERT_ONCE).writes(dialect, values)


def by_spellings(
    rows: Iterable[Any], key: Callable[[str], str]
) -> Callable[[Sequence[str]], Sequence[Any]]:
    """A function that finds the rows of one consumer by its spellings, the likeliest first.

    `key` is the same for all UUIDs that the database considers equal. Placement may have stored
    a UUID in two spellings, as two consumers.
    """
    by_uuid: dict[str, list[Any]] = {}
    for row in rows:
        by_uuid.setdefault(row.uuid, []).append(row)
    by_key = {key(uuid): rows for uuid, rows in by_uuid.items()}

    def choose(spellings: Sequence[str]) -> Sequence[Any]:
        for spelling in spellings:
            if spelling in by_uuid:
                return by_uuid[spelling]
        keys = map(key, spellings)
        return next((by_key[each] for each in keys if each in by_key), ())

    return choose


class Consumers:
    """Rows of `consumers`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def read(self, spellings: Mapping[str, Sequence[str]]) -> Mapping[str, ConsumerRecord]:
        """Those of these consumers that exist, each by the key of its possible spellings."""
        found = {}
        # The spellings of a consumer stay in one statement: a database that takes them for equal
        # would return its rows once for each statement.
        for names in chunks(spellings, CHUNK // SPELLINGS_MAX):
            texts = list(dict.fromkeys(text for name in names for text in spellings[name]))
            choose = by_spellings(self._execute(_READ, {"uuids": texts}), self._session.key)
            found.update({name: choose(spellings[name]) for name in names})
        return {name: _record(rows) for name, rows in found.items() if rows}

    def read_with_providers(
        self, spellings: Sequence[str]
    ) -> tuple[ConsumerRecord | None, Collection[ProviderState]]:
        """A consumer, if it exists, and the providers that it has allocations of."""
        found = self._execute(_READ_WITH_PROVIDERS, {"uuids": list(spellings)})
        rows = by_spellings(found, self._session.key)(spellings)
        providers = {
            row.resource_provider_id: ProviderState(
                id=row.resource_provider_id,
                uuid=row.provider_uuid,
                generation=row.provider_generation,
            )
            for row in rows
            if row.provider_uuid is not None
        }
        return _record(rows) if rows else None, providers.values()

    # -----------------------------------------------------------------------------------------
    # Writing, guarded by the generation

    def insert(self, rows: Iterable[ConsumerRow]) -> None:
        """Add consumers, at generation 1: a row exists from the first allocation on."""
        session = self._session
        session.defer(
            insert_writes(session.dialect, rows, session.now, ignores_case=session.ignores_case)
        )

    def update(self, changed: Sequence[tuple[ConsumerRecord, ConsumerRow]]) -> None:
        """Write these rows and advance their generations.

        Raises `LostRace` if a generation is no longer the one that was read.
        """
        new = {before.id: after for before, after in changed}
        by_id = {before.id: before for before, _ in changed}
        for ids in chunks(by_id):
            values: dict[str, Any] = {
                "generation": _table.c.generation + 1,
                "updated_at": self._session.now,
            }
            if any(_differs(by_id[id], new[id]) for id in ids):
                values["project_id"] = _by_id({id: new[id].project_id for id in ids})
                values["user_id"] = _by_id({id: new[id].user_id for id in ids})
                values["consumer_type_id"] = _by_id({id: new[id].type_id for id in ids})
            advanced = self._execute(
                update(_table).where(_unchanged([by_id[id] for id in ids])).values(**values)
            ).rowcount
            if advanced != len(ids):
                raise LostRace("a consumer's generation changed")

    def delete(self, records: Sequence[ConsumerRecord]) -> None:
        """Delete consumers that hold nothing any more.

        Raises `LostRace` if a generation is no longer the one that was read.
        """
        by_id = {record.id: record for record in records}
        for ids in chunks(by_id):
            unchanged = _unchanged([by_id[id] for id in ids])
            if self._execute(delete(_table).where(unchanged)).rowcount != len(ids):
                raise LostRace("a consumer's generation changed")

    # -----------------------------------------------------------------------------------------
    # Projects, users and types

    def references(
        self, *, projects: Collection[str], users: Collection[str], types: Collection[str]
    ) -> References:
        """The ids of these names. Adds new names."""
        return ConsumerReferences(self._session).ids(projects=projects, users=users, types=types)


def _record(rows: Sequence[Any]) -> ConsumerRecord:
    first = rows[0]
    return ConsumerRecord(
        id=first.id,
        uuid=first.uuid,
        generation=first.generation,
        project_id=first.project_id,
        user_id=first.user_id,
        type_id=first.consumer_type_id,
        holdings=tuple(
            Holding(
                id=row.allocation_id,
                provider_id=row.resource_provider_id,
                class_id=row.resource_class_id,
                used=row.used,
            )
            for row in rows
            if row.allocation_id is not None
        ),
    )


def _differs(before: ConsumerRecord, after: ConsumerRow) -> bool:
    return (before.project_id, before.user_id, before.type_id) != (
        after.project_id,
        after.user_id,
        after.type_id,
    )


def _by_id(values: Mapping[int, int | None]) -> Any:
    different = set(values.values())
    return case(values, value=_table.c.id) if len(different) > 1 else different.pop()


def _unchanged(records: Sequence[ConsumerRecord]) -> ColumnElement[bool]:
    return and_(
        _table.c.id.in_([record.id for record in records]),
        or_(
            *(
                and_(_table.c.id == record.id, _table.c.generation == record.generation)
                for record in records
            )
        ),
    )
