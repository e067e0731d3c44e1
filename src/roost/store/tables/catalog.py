"""The catalog: names and ids of resource classes and traits.

The transaction that uses a name looks up its id. A cache in memory could hold a class that another
process has renamed, or has deleted and whose id now belongs to another class.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    DateTime,
    Table,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from roost.errors import (
    ResourceClassExists,
    ResourceClassInUse,
    TraitInUse,
    UnknownResourceClass,
    UnknownTrait,
)
from roost.store.connection.driver_errors import LostRace
from roost.store.connection.statements import chunks
from roost.store.schema import inventories, resource_classes, resource_provider_traits, traits
from roost.store.tables.session import Session

# The ids of standard classes are lower.
CUSTOM_CLASS_ID_MIN = 10_000
CUSTOM_PREFIX = "CUSTOM_"


def is_standard_class(id: int) -> bool:
    """Whether the class cannot be renamed or deleted."""
    return id < CUSTOM_CLASS_ID_MIN


def is_standard_trait(name: str) -> bool:
    """Whether the trait cannot be deleted."""
    return not name.startswith(CUSTOM_PREFIX)


# Built once: building a statement costs as much as running it.
_BY_NAME = {
    table.name: select(table.c.id, table.c.name).where(
        table.c.name.in_(bindparam("names", expanding=True))
    )
    for table in (resource_classes, traits)
}


def _ids(session: Session, table: Table, names: Collection[str]) -> dict[str, int]:
    # The names in these tables are ASCII. Some databases refuse to compare them with other texts.
    wanted = {name for name in names if name.isascii()}
    found = {}
    for some in chunks(wanted):
        rows = session.connection.execute(_BY_NAME[table.name], {"names": some})
        # MySQL may compare names without regard to case, and ignores spaces at their end.
        found.update({row.name: row.id for row in rows if row.name in wanted})
    return found


# Changes the row of a class, but not what readers derive from it: a class was last modified at
# `updated_at`, or at `created_at` where `updated_at` is NULL. So `created_at` takes over that time,
# and `updated_at` alternates between it and NULL. Every execution changes the row, because MySQL
# skips an update that changes nothing, and Galera then sees no conflict. A class without any time
# gets the epoch, which the index does not distinguish from no time. The creation time of a renamed
# class is lost; neither roost nor Placement reads it. The order matters, because MySQL assigns from
# left to right.
_TIME = func.coalesce(
    resource_classes.c.updated_at,
    resource_classes.c.created_at,
    literal(datetime(1970, 1, 1), DateTime),
)
_TIMES_REWRITTEN = update(resource_classes).ordered_values(
    (resource_classes.c.created_at, _TIME),
    (resource_classes.c.updated_at, case((resource_classes.c.updated_at.is_(None), _TIME))),
)


class Classes:
    """Rows of `resource_classes`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def find(self, name: str) -> int | None:
        return _ids(self._session, resource_classes, {name}).get(name)

    def ids(self, names: Collection[str]) -> dict[str, int]:
        """The id of each name; raises `UnknownResourceClass` for others."""
        found = _ids(self._session, resource_classes, set(names))
        if len(found) != len(set(names)):
            raise UnknownResourceClass(set(names) - set(found))
        return found

    def guard(self, class_ids: Mapping[str, int]) -> None:
        """Keep custom classes from being renamed or deleted until COMMIT.

        Nothing in the tables ties an inventory to its class. So a transaction that adds an
        inventory and one that deletes the class both write the row of the class. Whichever comes
        second waits for the first, and then misses the class or finds the inventory; on another
        Galera node it fails at COMMIT and runs again. A lock would not be enough, because Galera
        compares only rows that were really changed.

        Readers see no difference (see `_TIMES_REWRITTEN`), so the change record does not mention
        the class.
        """
        custom = {id: name for name, id in class_ids.items() if id >= CUSTOM_CLASS_ID_MIN}
        table = resource_classes
        for ids in chunks(custom):
            named = or_(*(and_(table.c.id == id, table.c.name == custom[id]) for id in ids))
            held = self._execute(_TIMES_REWRITTEN.where(named)).rowcount
            if held != len(ids):
                raise LostRace("a resource class was renamed or deleted")

    def insert(self, name: str) -> None:
        highest = self._session.connection.scalar(select(func.max(resource_classes.c.id)))
        id = max(CUSTOM_CLASS_ID_MIN - 1, highest if highest is not None else 0) + 1
        self._execute(
            insert(resource_classes).values(id=id, name=name, created_at=self._session.now)
        )
        self._session.changes.reread_classes([id])

    def add_missing(self, names: Mapping[int, str]) -> None:
        """Add those of the standard classes (name by id) that are not in the table."""
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
            self._session.changes.reread_classes(missing)

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
        self._session.changes.reread_classes([id])

    def delete(self, id: int, name: str) -> None:
        deleted = self._execute(
            delete(resource_classes).where(
                resource_classes.c.id == id, resource_classes.c.name == name
            )
        ).rowcount
        if not deleted:
            raise LostRace("the resource class was renamed or deleted")
        # Checked only now, when no other transaction can add an inventory of the class any more.
        used = select(inventories.c.id).where(inventories.c.resource_class_id == id).limit(1)
        if self._execute(used).first() is not None:
            raise ResourceClassInUse(name)
        self._session.changes.reread_classes([id])


class TraitNames:
    """Rows of `traits`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def find(self, name: str) -> int | None:
        return _ids(self._session, traits, {name}).get(name)

    def ids(self, names: Collection[str]) -> dict[str, int]:
        """The id of each name; raises `UnknownTrait` for others."""
        found = _ids(self._session, traits, set(names))
        if len(found) != len(set(names)):
            raise UnknownTrait(set(names) - set(found))
        return found

    def add_missing(self, names: Sequence[str]) -> None:
        """Add those of the traits that are not in the table."""
        known = _ids(self._session, traits, set(names))
        missing = [name for name in names if name not in known]
        if missing:
            self.insert(missing)

    def insert(self, names: Sequence[str]) -> None:
        rows: list[dict[str, Any]] = [
            {"name": name, "created_at": self._session.now} for name in names
        ]
        self._execute(insert(traits), rows)
        self._session.changes.reread_traits(_ids(self._session, traits, set(names)).values())

    def delete(self, id: int, name: str) -> None:
        used = (
            select(resource_provider_traits.c.trait_id)
            .where(resource_provider_traits.c.trait_id == id)
            .limit(1)
        )
        if self._execute(used).first() is not None:
            raise TraitInUse(name)
        # If another transaction gives the trait to a provider at this moment, the foreign key makes
        # one of the two fail, and its next attempt sees the other.
        deleted = self._execute(delete(traits).where(traits.c.id == id)).rowcount
        if not deleted:
            raise LostRace("the trait was deleted")
        self._session.changes.reread_traits([id])
