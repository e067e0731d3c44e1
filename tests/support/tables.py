"""Restores a database to the state right after `roost db sync`."""

import time

import sqlalchemy as sa

from roost.store.feed.shared_positions import RELY_SECONDS

# Children first, because of the foreign keys.
EMPTIED = (
    "allocations",
    "inventories",
    "resource_provider_traits",
    "resource_provider_aggregates",
    "placement_aggregates",
    "resource_providers",
    "consumers",
    "consumer_types",
    "projects",
    "users",
    # Without its row in roost_writers a server knows that its index is void, as after a restore
    # from a backup.
    "roost_changes",
    "roost_writers",
    "roost_placements",
)
# Their standard rows belong to an empty database.
EMPTIED_OF_CUSTOM_ROWS = ("resource_classes", "traits")


def empty(engine: sa.Engine) -> None:
    """Delete everything that requests created, in one transaction."""
    present = set(sa.inspect(engine).get_table_names())
    with engine.begin() as connection:
        # A provider refers to its parent and its root, so no order of deletion would be right.
        providers = sa.table(
            "resource_providers", sa.column("parent_provider_id"), sa.column("root_provider_id")
        )
        connection.execute(
            sa.update(providers).values(parent_provider_id=None, root_provider_id=None)
        )
        for name in EMPTIED:
            if name in present:
                connection.execute(sa.delete(sa.table(name)))
        for name in EMPTIED_OF_CUSTOM_ROWS:
            table = sa.table(name, sa.column("name"))
            connection.execute(
                sa.delete(table).where(table.c.name.startswith("CUSTOM_", autoescape=True))
            )
    # A service that relied on being alone asks the database again.
    time.sleep(RELY_SECONDS)
