"""Projects, users and consumer types: the names that consumers refer to, and their ids."""

import functools
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any

from sqlalchemy import Table, bindparam, insert, literal_column, select, union_all
from sqlalchemy.dialects import mysql

from roost.errors import UnstorableText
from roost.model import Value
from roost.store.connection.driver_errors import naming_text
from roost.store.schema import consumer_types, projects, users
from roost.store.tables.session import IdCache, Session


class ReferenceKind(StrEnum):
    """By the names of the fields in requests."""

    PROJECT = "project_id"
    USER = "user_id"
    TYPE = "consumer_type"


class References(Value, frozen=True, kw_only=True):
    """Ids by name."""

    projects: Mapping[str, int]
    users: Mapping[str, int]
    types: Mapping[str, int]


_Reference = tuple[ReferenceKind, str]
_Ids = dict[_Reference, int]

# The table of each kind, and its column with the name.
_TABLES: Mapping[ReferenceKind, tuple[Table, str]] = {
    ReferenceKind.PROJECT: (projects, "external_id"),
    ReferenceKind.USER: (users, "external_id"),
    ReferenceKind.TYPE: (consumer_types, "name"),
}

# How many names one statement reads: SQLite limits the parts of a union.
_READ_MAX = 100


# Built once for each number of names: building a statement costs as much as running it.
@functools.lru_cache(maxsize=64)
def _select(kinds: tuple[ReferenceKind, ...]) -> Any:
    """The ids of names of these kinds, each with the position of the name.

    The database decides which names are equal. Many collations of MySQL ignore case, accents and
    spaces at the end, so the name in the table may be another one than the name that was asked for.
    """
    return union_all(
        *(
            select(literal_column(str(position)).label("position"), table.c.id).where(
                table.c[column] == bindparam(f"name{position}")
            )
            for position, (table, column) in enumerate(_TABLES[kind] for kind in kinds)
        )
    )


def find_references(
    cache: IdCache, *, projects: Collection[str], users: Collection[str], types: Collection[str]
) -> References | None:
    """The ids of these names, if the cache has all of them."""
    found: list[dict[str, int]] = []
    wanted = (
        (ReferenceKind.PROJECT, projects),
        (ReferenceKind.USER, users),
        (ReferenceKind.TYPE, types),
    )
    for kind, names in wanted:
        ids = {}
        for name in names:
            id = cache.get(kind, name)
            if id is None:
                return None
            ids[name] = id
        found.append(ids)
    return References(projects=found[0], users=found[1], types=found[2])


def _wanted(
    projects: Collection[str], users: Collection[str], types: Collection[str]
) -> list[_Reference]:
    return [
        *((ReferenceKind.PROJECT, name) for name in sorted(set(projects))),
        *((ReferenceKind.USER, name) for name in sorted(set(users))),
        *((ReferenceKind.TYPE, name) for name in sorted(set(types))),
    ]


def _references(found: _Ids) -> References:
    return References(
        projects=_of_kind(found, ReferenceKind.PROJECT),
        users=_of_kind(found, ReferenceKind.USER),
        types=_of_kind(found, ReferenceKind.TYPE),
    )


class ConsumerReferences:
    """Rows of `projects`, `users` and `consumer_types`, which are never removed or renamed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def ids(
        self, *, projects: Collection[str], users: Collection[str], types: Collection[str]
    ) -> References:
        """The ids of these names, from the cache if it has all of them. Adds new names."""
        known = find_references(self._session.id_cache, projects=projects, users=users, types=types)
        if known is not None:
            return known
        wanted = _wanted(projects, users, types)
        with naming_text(wanted):
            return _references(self._read_or_add(wanted))

    def _read_or_add(self, wanted: Sequence[_Reference]) -> _Ids:
        found = self._read(wanted)
        # Only these ids are committed, and may be cached. Those that are added below may not.
        for each, id in found.items():
            self._session.id_cache.put(*each, id)
        missing = [each for each in wanted if each not in found]
        if missing:
            self._add(missing)
            found |= self._read(missing)
        for kind, name in missing:
            if (kind, name) not in found:
                # Without its strict mode, MySQL stores another text than it was given.
                raise UnstorableText(kind, name)
        return found

    def _read(self, wanted: Sequence[_Reference]) -> _Ids:
        found: _Ids = {}
        # Usually three names, hence one statement.
        for start in range(0, len(wanted), _READ_MAX):
            some = wanted[start : start + _READ_MAX]
            names = {f"name{position}": name for position, (_, name) in enumerate(some)}
            rows = self._execute(_select(tuple(kind for kind, _ in some)), names)
            found |= {some[row.position]: row.id for row in rows}
        return found

    def _add(self, missing: Sequence[_Reference]) -> None:
        for kind, (table, column) in _TABLES.items():
            rows = [
                {column: name, "created_at": self._session.now}
                for each, name in missing
                if each is kind
            ]
            if not rows:
                continue
            statement: Any = insert(table)
            if self._session.is_mysql:
                # Two new names may be equal to the database. Then the first one stands for both.
                statement = mysql.insert(table).on_duplicate_key_update({column: table.c[column]})
            self._execute(statement, rows)


def _of_kind(found: _Ids, kind: ReferenceKind) -> dict[str, int]:
    return {name: id for (each, name), id in found.items() if each is kind}
