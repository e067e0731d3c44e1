"""Placement's tables, where they are not there yet, and roost's change feed."""

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
        # These are Placement's to change, not roost's, so they need no frozen copy here.
        metadata.create_all(connection, tables=PLACEMENT_TABLES)
        # Say what Placement's own migrations would have said, so that it can be started on these.
        adopt.stamp(connection, adopt.NEWEST)
    _create_feed(set(sa.inspect(connection).get_table_names()))


def _create_feed(tables: set[str]) -> None:
    # One of them is there if this was interrupted, on a database that does not undo tables.
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
    """Hand the database back to Placement."""
    op.drop_table("roost_changes")
    op.drop_table("roost_writers")
