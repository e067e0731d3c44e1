"""Providers, and the guard on their generation."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Dialect,
    Select,
    delete,
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
from roost.store.change_record import NOT_YET_CREATED
from roost.store.connection.driver_errors import LostRace, naming_text
from roost.store.connection.statements import CHUNK, Write, chunks
from roost.store.schema import (
    inventories,
    provider_generation,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
)
from roost.store.tables.provider_statements import (
    LOCK_GENERATIONS,
    LOCK_RECORDS,
    LOCK_STATES,
    SELECT_RECORDS,
    LockingSelects,
    advance,
)
from roost.store.tables.session import Session

_table = resource_providers

# How many providers one statement advances: it has six parameters for each.
ADVANCE_CHUNK = 100

# How many one statement locks that has numbers and no parameters.
LOCK_CHUNK = 20_000


class ProviderState(Value, frozen=True, kw_only=True):
    """What the guard needs to know about a provider."""

    id: int
    uuid: str
    generation: int

    def check_generation(self, expected: int | None) -> None:
        """Refuse a client that saw another generation; None means that the client named none."""
        if expected is not None and expected != self.generation:
            raise ProviderGenerationConflict(self.uuid, expected, self.generation)


class ProviderRecord(ProviderState, frozen=True, kw_only=True):
    """One row, with the UUIDs of its parent and its root."""

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


def _record(row: Any) -> ProviderRecord:
    fields = dict(row._mapping)
    return ProviderRecord(**{**fields, "root_uuid": fields["root_uuid"] or fields["uuid"]})


def advance_writes(
    dialect: Dialect,
    steps: Iterable[tuple[ProviderState, int]],
    modified_at: datetime | None = None,
) -> Iterator[Write]:
    """The statements that advance generations where they still are what was read."""
    by_id = {provider.id: (provider, provider.generation + step) for provider, step in steps}
    for ids in chunks(by_id, ADVANCE_CHUNK):
        parameters: dict[str, Any] = {} if modified_at is None else {"now": modified_at}
        for number, id in enumerate(ids):
            provider, after = by_id[id]
            parameters[f"id{number}"] = id
            parameters[f"uuid{number}"] = provider.uuid
            parameters[f"before{number}"] = provider.generation
            parameters[f"after{number}"] = after
        yield advance(len(ids), modified=modified_at is not None).write(
            dialect, parameters, expected=len(ids), reason="a provider's generation changed"
        )


class Providers:
    """Rows of `resource_providers`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    # -----------------------------------------------------------------------------------------
    # Reading

    def find(self, uuid: str) -> ProviderRecord | None:
        rows = self._execute(SELECT_RECORDS.where(_table.c.uuid == uuid))
        # MySQL compares UUIDs without regard to case.
        return next((record for record in map(_record, rows) if record.uuid == uuid), None)

    def lock(self, uuid: str) -> ProviderRecord:
        """The provider, locked because this transaction is about to write it."""
        found = self.lock_all([uuid]).get(uuid)
        if found is None:
            raise ProviderNotFound(uuid)
        return found

    def lock_all(
        self, uuids: Iterable[str], ids: Iterable[int] = ()
    ) -> Mapping[str, ProviderRecord]:
        """Those of these providers that exist, by UUID, locked in the order of their ids."""
        return {
            record.uuid: record
            for record in map(_record, self._lock(LOCK_RECORDS, set(uuids), set(ids)))
        }

    def lock_states(
        self, uuids: Iterable[str], ids: Iterable[int] = ()
    ) -> Mapping[str, ProviderState]:
        """Like `lock_all`, but reads only what the guard needs."""
        return {
            row.uuid: ProviderState(id=row.id, uuid=row.uuid, generation=row.generation)
            for row in self._lock(LOCK_STATES, set(uuids), set(ids))
        }

    def lock_generations(self, ids: Collection[int]) -> Mapping[int, int]:
        """The generations of those of these providers that exist, by id, locked in that order."""
        generations: dict[int, int] = {}
        for some in chunks(ids, LOCK_CHUNK):
            rows = self._session.connection.exec_driver_sql(
                LOCK_GENERATIONS[self._session.dialect.name].format(ids=",".join(map(str, some)))
            )
            generations.update((id, generation) for id, generation in rows)
        return generations

    def _lock(self, selects: LockingSelects, uuids: set[str], ids: set[int]) -> Iterator[Any]:
        statements: list[tuple[Select[Any], dict[str, Any]]]
        if uuids and ids and len(uuids) + len(ids) <= CHUNK:
            statements = [(selects.both, {"uuids": list(uuids), "ids": list(ids)})]
        else:
            # Rows are locked in order within each chunk only. A deadlock is retried.
            statements = [(selects.by_uuid, {"uuids": some}) for some in chunks(uuids)]
            statements += [(selects.by_id, {"ids": some}) for some in chunks(ids)]
        for statement, values in statements:
            yield from self._execute(statement, values)

    # -----------------------------------------------------------------------------------------
    # The guard

    def advance(self, steps: Iterable[tuple[ProviderState, int]], *, modified: bool = True) -> None:
        """Advance generations where they still are what was read: the guard of every write.

        One statement advances all of them. Every competing writer writes these rows too, so the
        second one finds another generation, loses the race, and starts over with what it reads
        then.

        With `modified=False`, for claims, the providers keep their last-modified time. Other
        processes then learn the new usage and generations from the change record, and need not
        read the providers again.
        """
        steps = list(steps)
        self._session.defer(
            advance_writes(
                self._session.dialect, steps, modified_at=self._session.now if modified else None
            )
        )
        by_id = {provider.id: provider.generation + step for provider, step in steps}
        for id, after in by_id.items():
            self._session.changes.set_generation(id, after)
        if modified:
            self._session.changes.reread_providers(by_id)

    def touch(self, ids: Iterable[int]) -> None:
        """Write these rows without advancing them, to conflict with others that touch them."""
        ids = sorted(set(ids))
        touched = self._execute(
            update(_table)
            .where(_table.c.id.in_(ids))
            .values(updated_at=self._session.touched(_table))
        ).rowcount
        if touched != len(ids):
            raise LostRace("a provider was deleted")
        self._session.changes.reread_providers(ids)

    def announce_unmoved(self, providers: Iterable[ProviderState]) -> None:
        """Record at which generation this write changed providers that it does not advance.

        The event feed orders this write by it, between the writes that do advance them. The
        generation is exact if the transaction wrote or locked the provider before it read it.
        """
        for provider in providers:
            self._session.changes.see_generation(provider.id, provider.generation)

    # -----------------------------------------------------------------------------------------
    # Rows

    def check_free(self, name: str, uuid: str | None = None, except_id: int | None = None) -> None:
        """Raise `ProviderExists` if another provider has the name or the UUID."""
        taken = _table.c.name == name
        if uuid is not None:
            taken = or_(taken, _table.c.uuid == uuid)
        with naming_text([("name", name)]):
            rows = self._execute(select(_table.c.id, _table.c.uuid).where(taken)).all()
        others = [row.uuid for row in rows if row.id != except_id]
        if uuid is not None and uuid.lower() in (other.lower() for other in others):
            raise ProviderExists("uuid", uuid)
        if others:
            raise ProviderExists("name", name)

    def insert(self, uuid: str, name: str, parent: ProviderRecord | None) -> Provider:
        now = self._session.now
        row = {
            "uuid": uuid,
            "name": name,
            "generation": 0,
            "parent_provider_id": parent and parent.id,
            "root_provider_id": parent and parent.root_id,
            "created_at": now,
        }
        with naming_text([("name", name)]):
            inserted = self._execute(insert(_table).values(row))
        id = next(iter(inserted.inserted_primary_key or ()))
        if parent is None:
            # A root names itself as its root, and its id is known only now.
            self._execute(update(_table).where(_table.c.id == id).values(root_provider_id=id))
        self._session.changes.reread_providers([id], EventKind.PROVIDER)
        self._session.changes.see_generation(id, NOT_YET_CREATED)
        return Provider(
            uuid=uuid,
            name=name,
            generation=0,
            parent_uuid=parent.uuid if parent else None,
            root_uuid=parent.root_uuid if parent else uuid,
            modified=now,
        )

    def rename(self, provider: ProviderRecord, name: str) -> None:
        renamed = update(_table).where(_table.c.id == provider.id)
        with naming_text([("name", name)]):
            self._execute(renamed.values(name=name, updated_at=self._session.now))
        self._session.changes.reread_providers([provider.id], EventKind.PROVIDER)

    def check_childless(self, provider: ProviderRecord) -> None:
        child = select(_table.c.id).where(_table.c.parent_provider_id == provider.id).limit(1)
        if self._execute(child).first() is not None:
            raise ProviderHasChildren(provider.uuid)

    def delete(self, provider: ProviderRecord) -> None:
        # Guarded by the generation, which a concurrent claim advances. A root refers to itself, and
        # MySQL would not delete a row that is referred to.
        guarded = self._execute(
            update(_table)
            .where(_table.c.id == provider.id, provider_generation == provider.generation)
            .values(root_provider_id=None)
        ).rowcount
        if not guarded:
            raise LostRace("the provider's generation changed")
        for table in (inventories, resource_provider_traits, resource_provider_aggregates):
            self._execute(delete(table).where(table.c.resource_provider_id == provider.id))
        self._execute(delete(_table).where(_table.c.id == provider.id))
        self._session.changes.delete_provider(provider.id, provider.uuid, provider.root_uuid)
