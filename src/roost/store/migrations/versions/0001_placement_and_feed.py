"""Placement's tables, unless they exist, and roost's change feed."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import MEDIUMTEXT

from roost.store.adoption import adopt
from roost.store.schema import PLACEMENT_TABLES, metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    if adopt.revision(connection) is None:
        # Only Placement changes these tables, so this revision needs no frozen copy of them.
        metadata.create_all(connection, tables=PLACEMENT_TABLES)
        # MySQL commits after each statement on tables. An interrupted run may have left a table
        # without its indexes, each of which is a statement of its own.
        for table in PLACEMENT_TABLES:
            for index in sorted(table.indexes, key=lambda index: str(index.name)):
                index.create(connection, checkfirst=True)
        # As Placement's own migrations would have done, so that it can be started on these tables.
        adopt.stamp(connection, adopt.NEWEST)
    _create_feed(set(sa.inspect(connection).get_table_names()))


def _create_feed(tables: set[str]) -> None:
    # One of them exists if this was interrupted, on a database that does not roll back tables.
    if "roost_writers" not in tables:
        _create_writers()
    if "roost_changes" not in tables:
        _create_changes()


def _create_writers() -> None:
    op.create_table(
        "roost_writers",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("token", sa.String(36), nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.DateTime),
        sa.UniqueConstraint("token", name="uniq_roost_writers0token"),
        mysql_engine="InnoDB",
    )


def _create_changes() -> None:
    op.create_table(
        "roost_changes",
        sa.Column("writer_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("record", sa.Text().with_variant(MEDIUMTEXT(), "mysql"), nullable=False),
        mysql_engine="InnoDB",
    )


def downgrade() -> None:
    """Remove roost's tables and leave the database to Placement."""
    op.drop_table("roost_changes")
    op.drop_table("roost_writers")
