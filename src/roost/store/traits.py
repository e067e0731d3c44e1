"""The traits of providers."""

from collections.abc import Collection

from sqlalchemy import delete, insert, select

from roost.store.rows import chunks
from roost.store.schema import resource_provider_traits
from roost.store.session import Session

_table = resource_provider_traits


class Traits:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.connection.execute

    def of(self, provider_id: int) -> set[int]:
        return set(
            self._session.connection.scalars(
                select(_table.c.trait_id).where(_table.c.resource_provider_id == provider_id)
            )
        )

    def change(self, provider_id: int, *, added: Collection[int], removed: Collection[int]) -> None:
        for some in chunks(removed):
            self._execute(
                delete(_table).where(
                    _table.c.resource_provider_id == provider_id,
                    _table.c.trait_id.in_(some),
                )
            )
        if added:
            self._execute(
                insert(_table),
                [
                    {
                        "resource_provider_id": provider_id,
                        "trait_id": trait_id,
                        "created_at": self._session.now,
                    }
                    for trait_id in sorted(added)
                ],
            )
        self._session.announcement.providers([provider_id])
