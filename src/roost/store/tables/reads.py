"""Reads of allocations and consumers, which the index does not hold. One statement each."""

import contextlib
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Select,
    String,
    cast,
    distinct,
    func,
    null,
    select,
    text,
    union_all,
)
from sqlalchemy import Row as SqlRow

from roost.errors import ProviderNotFound, UnstorableText
from roost.model import (
    UNKNOWN_CONSUMER_TYPE,
    ConsumerAllocations,
    ConsumerShare,
    ConsumerTypeUsage,
    ProviderAllocation,
    ProviderConsumers,
)
from roost.store.connection.database import Database
from roost.store.connection.statements import CHUNK, chunks
from roost.store.schema import (
    allocations,
    consumer_types,
    consumers,
    last_modified,
    projects,
    provider_generation,
    resource_classes,
    resource_providers,
    traits,
    users,
)
from roost.store.tables.consumers import by_spellings

Row = SqlRow[Any]

_CONSUMER = (
    select(
        consumers.c.uuid,
        consumers.c.generation.label("consumer_generation"),
        projects.c.external_id.label("project_id"),
        users.c.external_id.label("user_id"),
        func.coalesce(consumer_types.c.name, UNKNOWN_CONSUMER_TYPE).label("consumer_type"),
        last_modified(consumers).label("consumer_modified"),
        resource_providers.c.uuid.label("provider_uuid"),
        provider_generation.label("provider_generation"),
        resource_classes.c.name.label("resource_class"),
        allocations.c.used,
        last_modified(allocations).label("modified"),
    )
    .select_from(allocations)
    .join(consumers, consumers.c.uuid == allocations.c.consumer_id)
    .join(resource_providers, resource_providers.c.id == allocations.c.resource_provider_id)
    .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
    .join(projects, projects.c.id == consumers.c.project_id)
    .join(users, users.c.id == consumers.c.user_id)
    .outerjoin(consumer_types, consumer_types.c.id == consumers.c.consumer_type_id)
    .order_by(allocations.c.id)
)

# A provider without allocations is one row without a consumer.
_PROVIDER = (
    select(
        provider_generation.label("generation"),
        allocations.c.consumer_id,
        consumers.c.generation.label("consumer_generation"),
        resource_classes.c.name.label("resource_class"),
        allocations.c.used,
        last_modified(allocations).label("modified"),
    )
    .select_from(resource_providers)
    .outerjoin(allocations, allocations.c.resource_provider_id == resource_providers.c.id)
    .outerjoin(consumers, consumers.c.uuid == allocations.c.consumer_id)
    .outerjoin(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
    .order_by(allocations.c.id)
)


class Reads:
    """Reads that go to the tables and not to the index."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _rows(self, statement: Any) -> Sequence[Row]:
        return self._database.read(lambda connection: connection.execute(statement).all())

    def has_names(self, class_names: Iterable[str], trait_names: Iterable[str]) -> bool:
        """Whether all these resource classes and traits exist."""
        found = self._database.read(
            lambda connection: connection.scalars(
                union_all(select(resource_classes.c.name), select(traits.c.name))
            ).all()
        )
        return set(found).issuperset([*class_names, *trait_names])

    def ignores_case(self) -> bool:
        """Whether UUIDs that differ only in case are equal: most collations of MySQL say so."""
        if self._database.dialect != "mysql":
            return False
        statement = text(
            "SELECT collation_name FROM information_schema.columns WHERE table_schema = DATABASE() "
            "AND table_name = :table AND column_name = :column"
        ).bindparams(table=consumers.name, column=consumers.c.uuid.name)
        found = self._database.read(lambda connection: connection.scalar(statement))
        # MySQL names a collation by what it ignores.
        return found is None or str(found).endswith("_ci")

    # What a collation takes for equal, Python does not: the index is asked in the stored spelling.

    def stored_provider_name(self, name: str) -> str | None:
        """How the provider is spelt whose name the database takes for equal to this one."""
        return next(iter(self._stored(resource_providers.c.name, [name])), None)

    def stored_trait_names(self, names: Collection[str]) -> Collection[str]:
        """The traits whose names the database takes for equal to one of these."""
        return self._stored(traits.c.name, names)

    def _stored(self, column: Column[str], names: Collection[str]) -> Collection[str]:
        # Only the collations of MySQL ignore case, accents, or spaces at the end.
        if self._database.dialect != "mysql" or not names:
            return []
        statement = select(column).where(column.in_(names))
        # Nothing stored is equal to a text that the column cannot hold.
        with contextlib.suppress(UnstorableText):
            return self._database.read(lambda connection: connection.scalars(statement).all())
        return []

    def consumer(self, spellings: Sequence[str]) -> ConsumerAllocations | None:
        """The allocations of a consumer, or None if it has none."""
        found = self._rows(_CONSUMER.where(allocations.c.consumer_id.in_(spellings)))
        # The database has compared already, with regard to case or without.
        rows: Sequence[Row] = by_spellings(found, str.lower)(spellings)
        if not rows:
            return None
        resources: dict[str, dict[str, int]] = {}
        for row in rows:
            resources.setdefault(row.provider_uuid, {})[row.resource_class] = row.used
        generations = {row.provider_uuid: row.provider_generation for row in rows}
        return ConsumerAllocations(
            consumer_uuid=rows[0].uuid,
            generation=rows[0].consumer_generation,
            project_id=rows[0].project_id,
            user_id=rows[0].user_id,
            consumer_type=rows[0].consumer_type,
            allocations={
                uuid: ProviderAllocation(
                    provider_generation=generations[uuid], resources=resources[uuid]
                )
                for uuid in resources
            },
            modified=_newest(
                each for row in rows for each in (row.modified, row.consumer_modified)
            ),
        )

    def existing_consumers(self, uuids: Collection[str]) -> frozenset[str]:
        """Those of the consumers with these canonical UUIDs that exist, in lower or upper case."""
        found: set[str] = set()
        for some in chunks(uuids, CHUNK // 2):
            spellings = [*some, *(uuid.upper() for uuid in some)]
            rows = self._rows(select(consumers.c.uuid).where(consumers.c.uuid.in_(spellings)))
            found.update(row.uuid.lower() for row in rows)
        return frozenset(found)

    def provider_consumers(self, provider_uuid: str) -> ProviderConsumers:
        """The allocations of a provider, by consumer."""
        rows = self._rows(_PROVIDER.where(resource_providers.c.uuid == provider_uuid))
        if not rows:
            raise ProviderNotFound(provider_uuid)
        held = [row for row in rows if row.consumer_id is not None]
        resources: dict[str, dict[str, int]] = {}
        for row in held:
            resources.setdefault(row.consumer_id, {})[row.resource_class] = row.used
        generations = {row.consumer_id: row.consumer_generation for row in held}
        return ProviderConsumers(
            generation=rows[0].generation,
            consumers={
                uuid: ConsumerShare(generation=generations[uuid], resources=resources[uuid])
                for uuid in resources
            },
            modified=_newest(row.modified for row in held),
        )

    def project_usages(
        self, project_id: str, *, user_id: str | None, consumer_type: str | None
    ) -> list[ConsumerTypeUsage]:
        """The usage of all consumers of a project together, by type of consumer."""
        conditions = [projects.c.external_id == project_id]
        if user_id is not None:
            conditions.append(users.c.external_id == user_id)
        if consumer_type == UNKNOWN_CONSUMER_TYPE:
            conditions.append(consumers.c.consumer_type_id.is_(None))
        elif consumer_type is not None:
            conditions.append(consumer_types.c.name == consumer_type)
        sums = _usages(resource_classes.c.name, func.sum(allocations.c.used)).group_by(
            consumer_types.c.name, resource_classes.c.name
        )
        counts = _usages(null(), func.count(distinct(consumers.c.id))).group_by(
            consumer_types.c.name
        )
        rows: Sequence[Row] = []
        # Nobody has a project or a user that the column cannot hold.
        with contextlib.suppress(UnstorableText):
            rows = self._rows(union_all(sums.where(*conditions), counts.where(*conditions)))
        usages: dict[str, dict[str, int]] = {}
        consumer_counts: dict[str, int] = {}
        for row in rows:
            kind = row.consumer_type or UNKNOWN_CONSUMER_TYPE
            if row.resource_class is None:
                consumer_counts[kind] = row.amount
            else:
                usages.setdefault(kind, {})[row.resource_class] = row.amount
        return [
            ConsumerTypeUsage(
                consumer_type=kind, consumer_count=consumer_counts[kind], usages=usages[kind]
            )
            for kind in usages
        ]


def _newest(times: Iterable[datetime | None]) -> datetime | None:
    """The newest of these times, some of which may be missing."""
    return max((each for each in times if each is not None), default=None)


def _usages(resource_class: ColumnElement[Any], amount: ColumnElement[Any]) -> Select[Any]:
    return (
        select(
            consumer_types.c.name.label("consumer_type"),
            cast(resource_class, String(255)).label("resource_class"),
            # In MySQL the sum of integers is a decimal.
            cast(amount, BigInteger).label("amount"),
        )
        .select_from(allocations)
        .join(consumers, consumers.c.uuid == allocations.c.consumer_id)
        .join(projects, projects.c.id == consumers.c.project_id)
        .join(users, users.c.id == consumers.c.user_id)
        .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
        .outerjoin(consumer_types, consumer_types.c.id == consumers.c.consumer_type_id)
    )
