"""Orders that depend on nothing but the trees, kept with the index (`index/tree_orders.py`).

A search moves the trees that changed since the last one, and does not sort the others again.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from roost.query import OrderBy
from roost.search.budget import Budget
from roost.search.index.columns import Integers, ragged_range
from roost.search.index.index import Index
from roost.search.index.sorted_trees import Key, Move, Ranks, SortedTrees, TreePart

# How many trees are sorted at once; more are sorted in parts, which takes longer.
SORTED_AT_ONCE = 8192
# How many are looked at without asking the budget in between, and how many are a step of it.
TREES_AT_ONCE = 1024
TREES_PER_STEP = 16
# If more trees than this and more than a part of all have changed, all of them are sorted again.
CHANGED_FEW = 64
CHANGED_PART = 64
# The ranks of no more trees than these are computed one by one.
ROOTS_FEW = 4
# How many parts are passed over in a step of the budget.
PARTS_PER_STEP = 16

EMPTY: Integers = np.empty(0, dtype=np.int32)

# Class id -> amount.
Demands = Mapping[int, int]


class KeptOrder:
    """An order that changes no more than the trees do."""

    def __init__(self, index: Index, by: OrderBy, classes: frozenset[int], budget: Budget) -> None:
        self._index = index
        self._by = by
        self._classes = classes  # what is free of these decides; none of them: the UUID does
        self._budget = budget
        self._trees = self._up_to_date()

    def after(self, key: Key | None, least: Demands) -> Iterator[tuple[Integers, Ranks]]:
        if self._by is OrderBy.ROOT or self._index.is_what_if:
            # An order by UUID does not see what is free. And what a what-if copy has free is no
            # business of searches on the index itself.
            least = {}
        for number, (part, place) in enumerate(self._trees.after(key)):
            if number % PARTS_PER_STEP == 0:
                self._budget.step()
            free = part.free_most
            if any(free.get(class_id, amount) < amount for class_id, amount in least.items()):
                continue
            roots, ranks = part.arrays()
            yield roots[place:], ranks[place:]
            # Who comes back has found too little here. The next search may know that before.
            self._find_free_most(part, least)

    def _find_free_most(self, part: TreePart, classes: Iterable[int]) -> None:
        unknown = [class_id for class_id in classes if class_id not in part.free_most]
        if not unknown:
            return
        index, (roots, _) = self._index, part.arrays()
        rows = ragged_range(roots, index.rows.last[roots] - roots + 1).astype(np.int32)
        for class_id in unknown:
            self._budget.pass_over_rows(len(rows))
            column, most = index.columns.get(class_id), -1
            if column is not None and column.count:
                # With numbers of another type, numpy would convert the whole column first.
                positions = column.row[: column.count].searchsorted(rows)
                positions = np.minimum(positions, column.count - 1)
                positions = positions[column.row[positions] == rows]
                free = column.capacity[positions] - column.used[positions]
                most = int(free.max(initial=-1))
            part.free_most[class_id] = most

    def among(self, roots: Integers) -> tuple[Integers, Ranks]:
        self._budget.pass_over_rows(self._index.rows.count)
        numbers = np.full(self._index.rows.count, -1)
        numbers[roots] = np.arange(len(roots))
        rows, ranks = self._trees.whole()
        numbers = numbers[rows]
        wanted = numbers >= 0
        return numbers[wanted], ranks[wanted]

    @property
    def count(self) -> int:
        return self._trees.count

    def key_of(self, number: int) -> Key | None:
        return self._trees.key_of(number)

    def _up_to_date(self) -> SortedTrees:
        index, orders, key = self._index, self._index.tree_orders, (self._by, self._classes)
        if index.is_what_if and self._by is not OrderBy.ROOT:
            # Nobody notes how its usage changes.
            return self._sorted()
        kept = orders.find(key)
        if kept is not None:
            version, trees = kept
            if version == index.tree_version:
                return trees
            changed = orders.changed_between(version, index.tree_version)
            if changed and self._by is OrderBy.ROOT:
                # Most trees change without coming or going.
                changed = {
                    root: uuid
                    for root, uuid in changed.items()
                    if self._is_here(root) != trees.has(root)
                }
            if changed is not None and len(changed) <= max(
                CHANGED_FEW, trees.count // CHANGED_PART
            ):
                trees = trees.moved(self._moves(changed))
                orders.keep(key, index.tree_version, trees)
                return trees
        trees = self._sorted()
        orders.keep(key, index.tree_version, trees)
        return trees

    def _moves(self, changed: dict[int, str]) -> Iterator[Move]:
        here = [root for root in changed if self._is_here(root)]
        ranks = dict(zip(here, self._ranks(here), strict=True))
        for root, uuid in changed.items():
            self._budget.sort_trees(1)
            self._budget.step()
            yield root, uuid, ranks.get(root)

    def _is_here(self, root: int) -> bool:
        rows = self._index.rows
        return root < rows.count and bool(rows.live[root])

    def _sorted(self) -> SortedTrees:
        index, budget = self._index, self._budget
        if self._by is OrderBy.ROOT:
            roots = self._by_uuid()
            ranks = np.zeros(len(roots))
        else:
            # These are sorted by UUID, and the others need no more than to stay so where they tie.
            by_uuid = KeptOrder(index, OrderBy.ROOT, frozenset(), budget)
            roots, _ = by_uuid._trees.whole()
            budget.sort_trees(len(roots))
            ranks = self._signed(_free_fractions(index, self._classes, budget)[roots])
            numbers = np.argsort(ranks, kind="stable")
            roots, ranks = roots[numbers], ranks[numbers]
        budget.step(1 + len(roots) // TREES_PER_STEP)
        return SortedTrees.of(roots, ranks, index.uuids, index.rows.count)

    def _by_uuid(self) -> Integers:
        """All roots in the order of their UUIDs, which takes longest to find."""
        index, budget = self._index, self._budget
        roots = index.root_rows()
        kept = index.tree_orders.find((self._by, self._classes))
        known, _ = kept[1].whole() if kept is not None else (EMPTY, None)
        # Those that are still here are in the right order.
        known = known[known < index.rows.count]
        known = known[index.rows.live[known]]
        is_new = np.ones(index.rows.count, dtype=np.bool_)
        is_new[known] = False
        added = roots[is_new[roots]]
        budget.pass_over_rows(index.rows.count)
        budget.sort_trees(len(added))
        added = added[sorted_by_uuid(index, added, budget)]
        if not len(known):
            return added
        uuids, places = index.uuids, []
        for root in added.tolist():
            budget.step()
            places.append(bisect_left(known, uuids[root], key=uuids.__getitem__))
        return np.insert(known, places, added)

    def _signed(self, fractions: Ranks) -> Ranks:
        return -fractions if self._by is OrderBy.SPREAD else fractions

    def _ranks(self, roots: list[int]) -> list[float]:
        if self._by is OrderBy.ROOT:
            return [0.0] * len(roots)
        if len(roots) > ROOTS_FEW:
            fractions = _free_fractions_of(self._index, self._classes, np.array(roots))
            ranks: list[float] = self._signed(fractions).tolist()
            return ranks
        found = [_free_fraction(self._index, self._classes, root) for root in roots]
        return [-each for each in found] if self._by is OrderBy.SPREAD else found


def _free_fractions(index: Index, classes: Iterable[int], budget: Budget) -> Ranks:
    """For each root the fraction of its tree that is free, of the class with the smallest.

    Only classes that the request asks for count, and only inventories of the tree itself.
    """
    rows = index.rows
    fractions: Ranks = np.full(rows.count, np.inf)
    for class_id in classes:
        column = index.columns.get(class_id)
        if column is None:
            continue
        budget.pass_over_rows(rows.count)
        filled = slice(0, column.count)
        roots = rows.root[column.row[filled]]
        capacity = np.maximum(column.capacity[filled], 0)
        free = np.maximum(capacity - column.used[filled], 0)
        capacity_total = np.bincount(roots, weights=capacity, minlength=rows.count)
        free_total = np.bincount(roots, weights=free, minlength=rows.count)
        has = capacity_total > 0
        fractions[has] = np.minimum(fractions[has], free_total[has] / capacity_total[has])
    fractions[np.isinf(fractions)] = 0.0
    return fractions


def _free_fractions_of(index: Index, classes: Iterable[int], roots: Integers) -> Ranks:
    """`_free_fractions` of some trees."""
    fractions: Ranks = np.full(len(roots), np.inf)
    firsts, ends = roots.astype(np.int32), (index.rows.last[roots] + 1).astype(np.int32)
    for class_id in classes:
        column = index.columns.get(class_id)
        if column is None:
            continue
        rows = column.row[: column.count]
        starts = rows.searchsorted(firsts)
        counts = rows.searchsorted(ends) - starts
        positions, trees = ragged_range(starts, counts), np.repeat(np.arange(len(roots)), counts)
        capacity = np.maximum(column.capacity[positions], 0)
        free = np.maximum(capacity - column.used[positions], 0)
        capacity_total = np.bincount(trees, weights=capacity, minlength=len(roots))
        free_total = np.bincount(trees, weights=free, minlength=len(roots))
        has = capacity_total > 0
        fractions[has] = np.minimum(fractions[has], free_total[has] / capacity_total[has])
    fractions[np.isinf(fractions)] = 0.0
    return fractions


def _free_fraction(index: Index, classes: Iterable[int], root: int) -> float:
    """`_free_fractions` of one tree: the same number to the last bit."""
    fraction, end = np.inf, int(index.rows.last[root]) + 1
    for class_id in classes:
        column = index.columns.get(class_id)
        if column is None:
            continue
        span = column.span(root, end)
        # Floating-point numbers, added up one by one, as for many trees at once.
        capacity_total = free_total = 0.0
        for capacity, used in zip(
            column.capacity[span].tolist(), column.used[span].tolist(), strict=True
        ):
            capacity_total += max(capacity, 0)
            free_total += max(max(capacity, 0) - used, 0)
        if capacity_total > 0:
            fraction = min(fraction, free_total / capacity_total)
    return 0.0 if np.isinf(fraction) else fraction


def sorted_by_uuid(index: Index, rows: Integers, budget: Budget) -> Integers:
    """The places of the rows in the order of their UUIDs."""
    uuids = index.uuids
    if len(rows) <= SORTED_AT_ONCE:
        budget.step(1 + len(rows) // TREES_PER_STEP)
        keys = [uuids[row] for row in rows.tolist()]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
    # In parts: a hundred thousand have some hundreds of beginnings of this length.
    parts: dict[str, list[int]] = {}
    for first in range(0, len(rows), TREES_AT_ONCE):
        budget.step(TREES_AT_ONCE // TREES_PER_STEP)
        for place, row in enumerate(rows[first : first + TREES_AT_ONCE].tolist(), first):
            parts.setdefault(uuids[row][:2], []).append(place)
    sorted_parts = []
    for beginning in sorted(parts):
        places = np.array(parts[beginning])
        budget.step(1 + len(places) // TREES_PER_STEP)
        keys = [uuids[row] for row in rows[places].tolist()]
        sorted_parts.append(places[sorted(range(len(keys)), key=keys.__getitem__)])
    return np.concatenate(sorted_parts)
