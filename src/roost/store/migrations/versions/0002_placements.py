"""Answers to placements with an idempotency key."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import MEDIUMTEXT

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLE = "roost_placements"
INDEX = "roost_placements_created_at_idx"


def upgrade() -> None:
    # Table or index exist if this was interrupted, on a database that does not roll back tables.
    if TABLE not in sa.inspect(op.get_bind()).get_table_names():
        op.create_table(
            TABLE,
            sa.Column("key_digest", sa.String(64), primary_key=True),
            sa.Column("body_digest", sa.String(64), nullable=False),
            sa.Column("answer", sa.Text().with_variant(MEDIUMTEXT(), "mysql"), nullable=False),
            sa.Column("created_at", sa.DateTime, nullable=False),
            mysql_engine="InnoDB",
        )
    if INDEX not in [each["name"] for each in sa.inspect(op.get_bind()).get_indexes(TABLE)]:
        op.create_index(INDEX, TABLE, ["created_at"])


def downgrade() -> None:
    op.drop_table(TABLE)
