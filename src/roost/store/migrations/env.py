"""Runs alembic on the connection that `roost.store.migrations.migrate` passes in."""

from collections.abc import Collection, Mapping
from typing import Any

from alembic import context
from alembic.migration import MigrationContext
from alembic.runtime.migration import MigrationInfo

from roost.store.migrations.migrate import VERSION_TABLE
from roost.store.schema import metadata


def advance(
    ctx: MigrationContext, step: MigrationInfo, heads: Collection[Any], run_args: Mapping[str, Any]
) -> None:
    """alembic calls this after each revision."""
    context.config.attributes["progress"].advance()


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    on_version_apply=advance,
)
with context.begin_transaction():
    context.run_migrations()
