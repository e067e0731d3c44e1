"""Names: resource classes and traits, and their ids.

Names are translated in the transaction that uses them. A copy in memory could name a class that
was renamed, or deleted and its id given away, by another process.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Table, and_, bindparam, delete, func, insert, or_, select, update

from roost.errors import (
    ResourceClassExists,
    ResourceClassInUse,
    TraitInUse,
    UnknownResourceClass,
    UnknownTrait,
)
from roost.store.connection.driver_errors import LostRace
from roost.store.schema import inventories, resource_classes, resource_provider_traits, traits
from roost.store.tables.index_rows import chunks
from roost.store.tables.session import Session

# Standard classes have the ids below.
CUSTOM_CLASS_ID_MIN = 10_000
CUSTOM_PREFIX = "CUSTOM_"


def is_standard_class(id: int) -> bool:
    """Whether the class is one that cannot be renamed or deleted."""
    return id < CUSTOM_CLASS_ID_MIN


def is_standard_trait(name: str) -> bool:
    """Whether the trait is one that cannot be deleted."""
    return not name.startswith(CUSTOM_PREFIX)


# Built once: building a statement costs as much as running it.
_BY_NAME = {
    table.name: select(table.c.id, table.c.name).where(
        table.c.name.in_(bindparam("names", expanding=True))
    )
    for table in (resource_classes, traits)
}


def _ids(session: Session, table: Table, names: Collection[str]) -> dict[str, int]:
    wanted = set(names)
    found = {}
    for some in chunks(wanted):
        rows = session.connection.execute(_BY_NAME[table.name], {"names": some})
        # MySQL compares without regard to case.
        found.update({row.name: row.id for row in rows if row.name in wanted})
    return found


class Classes:
    """Resource classes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def find(self, name: str) -> int | None:
        return _ids(self._session, resource_classes, {name}).get(name)

    def ids(self, names: Collection[str]) -> dict[str, int]:
        """The id of each name; refuses unknown ones."""
        found = _ids(self._session, resource_classes, set(names))
        if len(found) != len(set(names)):
            raise UnknownResourceClass(set(names) - set(found))
        return found

    def hold(self, class_ids: Mapping[str, int]) -> None:
        """Keep custom classes from being deleted until COMMIT.

        Nothing in the tables ties an inventory to its class, so whoever adds an inventory and
        whoever deletes a class both write the row of the class.
        """
        custom = {id: name for name, id in class_ids.items() if id >= CUSTOM_CLASS_ID_MIN}
        table = resource_classes
        for ids in chunks(custom):
            named = or_(*(and_(table.c.id == id, table.c.name == custom[id]) for id in ids))
            held = self._execute(
                update(table).where(named).values(updated_at=self._session.touched(table))
            ).rowcount
            if held != len(ids):
                raise LostRace("a resource class was renamed or deleted")
        if custom:
            self._session.announcement.classes(custom)

    def insert(self, name: str) -> None:
        highest = self._session.connection.scalar(select(func.max(resource_classes.c.id)))
        id = max(CUSTOM_CLASS_ID_MIN - 1, highest if highest is not None else 0) + 1
        self._execute(
            insert(resource_classes).values(id=id, name=name, created_at=self._session.now)
        )
        self._session.announcement.classes([id])

    def add_missing(self, names: Mapping[int, str]) -> None:
        """Add standard classes, by id, that are not there yet."""
        known = set(
            self._session.connection.scalars(
                select(resource_classes.c.id).where(resource_classes.c.id < CUSTOM_CLASS_ID_MIN)
            )
        )
        missing = [id for id in names if id not in known]
        if missing:
            now = self._session.now
            rows = [{"id": id, "name": names[id], "created_at": now} for id in missing]
            self._execute(insert(resource_classes), rows)
            self._session.announcement.classes(missing)

    def rename(self, id: int, name: str, new_name: str) -> None:
        if name != new_name and self.find(new_name) is not None:
            raise ResourceClassExists(new_name)
        renamed = self._execute(
            update(resource_classes)
            .where(resource_classes.c.id == id, resource_classes.c.name == name)
            .values(name=new_name, updated_at=self._session.touched(resource_classes))
        ).rowcount
        if not renamed:
            raise LostRace("the resource class was renamed or deleted")
        self._session.announcement.classes([id])

    def delete(self, id: int, name: str) -> None:
        deleted = self._execute(
            delete(resource_classes).where(
                resource_classes.c.id == id, resource_classes.c.name == name
            )
        ).rowcount
        if not deleted:
            raise LostRace("the resource class was renamed or deleted")
        # Asked only now, when nobody can add an inventory of the class any more.
        used = select(inventories.c.id).where(inventories.c.resource_class_id == id).limit(1)
        if self._execute(used).first() is not None:
            raise ResourceClassInUse(name)
        self._session.announcement.classes([id])


class TraitNames:
    """Traits, as names that exist."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def find(self, name: str) -> int | None:
        return _ids(self._session, traits, {name}).get(name)

    def ids(self, names: Collection[str]) -> dict[str, int]:
        """The id of each name; refuses unknown ones."""
        found = _ids(self._session, traits, set(names))
        if len(found) != len(set(names)):
            raise UnknownTrait(set(names) - set(found))
        return found

    def add_missing(self, names: Sequence[str]) -> None:
        """Add traits that are not there yet."""
        known = _ids(self._session, traits, set(names))
        missing = [name for name in names if name not in known]
        if missing:
            self.insert(missing)

    def insert(self, names: Sequence[str]) -> None:
        rows: list[dict[str, Any]] = [
            {"name": name, "created_at": self._session.now} for name in names
        ]
        self._execute(insert(traits), rows)
        self._session.announcement.traits(_ids(self._session, traits, set(names)).values())

    def delete(self, id: int, name: str) -> None:
        used = (
            select(resource_provider_traits.c.trait_id)
            .where(resource_provider_traits.c.trait_id == id)
            .limit(1)
        )
        if self._execute(used).first() is not None:
            raise TraitInUse(name)
        # A provider that gets the trait in this moment refers to the row, and the database
        # refuses: the next try sees it.
        deleted = self._execute(delete(traits).where(traits.c.id == id)).rowcount
        if not deleted:
            raise LostRace("the trait is gone")
        self._session.announcement.traits([id])
