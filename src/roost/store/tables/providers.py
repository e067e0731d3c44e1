"""Providers: finding them, and the guard on their generation."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    Select,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from roost.errors import (
    ProviderExists,
    ProviderGenerationConflict,
    ProviderHasChildren,
    ProviderNotFound,
)
from roost.model import EventKind, Provider, Value
from roost.store.change_record import UNBORN
from roost.store.connection.driver_errors import LostRace
from roost.store.connection.prepared import Prepared
from roost.store.schema import (
    inventories,
    provider_generation,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
)
from roost.store.tables.index_rows import CHUNK, chunks, modified
from roost.store.tables.session import Session

_table = resource_providers

# How many providers one statement moves on: it has six parameters for each.
ADVANCE_CHUNK = 100
_parent = resource_providers.alias("parent")
_root = resource_providers.alias("root")


class ProviderState(Value, frozen=True, kw_only=True):
    """What the guard needs to know of a provider."""

    id: int
    uuid: str
    generation: int

    def check_generation(self, expected: int | None) -> None:
        """Refuse a writer that saw another generation; None is a writer that did not look."""
        if expected is not None and expected != self.generation:
            raise ProviderGenerationConflict(self.uuid, expected, self.generation)


class ProviderRecord(ProviderState, frozen=True, kw_only=True):
    """One row, with the names of its parent and its root."""

    name: str
    parent_id: int | None
    parent_uuid: str | None
    root_id: int
    root_uuid: str
    modified: datetime

    def value(self) -> Provider:
        return Provider(
            uuid=self.uuid,
            name=self.name,
            generation=self.generation,
            parent_uuid=self.parent_uuid,
            root_uuid=self.root_uuid,
            modified=self.modified,
        )


# The names of parent and root come from subqueries rather than joins, so that a lock on the
# result is a lock on the provider alone.
_SELECT = select(
    _table.c.id,
    _table.c.uuid,
    _table.c.name,
    provider_generation.label("generation"),
    _table.c.parent_provider_id.label("parent_id"),
    func.coalesce(_table.c.root_provider_id, _table.c.id).label("root_id"),
    select(_parent.c.uuid)
    .where(_parent.c.id == _table.c.parent_provider_id)
    .scalar_subquery()
    .label("parent_uuid"),
    select(_root.c.uuid)
    .where(_root.c.id == _table.c.root_provider_id)
    .scalar_subquery()
    .label("root_uuid"),
    modified(_table).label("modified"),
).order_by(_table.c.id)


def _record(row: Any) -> ProviderRecord:
    fields = dict(row._mapping)
    return ProviderRecord(**{**fields, "root_uuid": fields["root_uuid"] or fields["uuid"]})


class _Locks(NamedTuple):
    """The ways to ask for the same columns of providers, and to lock them.

    The lock is a courtesy: writers of one provider queue here instead of failing at the guard
    and trying again. It decides nothing; on Galera other nodes do not see it. Referencing rows,
    such as those of traits, may still be written meanwhile.
    """

    by_uuid: Select[Any]
    by_id: Select[Any]
    both: Select[Any]

    @classmethod
    def of(cls, columns: Select[Any]) -> "_Locks":
        by_uuid = _table.c.uuid.in_(bindparam("uuids", expanding=True))
        by_id = _table.c.id.in_(bindparam("ids", expanding=True))
        return cls(
            *(
                columns.where(which).with_for_update(key_share=True)
                for which in (by_uuid, by_id, or_(by_uuid, by_id))
            )
        )


# Built once: building a statement costs as much as running it.
_RECORDS = _Locks.of(_SELECT)
_STATES = _Locks.of(
    select(_table.c.id, _table.c.uuid, provider_generation.label("generation")).order_by(
        _table.c.id
    )
)


@functools.lru_cache(maxsize=64)
def _advance(count: int, *, modified: bool) -> Prepared:
    """The guard: move the generations of so many providers, if they still are what was read."""
    numbers = range(count)
    unchanged = or_(
        *(
            and_(
                _table.c.id == bindparam(f"id{number}"),
                # SQLite gives the id of a deleted row away again.
                _table.c.uuid == bindparam(f"uuid{number}"),
                provider_generation == bindparam(f"before{number}"),
            )
            for number in numbers
        )
    )
    after = case(
        *(
            (_table.c.id == bindparam(f"id{number}"), bindparam(f"after{number}"))
            for number in numbers
        )
    )
    # Without the list of ids some planners read the whole table.
    which = _table.c.id.in_([bindparam(f"id{number}") for number in numbers])
    statement = (
        update(_table)
        .where(which, unchanged)
        .values(generation=after if count > 1 else bindparam("after0"))
    )
    if modified:
        now = bindparam("now", type_=_table.c.updated_at.type)
        statement = statement.values(updated_at=now)
    return Prepared(statement)


class Providers:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    # -----------------------------------------------------------------------------------------
    # Finding

    def find(self, uuid: str) -> ProviderRecord | None:
        rows = self._execute(_SELECT.where(_table.c.uuid == uuid))
        # MySQL compares without regard to case.
        return next((record for record in map(_record, rows) if record.uuid == uuid), None)

    def lock(self, uuid: str) -> ProviderRecord:
        """The provider, which this transaction is about to write."""
        found = self.lock_all([uuid]).get(uuid)
        if found is None:
            raise ProviderNotFound(uuid)
        return found

    def lock_all(
        self, uuids: Iterable[str], ids: Iterable[int] = ()
    ) -> Mapping[str, ProviderRecord]:
        """Those of the named providers that exist, by UUID, locked in the order of their ids."""
        return {
            record.uuid: record
            for record in map(_record, self._lock(_RECORDS, set(uuids), set(ids)))
        }

    def lock_states(
        self, uuids: Iterable[str], ids: Iterable[int] = ()
    ) -> Mapping[str, ProviderState]:
        """Like `lock_all`, for who needs to know no more than the guard."""
        return {
            row.uuid: ProviderState(id=row.id, uuid=row.uuid, generation=row.generation)
            for row in self._lock(_STATES, set(uuids), set(ids))
        }

    def _lock(self, locks: "_Locks", uuids: set[str], ids: set[int]) -> Iterator[Any]:
        questions: list[tuple[Select[Any], dict[str, Any]]]
        if uuids and ids and len(uuids) + len(ids) <= CHUNK:
            questions = [(locks.both, {"uuids": list(uuids), "ids": list(ids)})]
        else:
            # So many that their order is only kept within each part; a deadlock is retried.
            questions = [(locks.by_uuid, {"uuids": some}) for some in chunks(uuids)]
            questions += [(locks.by_id, {"ids": some}) for some in chunks(ids)]
        for statement, values in questions:
            yield from self._execute(statement, values)

    # -----------------------------------------------------------------------------------------
    # The guard

    def advance(self, steps: Iterable[tuple[ProviderState, int]], *, modified: bool = True) -> None:
        """Move generations on, if they still are what was read: the guard of every write.

        One statement for all of them; every competing writer writes these rows too, so whoever
        comes second finds another generation, and runs again on what it now reads.

        A claim does not count as modifying the provider: other processes learn of it as sums and
        generations, and need not read the provider anew.
        """
        by_id = {provider.id: (provider, provider.generation + step) for provider, step in steps}
        for ids in chunks(by_id, ADVANCE_CHUNK):
            parameters: dict[str, Any] = {"now": self._session.now} if modified else {}
            for number, id in enumerate(ids):
                provider, after = by_id[id]
                parameters[f"id{number}"] = id
                parameters[f"uuid{number}"] = provider.uuid
                parameters[f"before{number}"] = provider.generation
                parameters[f"after{number}"] = after
            self._session.write(
                _advance(len(ids), modified=modified),
                parameters,
                expected=len(ids),
                reason="a provider's generation moved",
            )
        for id, (_, after) in by_id.items():
            self._session.announcement.generation(id, after)
        if modified:
            self._session.announcement.providers(by_id)

    def touch(self, ids: Iterable[int]) -> None:
        """Write these rows without moving their generation, to meet others that do the same."""
        ids = sorted(set(ids))
        touched = self._execute(
            update(_table)
            .where(_table.c.id.in_(ids))
            .values(updated_at=self._session.touched(_table))
        ).rowcount
        if touched != len(ids):
            raise LostRace("a provider is gone")
        self._session.announcement.providers(ids)

    def announce_unmoved(self, providers: Iterable[ProviderState]) -> None:
        """Tell at which generation these providers were changed by a write that moves none.

        Those who watch are told of it between the writes that do. The generation is exact if the
        provider was written, or locked, before it was read.
        """
        for provider in providers:
            self._session.announcement.seen(provider.id, provider.generation)

    # -----------------------------------------------------------------------------------------
    # Rows

    def check_free(self, name: str, uuid: str | None = None, except_id: int | None = None) -> None:
        """Refuse a name, or a UUID, that another provider has."""
        taken = _table.c.name == name
        if uuid is not None:
            taken = or_(taken, _table.c.uuid == uuid)
        rows = self._execute(select(_table.c.id, _table.c.uuid).where(taken))
        others = [row.uuid for row in rows if row.id != except_id]
        if uuid is not None and uuid.lower() in (other.lower() for other in others):
            raise ProviderExists("uuid", uuid)
        if others:
            raise ProviderExists("name", name)

    def insert(self, uuid: str, name: str, parent: ProviderRecord | None) -> Provider:
        now = self._session.now
        inserted = self._execute(
            insert(_table).values(
                uuid=uuid,
                name=name,
                generation=0,
                parent_provider_id=parent and parent.id,
                root_provider_id=parent and parent.root_id,
                created_at=now,
            )
        )
        id = next(iter(inserted.inserted_primary_key or ()))
        if parent is None:
            # A root is its own root, and learns its id only now.
            self._execute(update(_table).where(_table.c.id == id).values(root_provider_id=id))
        self._session.announcement.providers([id], EventKind.PROVIDER)
        self._session.announcement.seen(id, UNBORN)
        return Provider(
            uuid=uuid,
            name=name,
            generation=0,
            parent_uuid=parent.uuid if parent else None,
            root_uuid=parent.root_uuid if parent else uuid,
            modified=now,
        )

    def rename(self, provider: ProviderRecord, name: str) -> None:
        self._execute(
            update(_table)
            .where(_table.c.id == provider.id)
            .values(name=name, updated_at=self._session.now)
        )
        self._session.announcement.providers([provider.id], EventKind.PROVIDER)

    def check_childless(self, provider: ProviderRecord) -> None:
        child = select(_table.c.id).where(_table.c.parent_provider_id == provider.id).limit(1)
        if self._execute(child).first() is not None:
            raise ProviderHasChildren(provider.uuid)

    def delete(self, provider: ProviderRecord) -> None:
        # Guarded by the generation: a claim that came in between has moved it. A root refers to
        # itself, which MySQL takes for a reference that forbids to delete it.
        guarded = self._execute(
            update(_table)
            .where(_table.c.id == provider.id, provider_generation == provider.generation)
            .values(root_provider_id=None)
        ).rowcount
        if not guarded:
            raise LostRace("the provider's generation moved")
        for table in (inventories, resource_provider_traits, resource_provider_aggregates):
            self._execute(delete(table).where(table.c.resource_provider_id == provider.id))
        self._execute(delete(_table).where(_table.c.id == provider.id))
        self._session.announcement.gone(provider.id, provider.uuid, provider.root_uuid)
