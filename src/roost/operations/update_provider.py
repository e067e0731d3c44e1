"""PUT /resource_providers/{uuid}: another name, another place in the trees."""

import msgspec

from roost.errors import InvalidParent, ProviderNotFound, UnknownParent
from roost.model import Provider
from roost.service import Roost
from roost.store.providers import ProviderRecord
from roost.store.transaction import Transaction


def update_provider(
    roost: Roost,
    *,
    uuid: str,
    name: str,
    parent_uuid: str | msgspec.UnsetType | None,
    may_reparent: bool,
) -> Provider:
    """Rename a provider and, where a parent is given, move it below that (None: below nobody).

    Without `may_reparent` a provider that has a parent keeps it. Generations stay as they are.
    """

    def unit(tx: Transaction) -> Provider:
        before = tx.providers.find(uuid)
        if before is None:
            raise ProviderNotFound(uuid)
        moved: set[int] = set()
        if parent_uuid is not msgspec.UNSET and parent_uuid != before.parent_uuid:
            moved = _move(tx, before, parent_uuid, may_reparent)
        tx.providers.check_free(name, except_id=before.id)
        tx.providers.rename(before, name)
        after = tx.providers.lock_all([uuid], moved)
        if uuid not in after:
            raise ProviderNotFound(uuid)
        tx.providers.stay(after.values())
        return after[uuid].value()

    return roost.run(unit)


def _move(
    tx: Transaction, provider: ProviderRecord, parent_uuid: str | None, may_reparent: bool
) -> set[int]:
    """Move a provider; the ids of all that moved with it, and its own."""
    parent = None
    if parent_uuid is not None:
        parent = tx.providers.find(parent_uuid)
        if parent is None:
            raise UnknownParent()
    if provider.parent_id is not None and not may_reparent:
        verb = "un-parenting" if parent is None else "re-parenting"
        raise InvalidParent(f"{verb} a provider is not currently allowed.")
    # From here on no other process changes the shape of these trees. Without that, two moves,
    # each of them harmless, could close a loop together.
    tx.trees.hold([provider] if parent is None else [provider, parent])
    below = tx.trees.below(provider)
    if parent is not None and parent.id in below:
        raise InvalidParent("creating loop in the provider tree is not allowed.")
    tx.trees.move(provider, parent, below)
    return below
