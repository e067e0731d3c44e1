"""Allocations: the rows that say how much a consumer holds of a provider's resource class."""

from collections.abc import Iterable, Sequence

from sqlalchemy import bindparam, delete, select

from roost.errors import ProviderInUse
from roost.model import Value
from roost.store.connection.driver_errors import LostRace
from roost.store.connection.statements import PreparedInsert, chunks
from roost.store.schema import allocations
from roost.store.tables.consumers import Holding
from roost.store.tables.providers import ProviderRecord
from roost.store.tables.session import Session

_table = allocations

# Built once: building a statement costs as much as running it.
INSERT = PreparedInsert(
    _table, ["consumer_id", "resource_provider_id", "resource_class_id", "used", "created_at"]
)
_DELETE = delete(_table).where(_table.c.id.in_(bindparam("ids", expanding=True)))


class NewHolding(Value, frozen=True, kw_only=True):
    """A row to insert into allocations."""

    consumer_uuid: str
    provider_id: int
    class_id: int
    used: int


class Allocations:
    """Rows of `allocations`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._execute = session.execute

    def replace(self, before: Iterable[Holding], after: Sequence[NewHolding]) -> None:
        """Delete these rows and insert those.

        The caller has passed the guards before: the generations of consumers and providers.
        """
        old = {holding.id: holding for holding in before}
        for ids in chunks(old):
            if self._execute(_DELETE, {"ids": ids}).rowcount != len(ids):
                raise LostRace("an allocation was deleted")
        rows = [
            {
                "consumer_id": holding.consumer_uuid,
                "resource_provider_id": holding.provider_id,
                "resource_class_id": holding.class_id,
                "used": holding.used,
                "created_at": self._session.now,
            }
            for holding in after
        ]
        self._session.insert(INSERT, rows)
        add_usage = self._session.changes.add_usage
        for deleted in old.values():
            add_usage(deleted.provider_id, deleted.class_id, -deleted.used)
        for new in after:
            add_usage(new.provider_id, new.class_id, new.used)

    def check_none(self, provider: ProviderRecord) -> None:
        """Raise `ProviderInUse` if a consumer holds something of the provider."""
        some = select(_table.c.id).where(_table.c.resource_provider_id == provider.id).limit(1)
        if self._execute(some).first() is not None:
            raise ProviderInUse(provider.uuid)
