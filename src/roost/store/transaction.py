"""One write transaction, and the tables that a unit of work may touch through it."""

from sqlalchemy import Connection

from roost.store.aggregates import Aggregates
from roost.store.allocations import Allocations
from roost.store.answers import Answers
from roost.store.catalog import Classes, TraitNames
from roost.store.consumers import Consumers
from roost.store.inventories import Inventories
from roost.store.lasting import LastingIds
from roost.store.providers import Providers
from roost.store.session import Session
from roost.store.traits import Traits
from roost.store.trees import Trees


class Transaction(Session):
    """What a unit of work is given."""

    def __init__(self, connection: Connection, lasting: LastingIds) -> None:
        super().__init__(connection, lasting)
        self.providers = Providers(self)
        self.trees = Trees(self)
        self.inventories = Inventories(self)
        self.traits = Traits(self)
        self.aggregates = Aggregates(self)
        self.consumers = Consumers(self)
        self.allocations = Allocations(self)
        self.classes = Classes(self)
        self.trait_names = TraitNames(self)
        self.answers = Answers(self)
