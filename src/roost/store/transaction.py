"""`Transaction`: one write transaction, with an attribute for each kind of table."""

from collections.abc import Iterable, Mapping

from roost.changes import ProviderParts
from roost.model import Inventory
from roost.store.change_record import ChangeRecord
from roost.store.feed.polling import read_new_records
from roost.store.feed.positions import FeedPosition
from roost.store.tables.aggregates import Aggregates
from roost.store.tables.allocations import Allocations
from roost.store.tables.catalog import Classes, TraitNames
from roost.store.tables.consumers import Consumers
from roost.store.tables.idempotency import IdempotencyKeys
from roost.store.tables.inventories import Inventories, numbers_of
from roost.store.tables.new_claims import NewClaims, writes
from roost.store.tables.providers import Providers, ProviderState
from roost.store.tables.session import Session
from roost.store.tables.traits import Traits
from roost.store.tables.trees import Trees


class Transaction(Session):
    """What a unit of work is given. A table knows its transaction, which therefore keeps none."""

    @property
    def providers(self) -> Providers:
        return Providers(self)

    @property
    def trees(self) -> Trees:
        return Trees(self)

    @property
    def inventories(self) -> Inventories:
        return Inventories(self)

    @property
    def traits(self) -> Traits:
        return Traits(self)

    @property
    def aggregates(self) -> Aggregates:
        return Aggregates(self)

    @property
    def consumers(self) -> Consumers:
        return Consumers(self)

    @property
    def allocations(self) -> Allocations:
        return Allocations(self)

    @property
    def classes(self) -> Classes:
        return Classes(self)

    @property
    def trait_names(self) -> TraitNames:
        return TraitNames(self)

    @property
    def idempotency_keys(self) -> IdempotencyKeys:
        return IdempotencyKeys(self)

    def tell_parts(
        self,
        provider: ProviderState,
        *,
        traits: Iterable[int] | None = None,
        aggregates: Iterable[str] | None = None,
        inventories: Mapping[int, Inventory] | None = None,
    ) -> None:
        """Announce all that this transaction changes of a provider: what it has of these now.

        It has advanced the provider by one, and has put inventories of classes that were there.
        """
        self.changes.tell_parts(
            ProviderParts(
                id=provider.id,
                generation=provider.generation + 1,
                modified=self.now_seconds,
                traits=None if traits is None else sorted(traits),
                aggregates=None if aggregates is None else list(aggregates),
                inventories=None if inventories is None else numbers_of(inventories),
            )
        )

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
