"""What consumers hold, answered from the tables: the index knows sums only."""

from roost.model import ConsumerAllocations, ConsumerTypeUsage, ProviderConsumers
from roost.service import Roost


def read_consumer(roost: Roost, *, consumer_uuid: str) -> ConsumerAllocations | None:
    """What one consumer holds, or None where it holds nothing."""
    return roost.store.reads.consumer(consumer_uuid)


def read_provider_consumers(roost: Roost, *, provider_uuid: str) -> ProviderConsumers:
    """Who holds what of one provider."""
    return roost.store.reads.provider_consumers(provider_uuid)


def read_project_usages(
    roost: Roost,
    *,
    project_id: str,
    user_id: str | None = None,
    consumer_type: str | None = None,
) -> list[ConsumerTypeUsage]:
    """What the consumers of a project use together: one entry for each type of consumer.

    `consumer_type` narrows to one type; `unknown` is that of consumers without one.
    """
    return roost.store.reads.project_usages(
        project_id, user_id=user_id, consumer_type=consumer_type
    )
