"""The aggregates of providers. An aggregate is a UUID, and exists once a provider names it.

Its row keeps the spelling in which it was first named. Two spellings of one UUID are two rows,
unless the database considers them equal. To searches they are one aggregate.
"""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, insert, select

from roost.model import EventKind
from roost.store.connection.statements import Prepared, PreparedInsert, chunks
from roost.store.schema import placement_aggregates, resource_provider_aggregates
from roost.store.tables.session import Session

_table = resource_provider_aggregates
_KIND = "aggregate"

# Built once: building a statement costs as much as running it.
_DELETE = Prepared(delete(_table).where(_table.c.resource_provider_id == bindparam("provider")))
_INSERT = PreparedInsert(_table, ["resource_provider_id", "aggregate_id", "created_at"])


class Aggregates:
    """Rows of `resource_provider_aggregates`, and of `placement_aggregates`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def replace(self, provider_id: int, uuids: Sequence[str]) -> None:
        """Make the provider a member of these aggregates and of no others."""
        ids = self._ids(uuids)
        # Two statements. Finding out what differs would take a third.
        session = self._session
        session.write(_DELETE, {"provider": provider_id})
        rows = [
            {"resource_provider_id": provider_id, "aggregate_id": id, "created_at": session.now}
            for id in sorted(ids)
        ]
        session.insert(_INSERT, rows)
        self._session.changes.reread_providers([provider_id], EventKind.AGGREGATES)

    def _ids(self, uuids: Sequence[str]) -> set[int]:
        """The ids of these aggregates. New ones are added in the order of `uuids`."""
        named: dict[str, str] = {}
        for uuid in uuids:
            named.setdefault(self._session.key(uuid), uuid)
        cached = {
            key: id for key in named if (id := self._session.id_cache.get(_KIND, key)) is not None
        }
        if len(cached) == len(named):
            return set(cached.values())
        known = self._known(uuids)
        for key, id in known.items():
            self._session.id_cache.put(_KIND, key, id)
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
