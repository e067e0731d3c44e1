"""Brings a database back to the state right after `roost db sync`."""

import sqlalchemy as sa

# Children first, so that no foreign key is in the way.
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
    # Without its row among the writers a server knows that its view of the tables is void, just
    # as after a restore from a backup.
    "roost_changes",
    "roost_writers",
    "roost_placements",
)
# Their standard rows belong to a fresh database.
EMPTIED_OF_CUSTOM_ROWS = ("resource_classes", "traits")


def empty(engine: sa.Engine) -> None:
    """Delete what requests have made, in one transaction."""
    present = set(sa.inspect(engine).get_table_names())
    with engine.begin() as connection:
        # A provider refers to its parent and its root, in no order that a DELETE could follow.
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
