"""POST /resource_providers"""

from roost.errors import InvalidParent, UnknownParent
from roost.model import Provider
from roost.service import Roost
from roost.store.transaction import Transaction


def create_provider(roost: Roost, *, uuid: str, name: str, parent_uuid: str | None) -> Provider:
    """A new provider, below `parent_uuid` or as the root of a tree of its own."""
    if parent_uuid == uuid:
        raise InvalidParent(
            "parent provider UUID cannot be same as UUID. "
            "Please set parent provider UUID to None if there is no parent."
        )

    def unit(tx: Transaction) -> Provider:
        parent = None
        if parent_uuid is not None:
            parent = tx.providers.find(parent_uuid)
            if parent is None:
                raise UnknownParent()
            tx.trees.hold([parent])
        tx.providers.check_free(name, uuid)
        return tx.providers.insert(uuid, name, parent)

    return roost.run(unit)
