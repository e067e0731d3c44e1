"""The traits of providers."""

from collections.abc import Collection

from sqlalchemy import bindparam, select

from roost.model import EventKind
from roost.store.connection.statements import PreparedDelete, PreparedInsert
from roost.store.schema import resource_provider_traits
from roost.store.tables.session import Session

_table = resource_provider_traits

# Built once: building a statement costs as much as running it.
_OF = select(_table.c.trait_id).where(_table.c.resource_provider_id == bindparam("provider"))
_DELETE = PreparedDelete(_table, "resource_provider_id", "trait_id")
_INSERT = PreparedInsert(_table, ["resource_provider_id", "trait_id", "created_at"])


class Traits:
    """Rows of `resource_provider_traits`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, provider_id: int) -> set[int]:
        return set(self._session.connection.scalars(_OF, {"provider": provider_id}))

    def change(self, provider_id: int, *, added: Collection[int], removed: Collection[int]) -> None:
        self._session.defer(_DELETE.writes(self._session.dialect, provider_id, removed))
        rows = [
            {
                "resource_provider_id": provider_id,
                "trait_id": trait_id,
                "created_at": self._session.now,
            }
            for trait_id in sorted(added)
        ]
        self._session.insert(_INSERT, rows)
        self._session.changes.reread_providers([provider_id], EventKind.TRAITS)
