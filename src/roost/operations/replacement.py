"""What `allocate` and `reshape` share: what consumers hold is replaced as a whole, or not at all.

One read of everything the decision needs, then the decision (`roost.claims`, pure), then the
writes, guards first.
"""

from collections.abc import Iterable, Mapping, Sequence

from roost.claims import InventoryState, check_consumer_generation, classes_of
from roost.errors import UnknownProvider
from roost.model import ConsumerChange, Value
from roost.operations.optimistic import Sight
from roost.settings import Settings
from roost.store.tables.allocations import NewHolding
from roost.store.tables.consumers import ConsumerRecord, ConsumerRow, Holding
from roost.store.tables.providers import ProviderState
from roost.store.transaction import Transaction


class Before(Value, frozen=True, kw_only=True):
    """What a replacement finds."""

    consumers: Mapping[str, ConsumerRecord]  # those that exist, by UUID
    providers: Mapping[str, ProviderState]  # those that exist, by UUID
    stocks: Mapping[str, Mapping[str, InventoryState]]  # by provider UUID and class

    @property
    def holdings(self) -> list[Holding]:
        return [held for consumer in self.consumers.values() for held in consumer.holdings]

    @property
    def released(self) -> dict[tuple[str, str], int]:
        """What the consumers give back, by provider UUID and class."""
        uuids = {provider.id: provider.uuid for provider in self.providers.values()}
        names = {
            stock.class_id: name
            for by_class in self.stocks.values()
            for name, stock in by_class.items()
        }
        amounts: dict[tuple[str, str], int] = {}
        for held in self.holdings:
            if held.provider_id in uuids and held.class_id in names:
                key = uuids[held.provider_id], names[held.class_id]
                amounts[key] = amounts.get(key, 0) + held.used
        return amounts


def check_consumers(
    consumers: Mapping[str, ConsumerRecord], changes: Sequence[ConsumerChange]
) -> None:
    """Refuse writers that saw consumers otherwise."""
    for change in changes:
        current = consumers.get(change.consumer_uuid)
        # Placement leaves consumers behind that hold nothing; for their writers they never were.
        generation = current.generation if current is not None and current.holdings else None
        check_consumer_generation(change, generation)


def read_before(
    sight: Sight,
    changes: Sequence[ConsumerChange],
    consumers: Mapping[str, ConsumerRecord],
    provider_uuids: Iterable[str] = (),
) -> Before:
    """Everything that the decision needs. The providers are read, and locked, before their use."""
    named = {uuid for change in changes for uuid in change.allocations}
    emptied = {
        held.provider_id
        for change in changes
        if not change.allocations and change.consumer_uuid in consumers
        for held in consumers[change.consumer_uuid].holdings
    }
    uuids = named.union(provider_uuids)
    providers = sight.providers(uuids, emptied)
    for change in changes:
        for uuid in change.allocations:
            if uuid not in providers:
                raise UnknownProvider(uuid)
    weighed = {uuid: providers[uuid] for uuid in uuids if uuid in providers}
    stocks = sight.stocks([provider.id for provider in weighed.values()])
    return Before(
        consumers=consumers,
        providers=providers,
        stocks={uuid: stocks[provider.id] for uuid, provider in weighed.items()},
    )


def known_classes(
    sight: Sight, before: Before, changes: Sequence[ConsumerChange]
) -> Mapping[str, int]:
    """The ids of all classes that are asked for; refuses unknown ones."""
    if not sight.certain:
        return sight.class_ids(classes_of(changes))
    ids = {
        name: stock.class_id
        for by_class in before.stocks.values()
        for name, stock in by_class.items()
    }
    missing = classes_of(changes) - ids.keys()
    # The names come with the inventories, so only a refusal costs another read.
    return {**ids, **sight.class_ids(missing)} if missing else ids


def moved_providers(before: Before, changes: Sequence[ConsumerChange]) -> set[str]:
    """Providers whose generation moves: those that are taken from, and those of a consumer that
    is left with nothing. One that a consumer merely leaves keeps its generation."""
    moved = {uuid for change in changes for uuid in change.allocations}
    uuids = {provider.id: provider.uuid for provider in before.providers.values()}
    for change in changes:
        consumer = before.consumers.get(change.consumer_uuid)
        if consumer is not None and not change.allocations:
            moved.update(uuids[held.provider_id] for held in consumer.holdings)
    return moved


def save_consumers(
    tx: Transaction,
    before: Before,
    changes: Sequence[ConsumerChange],
    class_ids: Mapping[str, int],
    settings: Settings,
) -> None:
    """Write consumers, guarded by their generations, and then what they hold."""
    kept = [change for change in changes if change.allocations]
    if kept:
        rows = _rows(tx, before, kept, settings)
        tx.consumers.update(
            [
                (before.consumers[uuid], row)
                for uuid, row in rows.items()
                if uuid in before.consumers
            ]
        )
        tx.consumers.insert(row for uuid, row in rows.items() if uuid not in before.consumers)
    tx.consumers.delete(
        [
            before.consumers[change.consumer_uuid]
            for change in changes
            if not change.allocations and change.consumer_uuid in before.consumers
        ]
    )
    tx.allocations.replace(
        before.holdings,
        [
            NewHolding(
                consumer_uuid=_stored_uuid(before, change),
                provider_id=before.providers[provider_uuid].id,
                class_id=class_ids[name],
                used=amount,
            )
            for change in kept
            for provider_uuid, resources in change.allocations.items()
            for name, amount in resources.items()
        ],
    )


def _stored_uuid(before: Before, change: ConsumerChange) -> str:
    consumer = before.consumers.get(change.consumer_uuid)
    return consumer.uuid if consumer is not None else change.consumer_uuid


def _rows(
    tx: Transaction, before: Before, changes: Sequence[ConsumerChange], settings: Settings
) -> dict[str, ConsumerRow]:
    """What the rows of consumers are to say, by consumer UUID."""
    projects = {
        change.consumer_uuid: _or_default(
            change.project_id, settings.incomplete_consumer_project_id
        )
        for change in changes
    }
    users = {
        change.consumer_uuid: _or_default(change.user_id, settings.incomplete_consumer_user_id)
        for change in changes
    }
    types = {change.consumer_type for change in changes if change.consumer_type is not None}
    ids = tx.consumers.references(
        projects=set(projects.values()), users=set(users.values()), types=types
    )
    return {
        change.consumer_uuid: ConsumerRow(
            uuid=change.consumer_uuid,
            project_id=ids.projects[projects[change.consumer_uuid]],
            user_id=ids.users[users[change.consumer_uuid]],
            type_id=_type_id(ids.types, change, before.consumers.get(change.consumer_uuid)),
        )
        for change in changes
    }


def _or_default(name: str | None, default: str) -> str:
    return default if name is None else name


def _type_id(
    ids: Mapping[str, int], change: ConsumerChange, old: ConsumerRecord | None
) -> int | None:
    """A writer that knows no types (before 1.38) leaves the consumer the one it has."""
    if change.consumer_type is not None:
        return ids[change.consumer_type]
    return old.type_id if old is not None else None
