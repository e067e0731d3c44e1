"""Repairs of what is safe to repair: each one a unit of work, which tells other processes.

A unit looks again at what it repairs: the finding may be old by the time somebody has agreed to
the repair. It gives back how many rows it wrote or removed.
"""

from collections.abc import Callable, Mapping

from sqlalchemy import delete, select, update

from roost.health.inspection import DANGLING, OWNERS, WITHOUT_ALLOCATION, lines
from roost.model import EventKind
from roost.store.adoption.adopt import IncompleteIds
from roost.store.adoption.backfill import create_consumers, set_roots, tops
from roost.store.connection.statements import chunks
from roost.store.schema import consumers, resource_providers
from roost.store.store import Store
from roost.store.tables.consumers import ConsumerRecord
from roost.store.transaction import Transaction

Unit = Callable[[Transaction, IncompleteIds], int]


def repair(store: Store, kind: str, incomplete: IncompleteIds) -> int:
    """Repair everything of one kind, in one transaction; how many rows that were."""
    unit = UNITS[kind]
    return store.run(lambda transaction: unit(transaction, incomplete))


def _parents(transaction: Transaction, incomplete: IncompleteIds) -> int:
    found = lines(transaction.connection)
    known = {line.id for line in found}
    lost = {line.id for line in found if line.parent is not None and line.parent not in known}
    _touch(transaction, lost)
    for ids in chunks(lost):
        transaction.execute(
            update(resource_providers)
            .where(resource_providers.c.id.in_(ids))
            .values(parent_provider_id=None)
        )
    # Their roots, and those of whatever is below them, may be others now.
    return len(lost) + _roots(transaction, incomplete)


def _roots(transaction: Transaction, _: IncompleteIds) -> int:
    wrong = _wrong_roots(transaction)
    # Who changes the shape of a tree writes its root first. So whoever does that at the same
    # time waits for us, or we see what they did.
    _touch(transaction, {*wrong, *wrong.values()})
    wrong = _wrong_roots(transaction)
    set_roots(transaction.connection, wrong)
    transaction.changes.reread_providers(wrong, EventKind.PROVIDER)
    return len(wrong)


def _wrong_roots(transaction: Transaction) -> dict[int, int]:
    found = lines(transaction.connection)
    top_of = tops({line.id: line.parent for line in found})
    return {
        line.id: top for line in found if (top := top_of[line.id]) is not None and top != line.root
    }


def _touch(transaction: Transaction, ids: set[int]) -> None:
    for some in chunks(ids):
        transaction.providers.touch(some)


def _unknown_consumers(transaction: Transaction, incomplete: IncompleteIds) -> int:
    def owner() -> Mapping[str, int]:
        ids = transaction.consumers.references(
            projects={incomplete.project}, users={incomplete.user}, types=()
        )
        return {
            "project_id": ids.projects[incomplete.project],
            "user_id": ids.users[incomplete.user],
        }

    return create_consumers(transaction.connection, owner, transaction.now)


def _orphaned_consumers(transaction: Transaction, _: IncompleteIds) -> int:
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
    # Guarded by the generation, which a claim moves: a consumer that holds something by now stays.
    transaction.consumers.delete(records)
    return len(records)


def _dangling(transaction: Transaction, _: IncompleteIds) -> int:
    count = 0
    for pointer in DANGLING:
        table = pointer.column.table
        owners = transaction.connection.scalars(
            select(table.c.resource_provider_id).where(pointer.leads_nowhere).distinct()
        )
        transaction.changes.reread_providers(owners, EventKind.PROVIDER)
        removed = transaction.execute(delete(table).where(pointer.leads_nowhere))
        count += removed.rowcount
    return count


def _owners(transaction: Transaction, incomplete: IncompleteIds) -> int:
    ids = transaction.consumers.references(
        projects={incomplete.project}, users={incomplete.user}, types=()
    )
    owner = ids.projects[incomplete.project], ids.users[incomplete.user]
    count = 0
    for pointer, id in zip(OWNERS, owner, strict=True):
        statement = update(consumers).where(pointer.leads_nowhere)
        count += transaction.execute(statement.values({pointer.column: id})).rowcount
    return count


UNITS: Mapping[str, Unit] = {
    "missing_parent": _parents,
    "wrong_root": _roots,
    "unknown_consumer": _unknown_consumers,
    "orphaned_consumer": _orphaned_consumers,
    "no_owner": _owners,
    "dangling": _dangling,
}
