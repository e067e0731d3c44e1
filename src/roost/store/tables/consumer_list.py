"""Reads consumers in the order of their creation, with all that they hold, a chunk at a time.

A cloud has millions of allocations, and a driver takes longer for a row than the database does. So
the database joins a whole chunk into one text, in which ids stand for names. The driver waits for
that without holding Python's lock, so that other threads work meanwhile.
"""

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Executable,
    String,
    bindparam,
    func,
    literal,
    or_,
    select,
    union_all,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from roost.errors import UnstorableText
from roost.model import UNKNOWN_CONSUMER_TYPE, Value
from roost.store.connection.database import Database
from roost.store.schema import (
    allocations,
    consumer_types,
    consumers,
    last_modified,
    projects,
    provider_generation,
    resource_classes,
    resource_providers,
    users,
)


class ListedConsumer(NamedTuple):
    """A row of a chunk. Chunks have plain lists of this form, because there are very many.

    Empty texts stand for NULL. Ids and numbers are as digits.
    """

    id: str
    uuid: str
    generation: str
    project: str  # the id of its name, like the next two
    user: str
    type: str
    created_at: str  # as 2026-01-02T03:04:05Z
    updated_at: str
    # "provider class amount provider class amount", in the order of allocations: ids, and how
    # much is used. Empty: the consumer holds nothing.
    holdings: str
    end: str  # always `_END`, unless the text was cut off


# Between the fields of a row, and between rows. No UUID has them.
_FIELD, _ROW = "\t", "\n"
_END = "."

Rows = Sequence[Sequence[str]]


class ConsumerFilter(Value, frozen=True, kw_only=True):
    """`query.ConsumerQuery` with the ids of what it names."""

    provider_ids: tuple[int, ...] | None = None
    root_id: int | None = None
    class_id: int | None = None
    project_id: str | None = None
    user_id: str | None = None
    consumer_type: str | None = None
    changed_before: datetime | None = None


class ReferenceNames(NamedTuple):
    """Names by the digits of their ids. They never change."""

    projects: Mapping[str, str]
    users: Mapping[str, str]
    types: Mapping[str, str]


class ProviderNames(NamedTuple):
    """What a chunk refers to, as it was when the chunk was read."""

    providers: Mapping[int, tuple[str, int]]  # UUID and generation
    classes: Mapping[int, str]


# What a consumer holds, as `ListedConsumer.holdings`.
_OWN = "FROM allocations WHERE allocations.consumer_id = consumers.uuid"
_HELD = "resource_provider_id || ' ' || resource_class_id || ' ' || used"
_HOLDINGS = {
    "postgresql": f"(SELECT STRING_AGG({_HELD}, ' ' ORDER BY id) {_OWN})",
    "mysql": "(SELECT GROUP_CONCAT(resource_provider_id, ' ', resource_class_id, ' ', used "
    f"ORDER BY id SEPARATOR ' ') {_OWN})",
    # Older versions know no ORDER BY inside of the function. They keep the order of the rows.
    "sqlite": f"(SELECT GROUP_CONCAT(held, ' ') FROM (SELECT {_HELD} AS held {_OWN} ORDER BY id))",
}
_MOMENT = {
    "postgresql": 'TO_CHAR({}, \'YYYY-MM-DD"T"HH24:MI:SS"Z"\')',
    "mysql": "CONCAT(REPLACE(LEFT({}, 19), ' ', 'T'), 'Z')",
    "sqlite": "REPLACE(SUBSTR({}, 1, 19), ' ', 'T') || 'Z'",
}


class _RowText(ColumnElement[str]):
    """A row of consumers as `ListedConsumer`, in one text."""

    type = String()
    inherit_cache = True


@compiles(_RowText)
def _row_text(_element: Any, compiler: Any, **_options: Any) -> str:
    kind = compiler.dialect.name
    names = ("id", "uuid", "generation", "project_id", "user_id", "consumer_type_id")
    text_type = "CHAR" if kind == "mysql" else "TEXT"
    fields = [f"CAST(consumers.{name} AS {text_type})" for name in names]
    fields += [_MOMENT[kind].format(f"consumers.{name}") for name in ("created_at", "updated_at")]
    fields.append(_HOLDINGS[kind])
    texts = [*(f"COALESCE({field}, '')" for field in fields), f"'{_END}'"]
    if kind == "mysql":
        return f"CONCAT_WS('{_FIELD}', {', '.join(texts)})"
    return f" || '{_FIELD}' || ".join(texts)


class _JoinedRows(FunctionElement[str]):
    """The texts of rows, by rising ids, in one text."""

    type = String()
    inherit_cache = True


@compiles(_JoinedRows)
def _joined_rows(element: Any, compiler: Any, **options: Any) -> str:
    text, id = (compiler.process(each, **options) for each in element.clauses)
    if compiler.dialect.name == "mysql":
        return f"GROUP_CONCAT({text} ORDER BY {id} SEPARATOR '{_ROW}')"
    if compiler.dialect.name == "postgresql":
        return f"STRING_AGG({text}, '{_ROW}' ORDER BY {id})"
    # The subquery that it reads is ordered.
    return f"GROUP_CONCAT({text}, '{_ROW}')"


_CHUNK = (
    select(consumers.c.id, _RowText().label("text"))
    .where(consumers.c.id > bindparam("after"))
    .order_by(consumers.c.id)
)

# Ids are written into the statement: databases limit the number of parameters.
_IDS: BindParameter[Any] = bindparam("ids", expanding=True, literal_execute=True)
_PROVIDERS = select(resource_providers.c.id, resource_providers.c.uuid, provider_generation).where(
    resource_providers.c.id.in_(_IDS)
)
_CLASSES = select(resource_classes.c.id, resource_classes.c.name)


class ConsumerList:
    """Reads chunks of consumers. Each is a transaction of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, wanted: ConsumerFilter, *, after: int, count: int) -> tuple[Rows, bool]:
        """The next consumers after an id, by rising ids, and whether they are the last.

        Usually one statement. Some of the consumers may hold nothing.
        """
        # No consumer has a project or a user that the column cannot hold.
        with contextlib.suppress(UnstorableText):
            while True:
                listed = _CHUNK.where(*_conditions(wanted)).limit(count).subquery("listed")
                statement = select(_JoinedRows(listed.c.text, listed.c.id), func.count())
                text, found = self._read_one(statement, after)
                rows = [row.split(_FIELD) for row in text.split(_ROW)] if text else []
                if len(rows) == found and (not rows or rows[-1][-1] == _END):
                    return rows, found < count
                # MySQL cuts off what is larger than a packet.
                if count == 1:
                    raise RuntimeError(f"what the consumer after id {after} holds is cut off")
                count = max(1, count // 4)
        return [], True

    def _read_one(self, statement: Executable, after: int) -> tuple[str | None, int]:
        text, found = self._database.read(
            lambda connection: connection.execute(statement, {"after": after}).one()
        )
        return text, found

    def read_with_names(
        self, wanted: ConsumerFilter, *, after: int, until: int
    ) -> tuple[Rows, ProviderNames]:
        """Those up to an id, in one snapshot with the providers and classes that they refer to."""
        statement = _CHUNK.where(*_conditions(wanted), consumers.c.id <= until)

        def query(connection: Connection) -> tuple[Rows, ProviderNames]:
            found = connection.execute(statement, {"after": after})
            rows = [text.split(_FIELD) for _, text in found]
            holdings = [ListedConsumer(*row).holdings for row in rows]
            ids = {int(digits) for text in holdings if text for digits in text.split(" ")[::3]}
            providers = connection.execute(_PROVIDERS, {"ids": sorted(ids)})
            return rows, ProviderNames(
                providers={id: (uuid, generation) for id, uuid, generation in providers},
                classes=dict(map(tuple, connection.execute(_CLASSES))),
            )

        return self._database.read_snapshot(query)

    def names(
        self, *, project_ids: Collection[str], user_ids: Collection[str], type_ids: Collection[str]
    ) -> ReferenceNames:
        """The names of projects, users and types. One statement, or none if nothing is asked."""
        tables = (
            (0, projects.c.id, projects.c.external_id, project_ids),
            (1, users.c.id, users.c.external_id, user_ids),
            (2, consumer_types.c.id, consumer_types.c.name, type_ids),
        )
        found: tuple[dict[str, str], dict[str, str], dict[str, str]] = {}, {}, {}
        selects = [
            select(literal(kind, literal_execute=True), id, name).where(
                id.in_(
                    bindparam(
                        f"ids_{kind}", sorted(map(int, ids)), expanding=True, literal_execute=True
                    )
                )
            )
            for kind, id, name, ids in tables
            if ids
        ]
        if selects:
            statement = union_all(*selects)
            for kind, id, name in self._database.read(
                lambda connection: connection.execute(statement).all()
            ):
                found[kind][str(id)] = name
        return ReferenceNames(*found)


def _conditions(wanted: ConsumerFilter) -> Iterator[ColumnElement[bool]]:
    # The database says which names are equal.
    if wanted.project_id is not None:
        named = select(projects.c.id).where(projects.c.external_id == wanted.project_id)
        yield consumers.c.project_id == named.scalar_subquery()
    if wanted.user_id is not None:
        named = select(users.c.id).where(users.c.external_id == wanted.user_id)
        yield consumers.c.user_id == named.scalar_subquery()
    if wanted.consumer_type == UNKNOWN_CONSUMER_TYPE:
        yield consumers.c.consumer_type_id.is_(None)
    elif wanted.consumer_type is not None:
        named = select(consumer_types.c.id).where(consumer_types.c.name == wanted.consumer_type)
        yield consumers.c.consumer_type_id == named.scalar_subquery()
    if wanted.changed_before is not None:
        yield last_modified(consumers) < wanted.changed_before
    held = list(_allocation_conditions(wanted))
    if held:
        yield consumers.c.uuid.in_(select(allocations.c.consumer_id).where(*held))


def _allocation_conditions(wanted: ConsumerFilter) -> Iterator[ColumnElement[bool]]:
    """What one allocation of a consumer must meet."""
    if wanted.provider_ids is not None:
        provider_ids: BindParameter[Any] = bindparam(
            "provider_ids", sorted(wanted.provider_ids), expanding=True, literal_execute=True
        )
        yield allocations.c.resource_provider_id.in_(provider_ids)
    if wanted.root_id is not None:
        # In old databases a root may have no root_provider_id.
        members = select(resource_providers.c.id).where(
            or_(
                resource_providers.c.root_provider_id == wanted.root_id,
                resource_providers.c.id == wanted.root_id,
            )
        )
        yield allocations.c.resource_provider_id.in_(members)
    if wanted.class_id is not None:
        yield allocations.c.resource_class_id == wanted.class_id
