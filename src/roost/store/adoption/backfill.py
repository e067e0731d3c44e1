"""What old releases of Placement left empty, filled in: root providers and consumers.

Adopting a database and repairing one do the same, so it is here once.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection, Table, case, func, insert, literal, select, update

from roost.model import Value
from roost.store.connection.statements import chunks
from roost.store.schema import allocations, consumers, resource_providers

_providers = resource_providers


class MissingRoots(Value, frozen=True, kw_only=True):
    """Providers without a root."""

    found: Mapping[int, int]  # provider id -> the id of what its root is, told by its parents
    in_circles: frozenset[str]  # UUIDs of providers that are below each other


def tops(parents: Mapping[int, int | None]) -> dict[int, int | None]:
    """For each provider the one at the top of its parents; None for those below a circle.

    A parent that does not exist is none.
    """
    found: dict[int, int | None] = {}
    for start in parents:
        path = []
        place = start
        on_path = set()
        while place not in found:
            if place in on_path:
                found[place] = None
                break
            path.append(place)
            on_path.add(place)
            parent = parents[place]
            if parent is None or parent not in parents:
                found[place] = place
                break
            place = parent
        top = found[place]
        for each in path:
            found[each] = top
    return found


def missing_roots(connection: Connection) -> MissingRoots:
    some = select(_providers.c.id).where(_providers.c.root_provider_id.is_(None)).limit(1)
    if connection.scalar(some) is None:
        return MissingRoots(found={}, in_circles=frozenset())
    rows = connection.execute(
        select(
            _providers.c.id,
            _providers.c.uuid,
            _providers.c.parent_provider_id,
            _providers.c.root_provider_id,
        )
    ).all()
    top_of = tops({row.id: row.parent_provider_id for row in rows})
    rootless = [row for row in rows if row.root_provider_id is None]
    return MissingRoots(
        found={row.id: top for row in rootless if (top := top_of[row.id]) is not None},
        in_circles=frozenset(row.uuid for row in rootless if top_of[row.id] is None),
    )


def set_roots(connection: Connection, roots: Mapping[int, int]) -> None:
    """Write the root of each of these providers, many with one statement."""
    for ids in chunks(roots):
        root = case({id: roots[id] for id in ids}, value=_providers.c.id)
        connection.execute(
            update(_providers).where(_providers.c.id.in_(ids)).values(root_provider_id=root)
        )


WITHOUT_CONSUMER = ~(
    select(literal(1)).where(consumers.c.uuid == allocations.c.consumer_id).correlate(allocations)
).exists()


def create_consumers(
    connection: Connection, project_and_user: Callable[[], Mapping[str, int]], now: datetime
) -> int:
    """A record for each consumer that holds something and has none; how many there were.

    `project_and_user` gives the ids for `project_id` and `user_id`, and is asked only if needed.
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
        # What the database holds for equal is one consumer: MySQL ignores case.
        .group_by(allocations.c.consumer_id)
    )
    columns = ["uuid", "project_id", "user_id", "generation", "created_at"]
    added = connection.execute(
        insert(consumers).from_select(columns, rows).execution_options(preserve_rowcount=True)
    )
    return added.rowcount


def name_row(connection: Connection, table: Table, external_id: str, now: datetime) -> int:
    """The id of a project or a user, which is added if it is not there."""
    wanted = select(table.c.id).where(table.c.external_id == external_id)
    found = connection.scalar(wanted)
    if found is None:
        connection.execute(insert(table).values(external_id=external_id, created_at=now))
        found = connection.scalar(wanted)
    assert found is not None
    return int(found)
