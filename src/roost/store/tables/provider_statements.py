"""The statements of `Providers`: reading rows, locking them, and advancing generations."""

import functools
from typing import Any, NamedTuple

from sqlalchemy import Select, and_, bindparam, case, func, or_, select, update

from roost.store.connection.statements import Prepared
from roost.store.schema import last_modified, provider_generation, resource_providers

_table = resource_providers
_parent = resource_providers.alias("parent")
_root = resource_providers.alias("root")

# The UUIDs of parent and root come from subqueries and not from joins, so that FOR UPDATE locks
# the provider alone.
SELECT_RECORDS = select(
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
    last_modified(_table).label("modified"),
).order_by(_table.c.id)


class LockingSelects(NamedTuple):
    """Statements that read some columns of providers and lock the rows.

    Correctness does not depend on the lock, which other Galera nodes do not see. It makes writers
    of one provider queue here instead of failing at the guard and starting over. Other
    transactions may still write rows that refer to the provider, such as those of traits.
    """

    by_uuid: Select[Any]
    by_id: Select[Any]
    both: Select[Any]

    @classmethod
    def of(cls, columns: Select[Any]) -> "LockingSelects":
        by_uuid = _table.c.uuid.in_(bindparam("uuids", expanding=True))
        by_id = _table.c.id.in_(bindparam("ids", expanding=True))
        return cls(
            *(
                columns.where(which).with_for_update(key_share=True)
                for which in (by_uuid, by_id, or_(by_uuid, by_id))
            )
        )


# Built once: building a statement costs as much as running it.
LOCK_RECORDS = LockingSelects.of(SELECT_RECORDS)
LOCK_STATES = LockingSelects.of(
    select(_table.c.id, _table.c.uuid, provider_generation.label("generation")).order_by(
        _table.c.id
    )
)


# For very many rows. The ids are numbers, and stand in the text.
_LOCK = "SELECT id, coalesce(generation, 0) FROM resource_providers WHERE id {which} ORDER BY id"
LOCK_GENERATIONS = {
    # It takes a list of thousands for one value, and not for as many expressions.
    "postgresql": _LOCK.format(which="= ANY ('{{{ids}}}')") + " FOR NO KEY UPDATE",
    "mysql": _LOCK.format(which="IN ({ids})") + " FOR UPDATE",
    "sqlite": _LOCK.format(which="IN ({ids})"),
}


@functools.lru_cache(maxsize=64)
def advance(count: int, *, modified: bool) -> Prepared:
    """The guard: advance `count` generations, where they still are what the writer read."""
    numbers = range(count)
    unchanged = or_(
        *(
            and_(
                _table.c.id == bindparam(f"id{number}"),
                # SQLite reuses the id of a deleted row.
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
    # Without this list of ids, some planners scan the whole table.
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
