"""Answers to placements with an idempotency key."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import MEDIUMTEXT

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The table exists if this was interrupted, on a database that does not roll back tables.
    if "roost_placements" in sa.inspect(op.get_bind()).get_table_names():
        return
    op.create_table(
        "roost_placements",
        sa.Column("key_digest", sa.String(64), primary_key=True),
        sa.Column("body_digest", sa.String(64), nullable=False),
        sa.Column("answer", sa.Text().with_variant(MEDIUMTEXT(), "mysql"), nullable=False),
        sa.Column("created_at", sa.DateTime, nullable=False),
        # Together with the table: MySQL commits after each statement on tables.
        sa.Index("roost_placements_created_at_idx", "created_at"),
        mysql_engine="InnoDB",
    )


def downgrade() -> None:
    op.drop_table("roost_placements")
