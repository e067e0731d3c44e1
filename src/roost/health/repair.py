"""Repairs of findings, where a repair is safe.

A repair of rows is a unit of work of the store. It reads the tables again, because a finding may be
stale by the time that the operator agrees to its repair, and returns how many rows it wrote or
deleted. Indexes and keys are added one by one, so that one which fails does not stop the others.
"""

from collections.abc import Callable, Collection, Mapping
from itertools import islice
from typing import NamedTuple

from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import delete, select, text, update
from sqlalchemy import exc as sql

from roost.errors import ConcurrentUpdate
from roost.health.definitions import INDEXES, KEYS, describe, find_addable
from roost.health.findings import FindingKind
from roost.health.inspection import (
    ESSENTIAL_REFERENCES,
    OWNER_REFERENCES,
    WITHOUT_ALLOCATION,
    read_tree_links,
)
from roost.health.outcome import first_line
from roost.model import EventKind
from roost.store.adoption.adopt import IncompleteIds
from roost.store.adoption.backfill import (
    create_consumers,
    find_missing_roots,
    roots_by_parents,
    set_roots,
)
from roost.store.connection.statements import chunks
from roost.store.definitions import MissingPart, PartKind
from roost.store.schema import consumers, resource_providers
from roost.store.store import Store
from roost.store.tables.consumers import ConsumerRecord
from roost.store.transaction import Transaction

# Called with what could not be repaired, and why.
Report = Callable[[str], None]
Repair = Callable[[Store, IncompleteIds, Report], int]


def repair(
    store: Store, kind: FindingKind, incomplete: IncompleteIds, report: Report = lambda _: None
) -> int:
    """Repair all findings of one kind; returns the number of rows, or of indexes and keys."""
    return REPAIRS[kind](store, incomplete, report)


class CompletedRows(NamedTuple):
    """How many rows were completed."""

    roots: int  # providers that had no root
    consumers: int  # records that were missing


def complete_rows(
    store: Store, incomplete: IncompleteIds, rows_max: int | None = None
) -> CompletedRows:
    """Fill in what releases of Placement before Train left empty, in one transaction.

    Adoption does so too. This is for rows that came later, as with a backup that was restored.
    """

    def complete(transaction: Transaction) -> CompletedRows:
        roots = _set_missing_roots(transaction, rows_max)
        left = None if rows_max is None else rows_max - roots
        consumers = 0 if left == 0 else _add_consumers(transaction, incomplete, left)
        return CompletedRows(roots, consumers)

    return store.run(complete)


def _set_missing_roots(transaction: Transaction, rows_max: int | None) -> int:
    found = find_missing_roots(transaction.connection).roots
    some = dict(islice(found.items(), rows_max))
    _touch(transaction, {*some, *some.values()})
    # Read again under the locks, as in `_correct_roots`.
    found = find_missing_roots(transaction.connection).roots
    roots = {id: found[id] for id in some if id in found}
    set_roots(transaction.connection, roots)
    transaction.changes.reread_providers(roots, EventKind.PROVIDER)
    return len(roots)


def _remove_missing_parents(transaction: Transaction, incomplete: IncompleteIds) -> int:
    providers = read_tree_links(transaction.connection)
    ids = {each.id for each in providers}
    orphans = {each.id for each in providers if each.parent is not None and each.parent not in ids}
    _touch(transaction, orphans)
    for some in chunks(orphans):
        transaction.execute(
            update(resource_providers)
            .where(resource_providers.c.id.in_(some))
            .values(parent_provider_id=None)
        )
    # They, and all providers below them, may belong to another root now.
    return len(orphans) + _correct_roots(transaction, incomplete)


def _correct_roots(transaction: Transaction, _: IncompleteIds) -> int:
    wrong = _wrong_roots(transaction)
    # Every transaction that changes the shape of a tree writes its root first. So a concurrent
    # one waits for this one, or this one sees what it did.
    _touch(transaction, {*wrong, *wrong.values()})
    wrong = _wrong_roots(transaction)
    set_roots(transaction.connection, wrong)
    transaction.changes.reread_providers(wrong, EventKind.PROVIDER)
    return len(wrong)


def _wrong_roots(transaction: Transaction) -> dict[int, int]:
    """The right root of each provider that has a wrong one, by id."""
    providers = read_tree_links(transaction.connection)
    roots = roots_by_parents({each.id: each.parent for each in providers})
    return {
        each.id: root
        for each in providers
        if (root := roots[each.id]) is not None and root != each.root
    }


def _touch(transaction: Transaction, ids: set[int]) -> None:
    for some in chunks(ids):
        transaction.providers.touch(some)


def _add_consumers(
    transaction: Transaction, incomplete: IncompleteIds, rows_max: int | None = None
) -> int:
    def project_and_user() -> Mapping[str, int]:
        ids = transaction.consumers.references(
            projects={incomplete.project}, users={incomplete.user}, types=()
        )
        return {
            "project_id": ids.projects[incomplete.project],
            "user_id": ids.users[incomplete.user],
        }

    return create_consumers(transaction.connection, project_and_user, transaction.now, rows_max)


def _delete_orphaned_consumers(transaction: Transaction, _: IncompleteIds) -> int:
    rows = transaction.execute(select(consumers).where(WITHOUT_ALLOCATION))
    records = [
        ConsumerRecord(
            id=row.id,
            uuid=row.uuid,
            generation=row.generation,
            project_id=row.project_id,
            user_id=row.user_id,
            type_id=row.consumer_type_id,
            holdings=(),
        )
        for row in rows
    ]
    # Guarded by the generation, which a claim advances: a consumer with new allocations stays.
    transaction.consumers.delete(records)
    return len(records)


def _delete_dangling_rows(transaction: Transaction, _: IncompleteIds) -> int:
    count = 0
    for reference in ESSENTIAL_REFERENCES:
        table = reference.column.table
        provider_ids = transaction.connection.scalars(
            select(table.c.resource_provider_id).where(reference.is_dangling).distinct()
        )
        transaction.changes.reread_providers(provider_ids, EventKind.PROVIDER)
        count += transaction.execute(delete(table).where(reference.is_dangling)).rowcount
    return count


def _replace_missing_owners(transaction: Transaction, incomplete: IncompleteIds) -> int:
    ids = transaction.consumers.references(
        projects={incomplete.project}, users={incomplete.user}, types=()
    )
    project_and_user = ids.projects[incomplete.project], ids.users[incomplete.user]
    count = 0
    for reference, id in zip(OWNER_REFERENCES, project_and_user, strict=True):
        statement = update(consumers).where(reference.is_dangling)
        count += transaction.execute(statement.values({reference.column: id})).rowcount
    return count


def _rows(unit: Callable[[Transaction, IncompleteIds], int]) -> Repair:
    """A repair of rows, in one transaction."""
    return lambda store, incomplete, _: store.run(lambda tx: unit(tx, incomplete))


def _parts(kinds: Collection[PartKind]) -> Repair:
    """A repair of indexes or keys."""

    def add(store: Store, _: IncompleteIds, report: Report) -> int:
        parts = store.read_snapshot(lambda connection: find_addable(connection, kinds))
        return sum(_add_part(store, part, report) for part in parts)

    return add


def _add_part(store: Store, part: MissingPart, report: Report) -> bool:
    def execute(transaction: Transaction) -> None:
        for statement in part.statements:
            transaction.connection.execute(text(statement))

    try:
        store.run(execute, retry_count=1)
    # Of the part alone: a database that cannot be used at all is `Unavailable`.
    except (sql.DBAPIError, driver.DBError, ConcurrentUpdate) as error:
        # A lost race says nothing; what lost it does.
        reason = error.__cause__ if isinstance(error, ConcurrentUpdate) else error
        report(f"{part.kind} of {describe(part)}: {first_line(reason or error)}")
        return False
    return True


REPAIRS: Mapping[FindingKind, Repair] = {
    FindingKind.MISSING_INDEX: _parts(INDEXES),
    FindingKind.MISSING_PARENT: _rows(_remove_missing_parents),
    FindingKind.WRONG_ROOT: _rows(_correct_roots),
    FindingKind.UNKNOWN_CONSUMER: _rows(_add_consumers),
    FindingKind.ORPHANED_CONSUMER: _rows(_delete_orphaned_consumers),
    FindingKind.NO_OWNER: _rows(_replace_missing_owners),
    FindingKind.DANGLING: _rows(_delete_dangling_rows),
    # After the repairs of rows that are in the way of a key.
    FindingKind.MISSING_KEY: _parts(KEYS),
}
