"""DELETE /resource_providers/{uuid}"""

from roost.service import Roost
from roost.store.transaction import Transaction


def delete_provider(roost: Roost, *, uuid: str) -> None:
    """Remove a provider that has no children and of whom nobody holds anything."""

    def unit(tx: Transaction) -> None:
        provider = tx.providers.lock(uuid)
        tx.providers.check_childless(provider)
        tx.allocations.check_none(provider)
        tx.providers.delete(provider)

    roost.run(unit)
