"""The traits of providers."""

from collections.abc import Collection

from sqlalchemy import bindparam, delete, select

from roost.model import EventKind
from roost.store.connection.statements import PreparedInsert, chunks
from roost.store.schema import resource_provider_traits
from roost.store.tables.session import Session

_table = resource_provider_traits

# Built once: building a statement costs as much as running it.
_OF = select(_table.c.trait_id).where(_table.c.resource_provider_id == bindparam("provider"))
_DELETE = delete(_table).where(
    _table.c.resource_provider_id == bindparam("provider"),
    _table.c.trait_id.in_(bindparam("traits", expanding=True)),
)
_INSERT = PreparedInsert(_table, ["resource_provider_id", "trait_id", "created_at"])


class Traits:
    """Rows of `resource_provider_traits`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def of(self, provider_id: int) -> set[int]:
        return set(self._session.connection.scalars(_OF, {"provider": provider_id}))

    def change(self, provider_id: int, *, added: Collection[int], removed: Collection[int]) -> None:
        for some in chunks(removed):
            self._execute(_DELETE, {"provider": provider_id, "traits": some})
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
