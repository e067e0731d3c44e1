"""`Transaction`: one write transaction, with an attribute for each kind of table."""

from functools import cached_property

from roost.store.change_record import ChangeRecord
from roost.store.feed.polling import read_new_records
from roost.store.feed.positions import FeedPosition
from roost.store.tables.aggregates import Aggregates
from roost.store.tables.allocations import Allocations
from roost.store.tables.catalog import Classes, TraitNames
from roost.store.tables.consumers import Consumers
from roost.store.tables.idempotency import IdempotencyKeys
from roost.store.tables.inventories import Inventories
from roost.store.tables.new_claims import NewClaims, writes
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

    def write_new_claims(self, claims: NewClaims, record: ChangeRecord) -> None:
        """Write claims of new consumers, and announce them by this record; and nothing else."""
        self.defer(writes(self.dialect, claims, self.now, ignores_case=self.ignores_case))
        self.changes.claim_together(record)

    def records_since(self, position: FeedPosition) -> list[ChangeRecord]:
        """What the writers of a position have committed after it, in no order.

        Records of writers that registered later are missing, and so are those that were trimmed:
        the caller must verify by generations that it has all that it needs.
        """
        return read_new_records(self.connection, position)
