"""One write transaction, and the tables that a unit of work may touch through it."""

from sqlalchemy import Connection

from roost.store.change_record import ChangeRecord
from roost.store.feed.positions import FeedPosition, read_unseen
from roost.store.feed.reader import RECORDS_MAX
from roost.store.tables.aggregates import Aggregates
from roost.store.tables.allocations import Allocations
from roost.store.tables.catalog import Classes, TraitNames
from roost.store.tables.consumers import Consumers
from roost.store.tables.id_cache import IdCache
from roost.store.tables.idempotency import IdempotencyKeys
from roost.store.tables.inventories import Inventories
from roost.store.tables.providers import Providers
from roost.store.tables.session import Session
from roost.store.tables.traits import Traits
from roost.store.tables.trees import Trees


class Transaction(Session):
    """What a unit of work is given."""

    def __init__(self, connection: Connection, id_cache: IdCache) -> None:
        super().__init__(connection, id_cache)
        self.providers = Providers(self)
        self.trees = Trees(self)
        self.inventories = Inventories(self)
        self.traits = Traits(self)
        self.aggregates = Aggregates(self)
        self.consumers = Consumers(self)
        self.allocations = Allocations(self)
        self.classes = Classes(self)
        self.trait_names = TraitNames(self)
        self.idempotency_keys = IdempotencyKeys(self)

    def records_since(self, position: FeedPosition) -> list[ChangeRecord] | None:
        """What all writers committed after a position; None if the feed cannot tell any more."""
        found = read_unseen(self.connection, position, RECORDS_MAX)
        return None if found is None else [each.record for each in found[1]]
