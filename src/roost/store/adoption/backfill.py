"""Fills in what old releases of Placement left empty: root providers, and rows of consumers.

Used both to adopt a database and to repair one.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection, Table, case, func, insert, literal, select, update

from roost.model import Value
from roost.progress import SILENT, Progress
from roost.store.connection.statements import chunks
from roost.store.schema import allocations, consumers, resource_providers

_providers = resource_providers


class MissingRoots(Value, frozen=True, kw_only=True):
    """Providers whose row names no root."""

    roots: Mapping[int, int]  # provider id -> the id of its root, according to the parents
    in_loops: frozenset[str]  # UUIDs of providers whose parents form a loop


def roots_by_parents(parents: Mapping[int, int | None]) -> dict[int, int | None]:
    """The root of each provider, found by following the parents; None if these form a loop.

    A parent that does not exist counts as none.
    """
    roots: dict[int, int | None] = {}
    for start in parents:
        path = []
        id = start
        on_path = set()
        while id not in roots:
            if id in on_path:
                roots[id] = None
                break
            path.append(id)
            on_path.add(id)
            parent = parents[id]
            if parent is None or parent not in parents:
                roots[id] = id
                break
            id = parent
        root = roots[id]
        for each in path:
            roots[each] = root
    return roots


def find_missing_roots(connection: Connection) -> MissingRoots:
    some = select(_providers.c.id).where(_providers.c.root_provider_id.is_(None)).limit(1)
    if connection.scalar(some) is None:
        return MissingRoots(roots={}, in_loops=frozenset())
    rows = connection.execute(
        select(
            _providers.c.id,
            _providers.c.uuid,
            _providers.c.parent_provider_id,
            _providers.c.root_provider_id,
        )
    ).all()
    roots = roots_by_parents({row.id: row.parent_provider_id for row in rows})
    rootless = [row for row in rows if row.root_provider_id is None]
    return MissingRoots(
        roots={row.id: root for row in rootless if (root := roots[row.id]) is not None},
        in_loops=frozenset(row.uuid for row in rootless if roots[row.id] is None),
    )


def set_roots(
    connection: Connection, roots: Mapping[int, int], progress: Progress = SILENT
) -> None:
    """Write the roots of these providers (root id by provider id), many with one statement."""
    progress.stage("storing the roots of providers", len(roots))
    for ids in chunks(roots):
        root = case({id: roots[id] for id in ids}, value=_providers.c.id)
        connection.execute(
            update(_providers).where(_providers.c.id.in_(ids)).values(root_provider_id=root)
        )
        progress.advance(len(ids))


# Whether an allocation belongs to a consumer that has no row.
WITHOUT_CONSUMER = ~(
    select(literal(1)).where(consumers.c.uuid == allocations.c.consumer_id).correlate(allocations)
).exists()


def create_consumers(
    connection: Connection,
    project_and_user: Callable[[], Mapping[str, int]],
    now: datetime,
    rows_max: int | None = None,
) -> int:
    """Add a row for each consumer that has allocations but no row; returns their number.

    With `rows_max`, add no more than so many rows.
    `project_and_user` returns the values of `project_id` and `user_id`. It is called only if
    there is a row to add.
    """
    some = select(allocations.c.id).where(WITHOUT_CONSUMER).limit(1)
    if connection.scalar(some) is None:
        return 0
    owner = project_and_user()
    rows = (
        select(
            func.min(allocations.c.consumer_id),
            literal(owner["project_id"], sa.Integer),
            literal(owner["user_id"], sa.Integer),
            literal(0, sa.Integer),
            literal(now, sa.DateTime),
        )
        .where(WITHOUT_CONSUMER)
        # UUIDs that the database considers equal are one consumer: MySQL ignores case.
        .group_by(allocations.c.consumer_id)
        .limit(rows_max)
    )
    columns = ["uuid", "project_id", "user_id", "generation", "created_at"]
    added = connection.execute(
        insert(consumers).from_select(columns, rows).execution_options(preserve_rowcount=True)
    )
    return added.rowcount


def ensure_owner(connection: Connection, table: Table, external_id: str, now: datetime) -> int:
    """The id of a project or a user, which is added if the table lacks it."""
    wanted = select(table.c.id).where(table.c.external_id == external_id)
    found = connection.scalar(wanted)
    if found is None:
        connection.execute(insert(table).values(external_id=external_id, created_at=now))
        found = connection.scalar(wanted)
    assert found is not None
    return int(found)
