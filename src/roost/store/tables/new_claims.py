"""Claims of new consumers, of one client or of many, in as few statements as each database can.

The rows are those that `Providers.advance`, `Consumers.insert` and `Allocations.replace` write one
kind after the other. Here they are written together: by a single statement on PostgreSQL, which
takes arrays, and by three on other databases. So neither parameters nor round trips are counted by
the row.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Dialect

from roost.model import Value
from roost.store.change_record import Announcement
from roost.store.connection.statements import Write
from roost.store.tables.allocations import INSERT as INSERT_ALLOCATIONS
from roost.store.tables.allocations import NewHolding
from roost.store.tables.consumers import ConsumerRow, insert_writes
from roost.store.tables.providers import ProviderState, advance_writes
from roost.store.whole_transaction import whole_transaction

GENERATION_CHANGED = "a provider's generation changed"

# What is read here is found by keys. PostgreSQL keeps the plan of a statement for long, and makes
# it when the tables of a new cloud are empty: it would read whole tables, also when they are full.
BY_KEYS_ALONE = "enable_seqscan = off"
# Otherwise it plans again for the arrays of each batch, which takes longer than all the rest.
PLANNED_ONCE = "plan_cache_mode = force_generic_plan"


class NewClaims(Value, frozen=True, kw_only=True):
    """What to write: the UUIDs of all consumers are canonical, and each occurs once."""

    moved: Sequence[tuple[ProviderState, int]]  # providers as they were read, and by how much
    consumers: Sequence[ConsumerRow]
    holdings: Sequence[NewHolding]


# A guard that writes too few rows makes the statement fail as a whole, with an error that nothing
# else in it can cause: a division by zero (`driver_errors`).
_POSTGRESQL = """
WITH moved AS (
    UPDATE resource_providers AS provider SET generation = move.after
    FROM unnest(%(ids)s::int[], %(before)s::int[], %(after)s::int[]) AS move(id, before, after)
    WHERE provider.id = move.id AND coalesce(provider.generation, 0) = move.before
    RETURNING 1
), added AS (
    INSERT INTO consumers
        (uuid, project_id, user_id, consumer_type_id, generation, created_at)
    SELECT
        coalesce((SELECT uuid FROM consumers WHERE uuid = upper(new.uuid)), new.uuid),
        new.project_id, new.user_id, new.type_id, 1, %(now)s::timestamp
    FROM unnest(%(uuids)s::text[], %(projects)s::int[], %(users)s::int[], %(types)s::int[])
        AS new(uuid, project_id, user_id, type_id)
), held AS (
    INSERT INTO allocations
        (consumer_id, resource_provider_id, resource_class_id, used, created_at)
    SELECT new.*, %(now)s::timestamp
    FROM unnest(%(holders)s::text[], %(providers)s::int[], %(classes)s::int[], %(used)s::int[])
        AS new
)"""
_POSTGRESQL_GUARD = "1 / CASE WHEN (SELECT count(*) FROM moved) = %(count)s THEN 1 ELSE 0 END"
_POSTGRESQL_ROWS = f"{_POSTGRESQL} SELECT {_POSTGRESQL_GUARD}"
# The row of the writer fails with another error than the guard: the logarithm of zero.
_POSTGRESQL_AT_ONCE = f"""{_POSTGRESQL}, recorded AS (
    INSERT INTO roost_changes (writer_id, sequence, record)
    VALUES (%(writer)s::bigint, %(sequence)s::bigint, %(record)s)
), announced AS (
    UPDATE roost_writers SET sequence = %(sequence)s::bigint, updated_at = timezone('utc', now())
    WHERE id = %(writer)s::bigint AND sequence = %(sequence)s::bigint - 1
    RETURNING 1
)
SELECT {_POSTGRESQL_GUARD}, ln((SELECT count(*) FROM announced))"""


def writes(
    dialect: Dialect, claims: NewClaims, now: datetime, *, ignores_case: bool
) -> Sequence[Write]:
    """The statements inside a transaction, guards first."""
    match dialect.name:
        case "postgresql":
            return [
                Write(f"SET LOCAL {BY_KEYS_ALONE}"),
                Write(_POSTGRESQL_ROWS, _arrays(claims, now)),
            ]
        case "mysql":
            return _mysql(claims, now)
    return [
        *advance_writes(dialect, claims.moved),
        *insert_writes(dialect, claims.consumers, now, ignores_case=ignores_case),
        *INSERT_ALLOCATIONS.writes(
            dialect,
            [
                {
                    "consumer_id": each.consumer_uuid,
                    "resource_provider_id": each.provider_id,
                    "resource_class_id": each.class_id,
                    "used": each.used,
                    "created_at": now,
                }
                for each in claims.holdings
            ],
        ),
    ]


def at_once_writes(
    dialect: Dialect, claims: NewClaims, announcement: Announcement, now: datetime
) -> Sequence[Write]:
    """A whole transaction with its COMMIT, as one batch that fails as a whole if a guard fails.

    Not for SQLite, where there is no round trip to save.
    """
    if dialect.name == "mysql":
        return whole_transaction(dialect, _mysql(claims, now), announcement)
    # A statement outside of a transaction is one by itself.
    values = {
        **_arrays(claims, now),
        "writer": announcement.writer_id,
        "sequence": announcement.sequence,
        "record": announcement.record,
    }
    return [Write(_POSTGRESQL_AT_ONCE, values)]


def _arrays(claims: NewClaims, now: datetime) -> dict[str, Any]:
    return {
        "ids": _array([provider.id for provider, _ in claims.moved]),
        "before": _array([provider.generation for provider, _ in claims.moved]),
        "after": _array([provider.generation + step for provider, step in claims.moved]),
        "count": len(claims.moved),
        "uuids": _array([each.uuid for each in claims.consumers]),
        "projects": _array([each.project_id for each in claims.consumers]),
        "users": _array([each.user_id for each in claims.consumers]),
        "types": _array([_or_null(each.type_id) for each in claims.consumers]),
        "holders": _array([each.consumer_uuid for each in claims.holdings]),
        "providers": _array([each.provider_id for each in claims.holdings]),
        "classes": _array([each.class_id for each in claims.holdings]),
        "used": _array([each.used for each in claims.holdings]),
        "now": now,
    }


def _array(values: Iterable[object]) -> str:
    """Numbers or canonical UUIDs as PostgreSQL reads an array; the driver would take longer."""
    return f"{{{','.join(map(str, values))}}}"


# ---------------------------------------------------------------------------------------------
# MariaDB and MySQL

# Statements for more consumers than this have all values in their texts: numbers, times and
# canonical UUIDs, which need no escaping. The driver would take longer. Others often occur again.
MARKED_MAX = 4


def _mysql(claims: NewClaims, now: datetime) -> list[Write]:
    moved = claims.moved
    larger = [number for each, step in moved if step != 1 for number in (each.id, step)]
    step = f"CASE id{' WHEN %s THEN %s' * (len(larger) // 2)} ELSE 1 END" if larger else "1"
    found = [
        Write(
            f"UPDATE resource_providers SET generation = coalesce(generation, 0) + {step} "
            # Without the list of ids, some planners scan the whole table.
            f"WHERE id IN ({_times('%s', moved)}) "
            f"AND (id, coalesce(generation, 0)) IN ({_times('(%s,%s)', moved)})",
            [
                *larger,
                *[each.id for each, _ in moved],
                *[number for each, _ in moved for number in (each.id, each.generation)],
            ],
            expected=len(moved),
            reason=GENERATION_CHANGED,
        ),
        Write(
            "INSERT INTO consumers "
            "(uuid, project_id, user_id, consumer_type_id, generation, created_at) "
            f"VALUES {_times('(%s,%s,%s,%s,1,%s)', claims.consumers)}",
            [
                value
                for each in claims.consumers
                for value in (each.uuid, each.project_id, each.user_id, each.type_id, now)
            ],
        ),
        Write(
            "INSERT INTO allocations "
            "(consumer_id, resource_provider_id, resource_class_id, used, created_at) "
            f"VALUES {_times('(%s,%s,%s,%s,%s)', claims.holdings)}",
            [
                value
                for each in claims.holdings
                for value in (
                    each.consumer_uuid,
                    each.provider_id,
                    each.class_id,
                    each.used,
                    now,
                )
            ],
        ),
    ]
    return found if len(claims.consumers) <= MARKED_MAX else list(map(_with_values, found))


def _times(mark: str, values: Sequence[object]) -> str:
    return ",".join([mark] * len(values))


def _with_values(write: Write) -> Write:
    """The same with all values in its text."""
    texts = [
        value if type(value) is int else "NULL" if value is None else f"'{value}'"
        for value in write.values
    ]
    return msgspec.structs.replace(write, text=write.text % tuple(texts), values=None)


def _or_null(number: int | None) -> str:
    return "NULL" if number is None else str(number)
