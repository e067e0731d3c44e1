"""DELETE /allocations/{consumer}"""

from roost.errors import ConsumerNotFound
from roost.service import Roost
from roost.store.transaction import Transaction


def delete_allocations(roost: Roost, *, consumer_uuid: str) -> None:
    """Take away everything that a consumer holds.

    Generations of providers stay: less use needs no guard against anybody.
    """

    def unit(tx: Transaction) -> None:
        consumer, providers = tx.consumers.read_with_providers(consumer_uuid)
        if consumer is None or not consumer.holdings:
            raise ConsumerNotFound(consumer_uuid)
        tx.consumers.delete([consumer])
        tx.allocations.replace(consumer.holdings, [])
        tx.providers.stay(providers)

    roost.run(unit, retry_count=roost.settings.allocation_conflict_retry_count)
