"""The aggregates of providers. An aggregate is a UUID, and exists once a provider names it.

Its row keeps the spelling in which it was first named. Two spellings of one UUID are two rows,
unless the database considers them equal. To searches they are one aggregate.
"""

from collections.abc import Mapping, Sequence

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

    def replace(self, provider_id: int, uuids: Sequence[str]) -> Sequence[str]:
        """Make the provider a member of these aggregates and of no others.

        Gives back how they are stored, in the order in which they were first named.
        """
        stored = self._stored(uuids)
        # Two statements. Finding out what differs would take a third.
        session = self._session
        session.write(_DELETE, {"provider": provider_id})
        rows = [
            {"resource_provider_id": provider_id, "aggregate_id": id, "created_at": session.now}
            for id in sorted(stored)
        ]
        session.insert(_INSERT, rows)
        session.changes.reread_providers([provider_id], EventKind.AGGREGATES)
        return [stored[id] for id in sorted(stored)]

    def _stored(self, uuids: Sequence[str]) -> Mapping[int, str]:
        """How these aggregates are stored, by id. New ones are added in the order of `uuids`."""
        named: dict[str, str] = {}
        for uuid in uuids:
            named.setdefault(self._session.key(uuid), uuid)
        cache = self._session.id_cache
        cached = [found for key in named if (found := cache.get_stored(_KIND, key)) is not None]
        if len(cached) == len(named):
            return dict(cached)
        known = self._known(uuids)
        for key, (id, uuid) in known.items():
            cache.put_stored(_KIND, key, id, uuid)
        unknown = [uuid for key, uuid in named.items() if key not in known]
        if unknown:
            rows = [{"uuid": uuid, "created_at": self._session.now} for uuid in unknown]
            self._execute(insert(placement_aggregates), rows)
            known = self._known(uuids)
        return dict(known.values())

    def _known(self, uuids: Sequence[str]) -> dict[str, tuple[int, str]]:
        """Id and stored spelling of those that exist, by what is the same for the database."""
        table = placement_aggregates
        return {
            self._session.key(row.uuid): (row.id, row.uuid)
            for some in chunks(uuids)
            for row in self._execute(select(table.c.id, table.c.uuid).where(table.c.uuid.in_(some)))
        }
