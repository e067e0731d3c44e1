"""What has to change for one tree to become another: as values, and drawn for people."""

from collections.abc import Iterator
from enum import StrEnum

import msgspec
from rich.text import Text
from rich.tree import Tree

from roost.agent.provider_tree import ProviderData, ProviderTree
from roost.model import Inventory, Value
from roost.uuids import canonical_uuids


class Mark(StrEnum):
    """How a provider or one of its parts changes, as a drawing shows it."""

    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"
    SAME = " "


_COLOURS = {
    Mark.ADDED: "green",
    Mark.REMOVED: "red",
    Mark.CHANGED: "yellow",
    Mark.SAME: "dim",
}


class InventoryDiff(Value, frozen=True, kw_only=True):
    """One inventory that is added, removed or changed."""

    resource_class: str
    before: Inventory | None
    after: Inventory | None


class ProviderDiff(Value, frozen=True, kw_only=True):
    """One provider before and after, even if nothing changes."""

    uuid: str
    before: ProviderData | None  # None: it is created
    after: ProviderData | None  # None: it is removed
    inventories: tuple[InventoryDiff, ...]
    traits_added: frozenset[str]
    traits_removed: frozenset[str]
    aggregates_added: frozenset[str]
    aggregates_removed: frozenset[str]

    @property
    def latest(self) -> ProviderData:
        found = self.after or self.before
        assert found is not None, "a provider is in one of the trees"
        return found

    @property
    def moved(self) -> bool:
        return (
            self.before is not None
            and self.after is not None
            and self.before.parent_uuid != self.after.parent_uuid
        )

    @property
    def renamed(self) -> bool:
        return (
            self.before is not None
            and self.after is not None
            and self.before.name != self.after.name
        )

    @property
    def mark(self) -> Mark:
        if self.before is None:
            return Mark.ADDED
        if self.after is None:
            return Mark.REMOVED
        contents = (
            self.inventories,
            self.traits_added,
            self.traits_removed,
            self.aggregates_added,
            self.aggregates_removed,
        )
        return Mark.CHANGED if self.moved or self.renamed or any(contents) else Mark.SAME


class TreeDiff(Value, frozen=True, kw_only=True):
    """All providers of two trees: parents before children, removed ones last."""

    providers: tuple[ProviderDiff, ...]

    def __bool__(self) -> bool:
        """Whether anything changes."""
        return bool(self.changes)

    @property
    def changes(self) -> list[ProviderDiff]:
        return [each for each in self.providers if each.mark != Mark.SAME]

    @property
    def created(self) -> list[ProviderDiff]:
        return [each for each in self.providers if each.before is None]

    @property
    def removed(self) -> list[ProviderDiff]:
        """Children before parents: the order in which they can be deleted."""
        return [each for each in reversed(self.providers) if each.after is None]

    @property
    def moved(self) -> list[ProviderDiff]:
        return [each for each in self.providers if each.moved]

    @property
    def renamed(self) -> list[ProviderDiff]:
        return [each for each in self.providers if each.renamed]


def compare(before: ProviderTree, after: ProviderTree) -> TreeDiff:
    """What has to change for `before` to become `after`."""
    # Copies, because other threads may edit the trees meanwhile.
    before, after = before.copy(), after.copy()
    later = after.get_provider_uuids()
    gone = [uuid for uuid in before.get_provider_uuids() if not after.exists(uuid)]
    return TreeDiff(
        providers=tuple(
            _compare_provider(
                uuid,
                before.data(uuid) if before.exists(uuid) else None,
                after.data(uuid) if after.exists(uuid) else None,
            )
            for uuid in later + gone
        )
    )


def _compare_provider(
    uuid: str, before: ProviderData | None, after: ProviderData | None
) -> ProviderDiff:
    old = before.inventory if before else {}
    new = after.inventory if after else {}
    old_traits, new_traits = _traits(before), _traits(after)
    old_aggregates, new_aggregates = _aggregates(before), _aggregates(after)
    return ProviderDiff(
        uuid=uuid,
        before=before,
        after=after,
        inventories=tuple(
            InventoryDiff(
                resource_class=name,
                before=Inventory(**old[name]) if name in old else None,
                after=Inventory(**new[name]) if name in new else None,
            )
            for name in sorted(old.keys() | new.keys())
            if old.get(name) != new.get(name)
        ),
        traits_added=new_traits - old_traits,
        traits_removed=old_traits - new_traits,
        aggregates_added=new_aggregates - old_aggregates,
        aggregates_removed=old_aggregates - new_aggregates,
    )


def _traits(data: ProviderData | None) -> frozenset[str]:
    return frozenset(data.traits if data else ())


def _aggregates(data: ProviderData | None) -> frozenset[str]:
    return canonical_uuids(data.aggregates if data else ())


# ---------------------------------------------------------------------------------------------
# Drawing


def render(diff: TreeDiff) -> Tree:
    """Draw every provider that changes, below its ancestors."""
    if not diff:
        return Tree(Text("nothing to change", style=_COLOURS[Mark.SAME]))
    known = {each.uuid: each for each in diff.providers}
    shown: set[str] = set()
    for each in diff.changes:
        ancestor: ProviderDiff | None = each
        while ancestor is not None and ancestor.uuid not in shown:
            shown.add(ancestor.uuid)
            ancestor = known.get(ancestor.latest.parent_uuid or "")
    drawing = Tree("", hide_root=True)
    branches: dict[str, Tree] = {}
    for each in diff.providers:
        if each.uuid in shown:
            above = branches.get(each.latest.parent_uuid or "", drawing)
            branches[each.uuid] = above.add(_title(each, known))
            for line in _lines(each):
                branches[each.uuid].add(line)
    return drawing


def _title(each: ProviderDiff, known: dict[str, ProviderDiff]) -> Text:
    parts = [each.latest.name]
    if each.before is not None and each.renamed:
        parts.append(f"(was {each.before.name})")
    if each.before is not None and each.moved:
        old_parent = known.get(each.before.parent_uuid or "")
        parts.append(f"(from below {old_parent.latest.name})" if old_parent else "(was a root)")
    return _line(each.mark, " ".join(parts))


def _lines(each: ProviderDiff) -> Iterator[Text]:
    for change in each.inventories:
        yield _inventory_line(change)
    named = (
        (Mark.ADDED, "traits", each.traits_added),
        (Mark.REMOVED, "traits", each.traits_removed),
        (Mark.ADDED, "aggregates", each.aggregates_added),
        (Mark.REMOVED, "aggregates", each.aggregates_removed),
    )
    for mark, kind, names in named:
        if names:
            yield _line(mark, f"{kind}: {', '.join(sorted(names))}")


def _inventory_line(change: InventoryDiff) -> Text:
    if change.after is None:
        return _line(Mark.REMOVED, change.resource_class)
    after = msgspec.structs.asdict(change.after)
    if change.before is None:
        default = msgspec.structs.asdict(Inventory(total=-1))
        unusual = [f"{name} {value}" for name, value in after.items() if value != default[name]]
        return _line(Mark.ADDED, f"{change.resource_class}: {', '.join(unusual)}")
    before = msgspec.structs.asdict(change.before)
    changed = [
        f"{name} {before[name]} → {value}" for name, value in after.items() if value != before[name]
    ]
    return _line(Mark.CHANGED, f"{change.resource_class}: {', '.join(changed)}")


def _line(mark: Mark, text: str) -> Text:
    return Text(f"{mark} {text}", style=_COLOURS[mark])
