"""How inventories differ between two trees: which of them shrink, which grow.

A change is sensitive if less can be held afterwards than before. What consumers hold may then have
to move, so such changes are sent together, at the generations at which they were planned.
"""

from typing import NamedTuple

from roost.agent.provider_tree import ProviderData, ProviderTree
from roost.agent.reshape.holdings import Place
from roost.model import Inventory


class InventoryPair(NamedTuple):
    """The inventory of one class on one provider, before and after an update."""

    uuid: str
    name: str  # of the provider
    resource_class: str
    before: Inventory | None  # None: there was none
    after: Inventory | None  # None: there is none any more
    used: int | None  # by consumers, before; None: not known

    @property
    def shrinks(self) -> bool:
        """Whether something that could be held before cannot be held afterwards."""
        if self.before is None:
            return False
        if self.after is None:
            return True
        return (
            self.after.total < self.before.total
            or self.after.capacity < self.before.capacity
            or self.after.max_unit < self.before.max_unit
            or self.after.min_unit > self.before.min_unit
            or self.before.step_size % self.after.step_size != 0
        )

    @property
    def grows(self) -> bool:
        """Whether resources have appeared here."""
        if self.after is None:
            return False
        if self.before is None:
            return True
        return self.after.total > self.before.total or self.after.capacity > self.before.capacity

    @property
    def capacity(self) -> int:
        """How much can be held afterwards."""
        return self.after.capacity if self.after else 0

    @property
    def existing(self) -> int:
        """How much there is afterwards, including what is reserved."""
        return int(self.after.total * self.after.allocation_ratio) if self.after else 0


class InventoryChanges:
    """All inventories of the tree of one root, also those that stay as they are."""

    def __init__(self, before: ProviderTree, after: ProviderTree, root: str) -> None:
        # A provider that left the tree for another one still has what it has.
        uuids = dict.fromkeys(
            before.get_provider_uuids_in_tree(root) + after.get_provider_uuids_in_tree(root)
        )
        self.names: dict[str, str] = {}  # of all providers, by UUID
        self._pairs: dict[str, dict[str, InventoryPair]] = {}
        for uuid in uuids:
            old, new = _data(before, uuid), _data(after, uuid)
            self.names[uuid] = _latest(old, new).name
            for pair in _pairs_of(old, new):
                self._pairs.setdefault(pair.resource_class, {})[uuid] = pair

    @property
    def resource_classes(self) -> list[str]:
        return sorted(self._pairs)

    def of_class(self, resource_class: str) -> list[InventoryPair]:
        """What the providers have of a class, parents before children."""
        return list(self._pairs.get(resource_class, {}).values())

    def at(self, place: Place) -> InventoryPair:
        """What a provider has of a class; it may have none in either tree."""
        uuid, resource_class = place
        pair = self._pairs.get(resource_class, {}).get(uuid)
        return pair or InventoryPair(uuid, self.names[uuid], resource_class, None, None, 0)


def is_sensitive(before: ProviderTree, after: ProviderTree) -> bool:
    """Whether an inventory shrinks or disappears anywhere."""
    return any(
        pair.shrinks
        for uuid in before.get_provider_uuids()
        for pair in _pairs_of(before.data(uuid), _data(after, uuid))
    )


def _data(tree: ProviderTree, uuid: str) -> ProviderData | None:
    return tree.data(uuid) if tree.exists(uuid) else None


def _latest(before: ProviderData | None, after: ProviderData | None) -> ProviderData:
    found = after or before
    assert found is not None, "a provider is in one of the trees"
    return found


def _pairs_of(before: ProviderData | None, after: ProviderData | None) -> list[InventoryPair]:
    latest = _latest(before, after)
    old = before.inventory if before else {}
    new = after.inventory if after else {}
    return [
        InventoryPair(
            uuid=latest.uuid,
            name=latest.name,
            resource_class=name,
            before=Inventory(**old[name]) if name in old else None,
            after=Inventory(**new[name]) if name in new else None,
            used=_used(before, name),
        )
        for name in sorted(old.keys() | new.keys())
    ]


def _used(before: ProviderData | None, resource_class: str) -> int | None:
    if before is None or resource_class not in before.inventory:
        return 0
    return None if before.used is None else before.used.get(resource_class, 0)
