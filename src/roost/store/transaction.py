"""`Transaction`: one write transaction, with an attribute for each kind of table."""

from sqlalchemy import Connection

from roost.store.tables.aggregates import Aggregates
from roost.store.tables.allocations import Allocations
from roost.store.tables.catalog import Classes, TraitNames
from roost.store.tables.consumers import Consumers
from roost.store.tables.idempotency import IdempotencyKeys
from roost.store.tables.inventories import Inventories
from roost.store.tables.providers import Providers
from roost.store.tables.session import IdCache, Session
from roost.store.tables.traits import Traits
from roost.store.tables.trees import Trees


class Transaction(Session):
    """Handed to a unit of work by `Store.run` and `Store.write`."""

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
