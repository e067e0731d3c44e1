"""The tables: OpenStack Placement's, column by column, and roost's own beside them.

roost adopts an existing Placement database in place, and an operator can go back to Placement. So
Placement's tables and columns are exactly Placement's. Tables that roost adds carry the prefix
`roost_`.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.mysql import MEDIUMTEXT

metadata = MetaData()

# roost needs transactions, and a server may be configured with another default engine.
INNODB = "InnoDB"


def _times() -> tuple[Column[datetime], Column[datetime]]:
    return Column("created_at", DateTime), Column("updated_at", DateTime)


resource_providers = Table(
    "resource_providers",
    metadata,
    *_times(),
    Column("id", Integer, primary_key=True),
    Column("uuid", String(36), nullable=False),
    Column("name", String(200)),
    Column("generation", Integer),
    Column("root_provider_id", Integer),
    Column("parent_provider_id", Integer),
    # The order matters: MySQL names these constraints by number.
    ForeignKeyConstraint(["parent_provider_id"], ["resource_providers.id"]),
    ForeignKeyConstraint(["root_provider_id"], ["resource_providers.id"]),
    UniqueConstraint("uuid", name="uniq_resource_providers0uuid"),
    UniqueConstraint("name", name="uniq_resource_providers0name"),
    Index("resource_providers_root_provider_id_idx", "root_provider_id"),
    Index("resource_providers_parent_provider_id_idx", "parent_provider_id"),
    # Otherwise SQLite gives the id of a deleted provider to the next one, and a stale index could
    # take the one for the other.
    sqlite_autoincrement=True,
    mysql_engine=INNODB,
)

# Old releases of Placement left the column NULL, which counts as 0.
provider_generation = func.coalesce(resource_providers.c.generation, 0)


def last_modified(table: Table) -> Any:
    """When a row was last written; NULL where the row has no times."""
    return func.coalesce(table.c.updated_at, table.c.created_at)


inventories = Table(
    "inventories",
    metadata,
    *_times(),
    Column("id", Integer, primary_key=True),
    Column("resource_provider_id", Integer, nullable=False),
    Column("resource_class_id", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("reserved", Integer, nullable=False),
    Column("min_unit", Integer, nullable=False),
    Column("max_unit", Integer, nullable=False),
    Column("step_size", Integer, nullable=False),
    Column("allocation_ratio", Float, nullable=False),
    UniqueConstraint(
        "resource_provider_id",
        "resource_class_id",
        name="uniq_inventories0resource_provider_resource_class",
    ),
    Index("inventories_resource_class_id_idx", "resource_class_id"),
    mysql_engine=INNODB,
)

allocations = Table(
    "allocations",
    metadata,
    *_times(),
    Column("id", Integer, primary_key=True),
    Column("resource_provider_id", Integer, nullable=False),
    Column("consumer_id", String(36), nullable=False),  # the consumer's UUID
    Column("resource_class_id", Integer, nullable=False),
    Column("used", Integer, nullable=False),
    Index(
        "allocations_resource_provider_class_used_idx",
        "resource_provider_id",
        "resource_class_id",
        "used",
    ),
    Index("allocations_resource_class_id_idx", "resource_class_id"),
    Index("allocations_consumer_id_idx", "consumer_id"),
    mysql_engine=INNODB,
)

consumer_types = Table(
    "consumer_types",
    metadata,
    *_times(),
    Column("id", Integer, primary_key=True),
    Column("name", String(255), nullable=False),
    UniqueConstraint("name", name="uniq_consumer_types0name"),
    mysql_engine=INNODB,
)

consumers = Table(
    "consumers",
    metadata,
    *_times(),
    Column("id", Integer, primary_key=True),
    Column("uuid", String(36), nullable=False),
    Column("project_id", Integer, nullable=False),
    Column("user_id", Integer, nullable=False),
    Column("generation", Integer, nullable=False, server_default=text("0")),
    Column(
        "consumer_type_id",
        Integer,
        ForeignKey("consumer_types.id", name="consumers_consumer_type_id_fkey"),
    ),
    UniqueConstraint("uuid", name="uniq_consumers0uuid"),
    Index("consumers_project_id_uuid_idx", "project_id", "uuid"),
    Index("consumers_project_id_user_id_uuid_idx", "project_id", "user_id", "uuid"),
    Index("consumers_consumer_type_id_idx", "consumer_type_id"),
    mysql_engine=INNODB,
)

projects = Table(
    "projects",
    metadata,
    *_times(),
    Column("id", Integer, primary_key=True),
    Column("external_id", String(255), nullable=False),
    UniqueConstraint("external_id", name="uniq_projects0external_id"),
    mysql_engine=INNODB,
)

users = Table(
    "users",
    metadata,
    *_times(),
    Column("id", Integer, primary_key=True),
    Column("external_id", String(255), nullable=False),
    UniqueConstraint("external_id", name="uniq_users0external_id"),
    mysql_engine=INNODB,
)

resource_classes = Table(
    "resource_classes",
    metadata,
    *_times(),
    Column("id", Integer, primary_key=True),
    Column("name", String(255), nullable=False),
    UniqueConstraint("name", name="uniq_resource_classes0name"),
    mysql_engine=INNODB,
)

traits = Table(
    "traits",
    metadata,
    *_times(),
    Column("id", Integer, primary_key=True),
    Column("name", String(255), nullable=False),
    UniqueConstraint("name", name="uniq_traits0name"),
    mysql_engine=INNODB,
)

resource_provider_traits = Table(
    "resource_provider_traits",
    metadata,
    *_times(),
    Column("trait_id", Integer, primary_key=True, autoincrement=False),
    Column("resource_provider_id", Integer, primary_key=True, autoincrement=False),
    ForeignKeyConstraint(["resource_provider_id"], ["resource_providers.id"]),
    ForeignKeyConstraint(["trait_id"], ["traits.id"]),
    Index(
        "resource_provider_traits_resource_provider_trait_idx", "resource_provider_id", "trait_id"
    ),
    mysql_engine=INNODB,
)

placement_aggregates = Table(
    "placement_aggregates",
    metadata,
    *_times(),
    Column("id", Integer, primary_key=True),
    Column("uuid", String(36)),
    UniqueConstraint("uuid", name="uniq_placement_aggregates0uuid"),
    mysql_engine=INNODB,
)

resource_provider_aggregates = Table(
    "resource_provider_aggregates",
    metadata,
    *_times(),
    Column("resource_provider_id", Integer, primary_key=True, autoincrement=False),
    Column("aggregate_id", Integer, primary_key=True, autoincrement=False),
    Index("resource_provider_aggregates_aggregate_id_idx", "aggregate_id"),
    mysql_engine=INNODB,
)

PLACEMENT_TABLES = tuple(metadata.tables.values())

# ---------------------------------------------------------------------------------------------
# roost's own tables: the change feed, and the answers to placements with an idempotency key

# One row for each process that writes. The id is random, so a reader never mistakes a new row for
# one that vanished (because it was removed, or because a backup was restored).
roost_writers = Table(
    "roost_writers",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("token", String(36), nullable=False),
    Column("sequence", BigInteger, nullable=False),  # the number of its newest record
    Column("updated_at", DateTime),  # by the database's clock
    UniqueConstraint("token", name="uniq_roost_writers0token"),
    mysql_engine=INNODB,
)

# The change record of each write transaction. Each writer numbers its records without gaps.
roost_changes = Table(
    "roost_changes",
    metadata,
    Column("writer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("record", Text().with_variant(MEDIUMTEXT(), "mysql"), nullable=False),
    mysql_engine=INNODB,
)

# Answers to placements with an idempotency key, so that a repeated request gets the same answer.
# Clients choose the keys. Digests of keys are equal exactly where the keys are, on every database.
roost_placements = Table(
    "roost_placements",
    metadata,
    Column("key_digest", String(64), primary_key=True),
    Column("body_digest", String(64), nullable=False),
    Column("answer", Text().with_variant(MEDIUMTEXT(), "mysql"), nullable=False),
    Column("created_at", DateTime, nullable=False),
    Index("roost_placements_created_at_idx", "created_at"),
    mysql_engine=INNODB,
)

ROOST_TABLES = (roost_writers, roost_changes, roost_placements)
