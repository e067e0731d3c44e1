"""What has to change for one tree to become another, as data and as a picture."""

from collections.abc import Iterator

import msgspec
from rich.text import Text
from rich.tree import Tree

from roost.agent.provider_tree import ProviderData, ProviderTree
from roost.model import Inventory, Value

ADDED, REMOVED, CHANGED, SAME = "+", "-", "~", " "

_COLOURS = {ADDED: "green", REMOVED: "red", CHANGED: "yellow", SAME: "dim"}


class ClassDifference(Value, frozen=True, kw_only=True):
    """One inventory that comes, goes or changes."""

    resource_class: str
    before: Inventory | None
    after: Inventory | None


class ProviderDifference(Value, frozen=True, kw_only=True):
    """One provider, before and after; also those that stay as they are."""

    uuid: str
    before: ProviderData | None  # None: it is created
    after: ProviderData | None  # None: it is removed
    inventories: tuple[ClassDifference, ...]
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
    def mark(self) -> str:
        if self.before is None:
            return ADDED
        if self.after is None:
            return REMOVED
        contents = (
            self.inventories,
            self.traits_added,
            self.traits_removed,
            self.aggregates_added,
            self.aggregates_removed,
        )
        return CHANGED if self.moved or self.renamed or any(contents) else SAME


class Difference(Value, frozen=True, kw_only=True):
    """All providers of two trees, parents before children, those that are removed last."""

    providers: tuple[ProviderDifference, ...]

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.changes)

    @property
    def changes(self) -> list[ProviderDifference]:
        return [each for each in self.providers if each.mark != SAME]

    @property
    def created(self) -> list[ProviderDifference]:
        return [each for each in self.providers if each.before is None]

    @property
    def removed(self) -> list[ProviderDifference]:
        """Children before parents: the order in which they can go."""
        return [each for each in reversed(self.providers) if each.after is None]

    @property
    def moved(self) -> list[ProviderDifference]:
        return [each for each in self.providers if each.moved]

    @property
    def renamed(self) -> list[ProviderDifference]:
        return [each for each in self.providers if each.renamed]


def compare(before: ProviderTree, after: ProviderTree) -> Difference:
    """What has to change for `before` to become `after`."""
    # Copies, since other threads may edit the trees meanwhile.
    before, after = before.copy(), after.copy()
    later = after.get_provider_uuids()
    gone = [uuid for uuid in before.get_provider_uuids() if not after.exists(uuid)]
    return Difference(
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
) -> ProviderDifference:
    old = before.inventory if before else {}
    new = after.inventory if after else {}
    old_traits, new_traits = _traits(before), _traits(after)
    old_aggregates, new_aggregates = _aggregates(before), _aggregates(after)
    return ProviderDifference(
        uuid=uuid,
        before=before,
        after=after,
        inventories=tuple(
            ClassDifference(
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
    return frozenset(data.aggregates if data else ())


# ---------------------------------------------------------------------------------------------
# The picture


def render(difference: Difference) -> Tree:
    """Every provider that changes, with those above it to show where it stands."""
    if not difference:
        return Tree(Text("nothing to change", style=_COLOURS[SAME]))
    known = {each.uuid: each for each in difference.providers}
    shown: set[str] = set()
    for each in difference.changes:
        place: ProviderDifference | None = each
        while place is not None and place.uuid not in shown:
            shown.add(place.uuid)
            place = known.get(place.latest.parent_uuid or "")
    picture = Tree("", hide_root=True)
    branches: dict[str, Tree] = {}
    for each in difference.providers:
        if each.uuid in shown:
            above = branches.get(each.latest.parent_uuid or "", picture)
            branches[each.uuid] = above.add(_title(each, known))
            for line in _lines(each):
                branches[each.uuid].add(line)
    return picture


def _title(each: ProviderDifference, known: dict[str, ProviderDifference]) -> Text:
    words = [each.latest.name]
    if each.before is not None and each.renamed:
        words.append(f"(was {each.before.name})")
    if each.before is not None and each.moved:
        old_parent = known.get(each.before.parent_uuid or "")
        words.append(f"(from below {old_parent.latest.name})" if old_parent else "(was a root)")
    return _line(each.mark, " ".join(words))


def _lines(each: ProviderDifference) -> Iterator[Text]:
    for change in each.inventories:
        yield _inventory_line(change)
    named = (
        (ADDED, "traits", each.traits_added),
        (REMOVED, "traits", each.traits_removed),
        (ADDED, "aggregates", each.aggregates_added),
        (REMOVED, "aggregates", each.aggregates_removed),
    )
    for mark, kind, names in named:
        if names:
            yield _line(mark, f"{kind}: {', '.join(sorted(names))}")


def _inventory_line(change: ClassDifference) -> Text:
    if change.after is None:
        return _line(REMOVED, change.resource_class)
    after = msgspec.structs.asdict(change.after)
    if change.before is None:
        default = msgspec.structs.asdict(Inventory(total=-1))
        unusual = [f"{name} {value}" for name, value in after.items() if value != default[name]]
        return _line(ADDED, f"{change.resource_class}: {', '.join(unusual)}")
    before = msgspec.structs.asdict(change.before)
    changed = [
        f"{name} {before[name]} → {value}" for name, value in after.items() if value != before[name]
    ]
    return _line(CHANGED, f"{change.resource_class}: {', '.join(changed)}")


def _line(mark: str, words: str) -> Text:
    return Text(f"{mark} {words}", style=_COLOURS[mark])
