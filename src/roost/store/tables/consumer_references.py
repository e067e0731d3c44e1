"""Projects, users and consumer types: the names that consumers refer to, and their ids."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from sqlalchemy import Table, bindparam, insert, literal, select, union_all

from roost.model import Value
from roost.store.connection.statements import CHUNK
from roost.store.schema import consumer_types, projects, users
from roost.store.tables.session import Session


class ReferenceKind(StrEnum):
    PROJECT = "project"
    USER = "user"
    TYPE = "type"


class References(Value, frozen=True, kw_only=True):
    """Ids by name."""

    projects: Mapping[str, int]
    users: Mapping[str, int]
    types: Mapping[str, int]


_Names = Mapping[ReferenceKind, set[str]]
_Ids = dict[ReferenceKind, dict[str, int]]

# The table of each kind, and its column with the name.
_TABLES: Mapping[ReferenceKind, tuple[Table, str]] = {
    ReferenceKind.PROJECT: (projects, "external_id"),
    ReferenceKind.USER: (users, "external_id"),
    ReferenceKind.TYPE: (consumer_types, "name"),
}

# Built once: building a statement costs as much as running it.
_READ = union_all(
    *(
        select(literal(kind.value).label("kind"), table.c.id, table.c[column].label("name")).where(
            table.c[column].in_(bindparam(kind.value, expanding=True))
        )
        for kind, (table, column) in _TABLES.items()
    )
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
        names = {
            ReferenceKind.PROJECT: set(projects),
            ReferenceKind.USER: set(users),
            ReferenceKind.TYPE: set(types),
        }
        found = self._cached(names)
        if any(len(found[kind]) < len(names[kind]) for kind in names):
            found = self._read_or_add(names)
        return References(
            projects=found[ReferenceKind.PROJECT],
            users=found[ReferenceKind.USER],
            types=found[ReferenceKind.TYPE],
        )

    def _cached(self, names: _Names) -> _Ids:
        get = self._session.id_cache.get
        return {
            kind: {name: id for name in some if (id := get(kind, name)) is not None}
            for kind, some in names.items()
        }

    def _read_or_add(self, names: _Names) -> _Ids:
        found = self._read(names)
        # Only these ids are committed, and may be cached. Those that are added below may not.
        for kind, ids in found.items():
            for name, id in ids.items():
                self._session.id_cache.put(kind, name, id)
        missing = {kind: names[kind] - set(found[kind]) for kind in names}
        return self._add(names, missing) if any(missing.values()) else found

    def _read(self, names: _Names) -> _Ids:
        found: _Ids = {kind: {} for kind in names}
        pairs = [(kind, name) for kind, each in names.items() for name in sorted(each)]
        # Usually three names, hence one statement.
        for start in range(0, len(pairs), CHUNK):
            parameters: dict[str, list[str]] = {kind.value: [] for kind in names}
            for kind, name in pairs[start : start + CHUNK]:
                parameters[kind.value].append(name)
            for row in self._execute(_READ, parameters):
                kind = ReferenceKind(row.kind)
                if row.name in names[kind]:
                    found[kind][row.name] = row.id
        return found

    def _add(self, names: _Names, missing: _Names) -> _Ids:
        for kind, added in missing.items():
            table, column = _TABLES[kind]
            # MySQL ignores case, so it may consider a new name equal to one in the table.
            added = added - self._ids_ignoring_case(kind, added).keys()
            if added:
                values = [{column: name, "created_at": self._session.now} for name in sorted(added)]
                self._execute(insert(table), values)
        found = self._read(names)
        return {
            kind: {**found[kind], **self._ids_ignoring_case(kind, names[kind] - set(found[kind]))}
            for kind in names
        }

    def _ids_ignoring_case(self, kind: ReferenceKind, names: Iterable[str]) -> dict[str, int]:
        """The ids of names that MySQL, but not Python, considers equal to names in the table."""
        table, column = _TABLES[kind]
        if not self._session.is_mysql:
            return {}
        ids = {
            name: self._session.connection.scalar(select(table.c.id).where(table.c[column] == name))
            for name in names
        }
        return {name: id for name, id in ids.items() if id is not None}
