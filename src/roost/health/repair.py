"""Repairs of findings, where a repair is safe. Each is a unit of work of the store.

A unit reads the tables again, because a finding may be stale by the time that the operator agrees
to its repair. It returns how many rows it wrote or deleted.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import NamedTuple

from sqlalchemy import delete, select, update

from roost.health.definitions import INDEXES, KEYS, add_missing_parts
from roost.health.findings import FindingKind
from roost.health.inspection import (
    ESSENTIAL_REFERENCES,
    OWNER_REFERENCES,
    WITHOUT_ALLOCATION,
    read_tree_links,
)
from roost.model import EventKind
from roost.store.adoption.adopt import IncompleteIds
from roost.store.adoption.backfill import (
    create_consumers,
    find_missing_roots,
    roots_by_parents,
    set_roots,
)
from roost.store.connection.statements import chunks
from roost.store.schema import consumers, resource_providers
from roost.store.store import Store
from roost.store.tables.consumers import ConsumerRecord
from roost.store.transaction import Transaction

Repair = Callable[[Transaction, IncompleteIds], int]


def repair(store: Store, kind: FindingKind, incomplete: IncompleteIds) -> int:
    """Repair all findings of one kind in one transaction; returns the number of rows."""
    unit = REPAIRS[kind]
    return store.run(lambda transaction: unit(transaction, incomplete))


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


def _add_missing_keys(transaction: Transaction, _: IncompleteIds) -> int:
    return add_missing_parts(transaction.connection, KEYS)


def _create_missing_indexes(transaction: Transaction, _: IncompleteIds) -> int:
    return add_missing_parts(transaction.connection, INDEXES)


REPAIRS: Mapping[FindingKind, Repair] = {
    FindingKind.MISSING_INDEX: _create_missing_indexes,
    FindingKind.MISSING_PARENT: _remove_missing_parents,
    FindingKind.WRONG_ROOT: _correct_roots,
    FindingKind.UNKNOWN_CONSUMER: _add_consumers,
    FindingKind.ORPHANED_CONSUMER: _delete_orphaned_consumers,
    FindingKind.NO_OWNER: _replace_missing_owners,
    FindingKind.DANGLING: _delete_dangling_rows,
    # After the repairs of rows that are in the way of a key.
    FindingKind.MISSING_KEY: _add_missing_keys,
}
