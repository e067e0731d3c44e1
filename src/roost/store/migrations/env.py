"""Runs alembic on the connection that `roost.store.migrations.migrate` passes in."""

from alembic import context

from roost.store.migrations.migrate import VERSION_TABLE
from roost.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
