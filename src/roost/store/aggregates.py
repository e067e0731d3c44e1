"""The aggregates of providers. An aggregate is a UUID and comes into being by being named."""

from collections.abc import Sequence

from sqlalchemy import delete, insert, select

from roost.store.rows import chunks
from roost.store.schema import placement_aggregates, resource_provider_aggregates
from roost.store.session import Session

_table = resource_provider_aggregates


class Aggregates:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.connection.execute

    def replace(self, provider_id: int, uuids: Sequence[str]) -> None:
        """Make the provider a member of these, and of no other."""
        ids = self._ids(uuids)
        current = set(
            self._session.connection.scalars(
                select(_table.c.aggregate_id).where(_table.c.resource_provider_id == provider_id)
            )
        )
        for removed in chunks(current - ids):
            self._execute(
                delete(_table).where(
                    _table.c.resource_provider_id == provider_id,
                    _table.c.aggregate_id.in_(removed),
                )
            )
        if added := ids - current:
            self._execute(
                insert(_table),
                [
                    {
                        "resource_provider_id": provider_id,
                        "aggregate_id": id,
                        "created_at": self._session.now,
                    }
                    for id in sorted(added)
                ],
            )
        self._session.announcement.providers([provider_id])

    def _ids(self, uuids: Sequence[str]) -> set[int]:
        """The ids of aggregates; new ones get theirs in the order in which they are named."""
        named: dict[str, str] = {}
        for uuid in uuids:
            named.setdefault(self._session.key(uuid), uuid)
        known = self._known(uuids)
        unknown = [uuid for key, uuid in named.items() if key not in known]
        if unknown:
            rows = [{"uuid": uuid, "created_at": self._session.now} for uuid in unknown]
            self._execute(insert(placement_aggregates), rows)
            known = self._known(uuids)
        return set(known.values())

    def _known(self, uuids: Sequence[str]) -> dict[str, int]:
        table = placement_aggregates
        return {
            self._session.key(row.uuid): row.id
            for some in chunks(uuids)
            for row in self._execute(select(table.c.id, table.c.uuid).where(table.c.uuid.in_(some)))
        }
