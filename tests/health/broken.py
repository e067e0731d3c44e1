"""A small cloud in the tables, and statements that break it."""

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from roost.health.findings import FindingKind
from roost.store import standard_names
from roost.store.migrations import migrate
from roost.store.store import Store

HEALTHY = (
    "INSERT INTO resource_providers"
    " (id, uuid, name, generation, root_provider_id, parent_provider_id) VALUES"
    " (1, 'host', 'host', 3, 1, NULL), (2, 'numa', 'numa', 1, 1, 1), (3, 'card', 'card', 1, 1, 2),"
    " (4, 'pool', 'pool', 2, 4, NULL)",
    "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit,"
    " max_unit, step_size, allocation_ratio) VALUES"
    " (1, 0, 8, 0, 1, 8, 1, 2.0), (2, 1, 64, 4, 1, 64, 1, 1.5), (4, 2, 10, 0, 1, 10, 1, 1.0)",
    "INSERT INTO projects (external_id) VALUES ('project')",
    "INSERT INTO users (external_id) VALUES ('user')",
    "INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES"
    " ('first', 1, 1, 1), ('second', 1, 1, 2)",
    "INSERT INTO allocations (resource_provider_id, resource_class_id, consumer_id, used) VALUES"
    " (1, 0, 'first', 4), (2, 1, 'first', 32), (4, 2, 'second', 5)",
    "INSERT INTO resource_provider_traits (resource_provider_id, trait_id) VALUES (1, 1), (4, 2)",
    "INSERT INTO placement_aggregates (id, uuid) VALUES (1, 'rack')",
    "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) VALUES"
    " (1, 1), (4, 1)",
)

_INVENTORY = (
    "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit,"
    " max_unit, step_size, allocation_ratio) VALUES"
)
_ALLOCATION = (
    "INSERT INTO allocations (resource_provider_id, resource_class_id, consumer_id, used) VALUES"
)
_CONSUMER = "INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES"
_PROVIDER = (
    "INSERT INTO resource_providers"
    " (id, uuid, name, generation, root_provider_id, parent_provider_id) VALUES"
)

# For each kind of finding: a statement that breaks the healthy cloud, and the subjects found.
BREAKS: Mapping[FindingKind, tuple[str, set[str]]] = {
    FindingKind.LOOP: (
        f"{_PROVIDER} (11, 'l1', 'l1', 0, 11, 12), (12, 'l2', 'l2', 0, 11, 11)",
        {"l1", "l2"},
    ),
    FindingKind.MISSING_PARENT: (f"{_PROVIDER} (21, 'lost', 'lost', 0, 21, 999)", {"lost"}),
    FindingKind.WRONG_ROOT: (
        "UPDATE resource_providers SET root_provider_id = CASE id WHEN 2 THEN NULL ELSE 4 END"
        " WHERE id IN (2, 3)",
        {"numa", "card"},
    ),
    FindingKind.OVER_CAPACITY: (f"{_ALLOCATION} (1, 0, 'first', 13)", {"host"}),
    FindingKind.NO_INVENTORY: (f"{_ALLOCATION} (4, 0, 'first', 1)", {"pool"}),
    FindingKind.NO_PROVIDER: (f"{_ALLOCATION} (888, 0, 'first', 1)", {"provider with id 888"}),
    FindingKind.UNKNOWN_CONSUMER: (
        f"{_ALLOCATION} (1, 0, 'stranger', 1), (2, 1, 'stranger', 1)",
        {"stranger"},
    ),
    FindingKind.ORPHANED_CONSUMER: (f"{_CONSUMER} ('empty', 1, 1, 7)", {"empty"}),
    FindingKind.NO_OWNER: (
        "UPDATE consumers SET project_id = 77, user_id = 78 WHERE uuid = 'second'",
        {"second"},
    ),
    FindingKind.NO_CLASS: (f"{_INVENTORY} (1, 7777, 1, 0, 1, 1, 1, 1.0)", {"host"}),
    FindingKind.DANGLING: (
        f"{_INVENTORY} (555, 0, 1, 0, 1, 1, 1, 1.0)",
        {"inventories.resource_provider_id 555"},
    ),
}
_TRAIT = "INSERT INTO resource_provider_traits (resource_provider_id, trait_id) VALUES"
_MEMBER = "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) VALUES"
# Statements for all other rows that can refer to nothing, and the subjects found.
DANGLING = {
    f"{_TRAIT} (556, 1)": "resource_provider_traits.resource_provider_id 556",
    f"{_TRAIT} (1, 99999)": "resource_provider_traits.trait_id 99999",
    f"{_MEMBER} (557, 1)": "resource_provider_aggregates.resource_provider_id 557",
    f"{_MEMBER} (1, 333)": "resource_provider_aggregates.aggregate_id 333",
}
REPAIRED = {
    FindingKind.MISSING_INDEX,
    FindingKind.MISSING_KEY,
    FindingKind.MISSING_PARENT,
    FindingKind.WRONG_ROOT,
    FindingKind.UNKNOWN_CONSUMER,
    FindingKind.ORPHANED_CONSUMER,
    FindingKind.NO_OWNER,
    FindingKind.DANGLING,
}


def make_cloud(url: str) -> Store:
    store = Store.open(url)
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    write(store.engine, *HEALTHY)
    return store


def write(engine: Engine, *statements: str) -> None:
    """Execute statements that the foreign keys would forbid."""
    with engine.connect() as connection:
        _disable_foreign_keys(connection)
        for statement in statements:
            connection.execute(sa.text(statement))
        connection.commit()
        # Foreign keys are disabled on this connection only.
        connection.invalidate()


def drop_all_keys(engine: Engine, *tables: str) -> None:
    """Replace tables by copies, which have neither keys nor indexes: SQLite drops no key."""
    for table in tables:
        write(
            engine,
            f"CREATE TABLE copy AS SELECT * FROM {table}",
            f"DROP TABLE {table}",
            f"ALTER TABLE copy RENAME TO {table}",
        )


def _disable_foreign_keys(connection: Connection) -> None:
    match connection.dialect.name:
        case "sqlite":
            # SQLite ignores this inside a transaction.
            connection.connection.driver_connection.execute("PRAGMA foreign_keys = OFF")
        case "postgresql":
            connection.execute(sa.text("SET session_replication_role = replica"))
        case "mysql":
            connection.execute(sa.text("SET foreign_key_checks = 0"))
