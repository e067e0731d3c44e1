"""`Transaction`: one write transaction, with an attribute for each kind of table."""

from functools import cached_property

from roost.store.change_record import ChangeRecord
from roost.store.feed.positions import FeedPosition, read_records_after
from roost.store.feed.reader import RECORDS_MAX
from roost.store.tables.aggregates import Aggregates
from roost.store.tables.allocations import Allocations
from roost.store.tables.catalog import Classes, TraitNames
from roost.store.tables.consumers import Consumers
from roost.store.tables.idempotency import IdempotencyKeys
from roost.store.tables.inventories import Inventories
from roost.store.tables.providers import Providers
from roost.store.tables.session import Session
from roost.store.tables.traits import Traits
from roost.store.tables.trees import Trees


class Transaction(Session):
    """What a unit of work is given. Each table is made when the unit first uses it."""

    @cached_property
    def providers(self) -> Providers:
        return Providers(self)

    @cached_property
    def trees(self) -> Trees:
        return Trees(self)

    @cached_property
    def inventories(self) -> Inventories:
        return Inventories(self)

    @cached_property
    def traits(self) -> Traits:
        return Traits(self)

    @cached_property
    def aggregates(self) -> Aggregates:
        return Aggregates(self)

    @cached_property
    def consumers(self) -> Consumers:
        return Consumers(self)

    @cached_property
    def allocations(self) -> Allocations:
        return Allocations(self)

    @cached_property
    def classes(self) -> Classes:
        return Classes(self)

    @cached_property
    def trait_names(self) -> TraitNames:
        return TraitNames(self)

    @cached_property
    def idempotency_keys(self) -> IdempotencyKeys:
        return IdempotencyKeys(self)

    def records_since(self, position: FeedPosition) -> list[ChangeRecord] | None:
        """What all writers committed after a position; None if the feed cannot tell any more.

        The transaction is not a snapshot, and need not be one: a record becomes visible together
        with the sequence number of its writer, which is read first.
        """
        found = read_records_after(self.connection, position, RECORDS_MAX)
        return None if found is None else [each.record for each in found[1]]
