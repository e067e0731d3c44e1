"""Placement's tables, where they are not there yet, and roost's change feed."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import MEDIUMTEXT

from roost.errors import Unavailable
from roost.store.migrate import PLACEMENT_REVISION
from roost.store.schema import PLACEMENT_TABLES, metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    tables = set(sa.inspect(op.get_bind()).get_table_names())
    if not tables.intersection(table.name for table in PLACEMENT_TABLES):
        # These are Placement's to change, not roost's, so they need no frozen copy here.
        metadata.create_all(op.get_bind(), tables=PLACEMENT_TABLES)
        _stamp_placement(tables)
    else:
        _adopt(tables)
    _create_feed()


def _stamp_placement(tables: set[str]) -> None:
    """Say what Placement's own migrations would have said, so that it can be started on these."""
    if "alembic_version" not in tables:
        op.create_table(
            "alembic_version",
            sa.Column("version_num", sa.String(32), nullable=False),
            sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
        )
    stamp = sa.table("alembic_version", sa.column("version_num"))
    op.execute(sa.delete(stamp))
    op.execute(sa.insert(stamp).values(version_num=PLACEMENT_REVISION))


def _adopt(tables: set[str]) -> None:
    """Take the tables of a Placement database as they are, if they are the ones we know."""
    found = None
    if "alembic_version" in tables:
        found = op.get_bind().scalar(sa.text("SELECT version_num FROM alembic_version"))
    missing = sorted(table.name for table in PLACEMENT_TABLES if table.name not in tables)
    if found != PLACEMENT_REVISION or missing:
        raise Unavailable(
            f"This database holds tables of Placement at revision {found}, but roost knows "
            f"revision {PLACEMENT_REVISION}"
            + (f" (missing: {', '.join(missing)})" if missing else "")
            + ". Bring it there with `placement-manage db sync` of Placement 14 to 16."
        )


def _create_feed() -> None:
    op.create_table(
        "roost_writers",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("token", sa.String(36), nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.DateTime),
        sa.UniqueConstraint("token", name="uniq_roost_writers0token"),
        mysql_engine="InnoDB",
    )
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
