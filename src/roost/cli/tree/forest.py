"""Trees of providers: which of them are shown, in which order, and how deep.

A tree may be thousands of levels deep, so nothing here is recursive.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Self

from roost.client import Inventory, Provider, ProviderDetails
from roost.model import SHARING_TRAIT, Value
from roost.uuids import canonical_uuid


class Sort(StrEnum):
    """The order of trees, and of the children of a provider."""

    NAME = "name"
    USED = "used"  # the fullest first
    FREE = "free"  # the emptiest first


class Selection(Value, frozen=True, kw_only=True):
    """What is shown of a cloud. Empty collections select everything."""

    classes: tuple[str, ...] = ()  # only these inventories, and providers that have one
    aggregates: tuple[str, ...] = ()  # beginnings of UUIDs: members of any, and what is below them
    traits: tuple[str, ...] = ()  # providers that have all, and what is below them
    depth: int | None = None  # how many levels
    sort: Sort = Sort.NAME


class Amounts(NamedTuple):
    """How much of one class is used, and how much is not. All but `reserved` can be allocated."""

    used: int
    free: int
    over: int  # used beyond the capacity
    withheld: int  # what could be allocated if nothing were reserved
    reserved: int  # before the allocation ratio

    @classmethod
    def of(cls, inventory: Inventory, used: int) -> Self:
        capacity = max(0, inventory.capacity)
        withheld = int(inventory.reserved * inventory.allocation_ratio)
        free, over = max(0, capacity - used), max(0, used - capacity)
        return cls(used, free, over, withheld, inventory.reserved)

    def plus(self, other: "Amounts") -> "Amounts":
        return Amounts(*(one + another for one, another in zip(self, other, strict=True)))

    @property
    def capacity(self) -> int:
        return self.used - self.over + self.free

    @property
    def share(self) -> float | None:
        """How much of the capacity is used; None if there is no capacity."""
        return self.used / self.capacity if self.capacity else None


class Shared(NamedTuple):
    """A provider that shares what it has with a tree."""

    name: str
    uuid: str
    aggregate: str  # through which they are connected


class Node:
    """A provider in its tree. Selecting and sorting change it."""

    __slots__ = ("_amounts", "children", "classes", "details", "folded", "shared_by", "totals")

    def __init__(self, details: ProviderDetails) -> None:
        self.details = details
        self.children: list[Node] = []
        self.classes: tuple[str, ...] = ()  # only these are shown; empty: all
        self.folded = 0  # how many providers below it are not shown
        self.totals: dict[str, Amounts] = {}  # of the whole subtree, if they were computed
        self.shared_by: list[Shared] = []  # of a root
        self._amounts: dict[str, Amounts] | None = None

    @property
    def name(self) -> str:
        return self.details.provider.name

    @property
    def amounts(self) -> dict[str, Amounts]:
        """What is shown of its inventories, by class; if it is folded, of the whole subtree."""
        if self.folded:
            return self.totals
        if self._amounts is None:
            # Not before: of a large cloud, few trees are drawn.
            self._amounts = {
                name: Amounts.of(inventory, self.details.usages.get(name, 0))
                for name, inventory in self.details.inventories.items()
                if not self.classes or name in self.classes
            }
        return self._amounts


def grow(providers: Iterable[ProviderDetails]) -> list[Node]:
    """The roots of the trees that these providers make.

    A provider whose parent is not among them is shown as a root. That happens when a tree was
    changed while it was read.
    """
    nodes = {each.provider.uuid: Node(each) for each in providers}
    roots = []
    for node in nodes.values():
        parent = nodes.get(node.details.provider.parent_uuid or "")
        if parent is None:
            roots.append(node)
        else:
            parent.children.append(node)
    return roots


def parents_first(roots: Iterable[Node]) -> list[Node]:
    """All nodes; reversed, every node comes after its children."""
    nodes = list(roots)
    for node in nodes:  # grows while it is read
        nodes.extend(node.children)
    return nodes


# Who shares something, by the aggregate through which they do.
Sharing = Mapping[str, Sequence[Provider]]


def sharing(providers: Iterable[ProviderDetails], classes: Sequence[str] = ()) -> Sharing:
    """Those of the providers that share something of these classes, or anything at all."""
    found: dict[str, list[Provider]] = {}
    for each in providers:
        if SHARING_TRAIT in each.traits and (
            not classes or any(name in each.inventories for name in classes)
        ):
            for aggregate in each.aggregates:
                found.setdefault(canonical_uuid(aggregate), []).append(each.provider)
    return found


def connect(roots: Iterable[Node], sharing: Sharing) -> None:
    """Tell each root who shares something with its tree."""
    if not sharing:
        return
    for root in roots:
        aggregates = {one for node in parents_first([root]) for one in node.details.aggregates}
        root.shared_by = sorted(
            Shared(one.name, one.uuid, aggregate)
            for aggregate in map(canonical_uuid, aggregates)
            for one in sharing.get(aggregate, ())
            if one.root_uuid != root.details.provider.root_uuid
        )


# ---------------------------------------------------------------------------------------------
# Select


def select(roots: Sequence[Node], selection: Selection) -> list[Node]:
    """The roots of what is shown, in order. A provider is shown with all its ancestors."""
    chosen = _narrow(roots, selection)
    if selection.depth is not None or selection.sort is not Sort.NAME:
        _total(chosen)
    for node in parents_first(chosen):
        sort(node.children, selection)
    sort(chosen, selection)
    if selection.depth is not None:
        _fold(chosen, selection.depth)
    return chosen


def sort(nodes: list[Node], selection: Selection) -> None:
    """Bring nodes that were selected in order; those of different trees, or siblings."""
    nodes.sort(key=lambda node: (_rank(node.totals, selection), node.name))


def _narrow(roots: Sequence[Node], selection: Selection) -> list[Node]:
    if not (selection.classes or selection.aggregates or selection.traits):
        return list(roots)
    nodes = parents_first(roots)
    # A provider meets what it or one of its ancestors meets.
    in_aggregate, has_traits = set[int](), set[int]()
    for node in nodes:
        node.classes = selection.classes
        if id(node) in in_aggregate or _is_member(node.details, selection.aggregates):
            in_aggregate.update(map(id, (node, *node.children)))
        if id(node) in has_traits or node.details.traits.issuperset(selection.traits):
            has_traits.update(map(id, (node, *node.children)))
    shown = in_aggregate & has_traits
    if selection.classes:
        shown &= {id(node) for node in nodes if node.amounts}
    for node in reversed(nodes):
        node.children = [child for child in node.children if id(child) in shown]
        if node.children:
            shown.add(id(node))
    return [root for root in roots if id(root) in shown]


def _is_member(details: ProviderDetails, beginnings: Sequence[str]) -> bool:
    if not beginnings:
        return True
    return any(canonical_uuid(each).startswith(tuple(beginnings)) for each in details.aggregates)


def _total(roots: Sequence[Node]) -> None:
    for node in reversed(parents_first(roots)):
        node.totals = dict(node.amounts)
        for child in node.children:
            for name, amounts in child.totals.items():
                mine = node.totals.get(name)
                node.totals[name] = amounts if mine is None else mine.plus(amounts)


# After everything that can be compared.
_LAST = float("inf")


def _rank(totals: Mapping[str, Amounts], selection: Selection) -> float:
    """What trees are sorted by, before their names."""
    if selection.sort is Sort.NAME:
        return 0
    if selection.sort is Sort.FREE and selection.classes:
        # An amount says more than a share, but amounts of different classes cannot be compared.
        amounts = totals.get(selection.classes[0])
        return _LAST if amounts is None else -amounts.free
    shares = [each.share for each in totals.values() if each.share is not None]
    if not shares:
        return _LAST
    return -max(shares) if selection.sort is Sort.USED else max(shares)


def _fold(roots: Sequence[Node], depth: int) -> None:
    level = list(roots)
    for _ in range(depth - 1):
        level = [child for node in level for child in node.children]
        if not level:
            return
    for node in level:
        node.folded = len(parents_first(node.children))
        node.children = []
