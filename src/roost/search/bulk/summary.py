"""What the cloud has: sums over providers, in all, by aggregate, and by trait of the root.

Providers are not added up for each aggregate or trait. They are added up for each distinct set of
them, of which there are few, and then the sums of a set count for each of its members.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from roost.model import ClassSummary, GroupSummary, Summary
from roost.search.budget import Budget
from roost.search.index.columns import ClassColumn, Integers, ragged_range
from roost.search.index.index import Index

# Rows of numbers, one for each group: of 64 bits, or Python's own where those might not suffice.
Sums = npt.NDArray[Any]

# How many rows are added up in a step of the budget, and how many names are looked at.
ROWS_PER_STEP = 128
NAMES_PER_STEP = 32


def summarize(
    index: Index,
    *,
    by: Collection[str] = (),
    classes: Collection[str] | None = None,
    budget: Budget | None = None,
) -> Summary:
    """Add up all inventories, or those of some classes.

    `by` may name `aggregates`: a provider counts for an aggregate if it or the root of its tree is
    a member. And `traits`: it counts for a trait that the root of its tree has.
    """
    budget = Budget() if budget is None else budget
    aggregates = _Division(_by_aggregates(index), budget) if "aggregates" in by else None
    traits = _Division(_by_root_traits(index), budget) if "traits" in by else None
    resources: dict[str, ClassSummary] = {}
    for class_id in sorted(index.columns):
        name = index.classes.names.get(class_id, "")
        if not name or (classes is not None and name not in classes):
            continue
        # It has an end, so it is not given up; but others may go first.
        budget.finish(1 + index.columns[class_id].count // ROWS_PER_STEP)
        rows, values = _inventories(index.columns[class_id])
        if len(rows):
            resources[name] = ClassSummary(*values.sum(axis=0).tolist())
            for division in filter(None, (aggregates, traits)):
                division.add_class(name, rows, values)
    return Summary(
        providers=index.live_count,
        trees=len(index.root_rows()),
        resources=resources,
        aggregates=None if aggregates is None else aggregates.result(index, _tree_aggregates),
        traits=None if traits is None else traits.result(index, _root_traits),
    )


def _inventories(column: ClassColumn) -> tuple[Integers, Sums]:
    """The rows of the inventories of a class, and the fields of `ClassSummary` for each."""
    live = np.flatnonzero(column.capacity[: column.count] >= 0)
    capacity, used = column.capacity[live], column.used[live]
    fields = (
        column.total[live],
        column.reserved[live],
        capacity,
        used,
        np.maximum(capacity - used, 0),
        np.ones(len(live), dtype=np.int64),
    )
    values: Sums = np.stack(fields, axis=1).astype(np.int64)
    if len(live) and int(values.max()) > np.iinfo(np.int64).max // len(live):
        values = values.astype(object)
    return column.row[live], values


# ---------------------------------------------------------------------------------------------
# Groups


class _Sets:
    """Numbered sets of names, and which rows have which."""

    def __init__(self, number: Integers, members: Callable[[int], Collection[str]]) -> None:
        """`number` is that of the set for each row, -1 for none; `members` are those of a set."""
        self.number = number
        self.members = members


class _Division:
    """Providers divided by names, of which each may have several."""

    def __init__(self, parts: Sequence[_Sets], budget: Budget) -> None:
        """A provider has the names of its set in each part, and never the same name twice."""
        self._budget = budget
        self._labels: dict[str, int] = {}  # the number of each name
        self._parts = [(part.number, self._spread(part.number, part)) for part in parts]
        self._resources: dict[int, dict[str, ClassSummary]] = {}

    def _spread(self, number: Integers, sets: _Sets) -> "_Spread":
        used = np.unique(number[number >= 0]).tolist()
        members = [sets.members(each) for each in used]
        names = list(chain.from_iterable(members))
        self._budget.finish(1 + (len(used) + len(names)) // NAMES_PER_STEP)
        for name in dict.fromkeys(names):
            self._labels.setdefault(name, len(self._labels))
        return _Spread(used, list(map(len, members)), list(map(self._labels.__getitem__, names)))

    def add_class(self, name: str, rows: Integers, values: Sums) -> None:
        self._budget.finish(1 + len(rows) // ROWS_PER_STEP)
        labels, sums = self._sum(rows, values)
        for label, fields in zip(labels.tolist(), sums.tolist(), strict=True):
            self._resources.setdefault(label, {})[name] = ClassSummary(*fields)

    def _sum(self, rows: Integers, values: Sums) -> tuple[Integers, Sums]:
        parts = []
        for number, spread in self._parts:
            numbers = number[rows]
            having = np.flatnonzero(numbers >= 0)
            some = values if len(having) == len(rows) else values[having]
            parts.append(spread.sums(*_sum_by(numbers[having], some)))
        labels, sums = zip(*parts, strict=True)
        return _sum_by(np.concatenate(labels), np.concatenate(sums))

    def result(self, index: Index, trees_of: Callable[[Index], _Sets]) -> dict[str, GroupSummary]:
        """Each group, by name; `trees_of` says which names each tree counts for."""
        live = np.flatnonzero(index.live_rows())
        self._budget.finish(1 + len(live) // ROWS_PER_STEP)
        providers = self._count(*self._sum(live, np.ones((len(live), 1), dtype=np.int64)))
        sets, roots = trees_of(index), index.root_rows()
        numbers = sets.number[roots]
        spread = self._spread(numbers, sets)
        ones = np.ones((len(roots), 1), dtype=np.int64)
        trees = self._count(*_sum_by(*spread.sums(*_sum_by(numbers, ones))))
        return {
            name: GroupSummary(
                providers=providers.get(label, 0),
                trees=trees.get(label, 0),
                resources=self._resources.get(label, {}),
            )
            for name, label in sorted(self._labels.items())
        }

    def _count(self, labels: Integers, sums: Sums) -> dict[int, int]:
        return dict(zip(labels.tolist(), sums[:, 0].tolist(), strict=True))


class _Spread:
    """From sums for sets to sums for their members."""

    def __init__(self, sets: Sequence[int], counts: Sequence[int], labels: Sequence[int]) -> None:
        """The number of each set, ascending, how many members it has, and those of all sets."""
        self._sets = np.array(sets, dtype=np.int64)
        self._counts = np.array(counts, dtype=np.int64)
        self._starts = np.cumsum(self._counts) - self._counts
        self._labels = np.array(labels, dtype=np.int64)

    def sums(self, sets: Integers, sums: Sums) -> tuple[Integers, Sums]:
        """A label and a row of sums for each member of each of these sets."""
        at = np.searchsorted(self._sets, sets)
        counts = self._counts[at]
        labels = self._labels[ragged_range(self._starts[at], counts)]
        return labels, np.repeat(sums, counts, axis=0)


def _sum_by(groups: Integers, values: Sums) -> tuple[Integers, Sums]:
    """The groups that occur, ascending, and the sums of the rows of values in each."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    if not len(starts):
        return ordered, values[:0]
    return ordered[starts], np.add.reduceat(values[order], starts, axis=0)


# ---------------------------------------------------------------------------------------------
# What divides providers


def _root_traits(index: Index) -> _Sets:
    rows, names = index.rows, index.traits.names
    return _Sets(
        rows.traits[rows.root[: rows.count]],
        lambda number: [names[each] for each in index.trait_sets.members[number]],
    )


def _by_root_traits(index: Index) -> list[_Sets]:
    traits = _root_traits(index)
    return [_Sets(np.where(index.live_rows(), traits.number, -1), traits.members)]


def _by_aggregates(index: Index) -> list[_Sets]:
    """Those of the root of each provider, and then its own that the root does not have."""
    rows, sets = index.rows, index.aggregate_sets
    members, count = sets.members, sets.count
    own, above = rows.aggregates[: rows.count], rows.aggregates[rows.root[: rows.count]]
    live = index.live_rows()
    of_root = np.where(live, above, -1)
    has_some = np.fromiter((bool(each) for each in members[:count]), dtype=np.bool_, count=count)
    differs = live & has_some[own] & (own != above)
    # A number for each pair of sets that occurs.
    pairs, number = np.unique(
        own[differs].astype(np.int64) * count + above[differs], return_inverse=True
    )
    of_pair = np.full(rows.count, -1)
    of_pair[differs] = number

    def members_below(pair: int) -> Collection[str]:
        below, root = divmod(int(pairs[pair]), count)
        known = frozenset(members[root])
        return [name for name in members[below] if name not in known]

    return [_Sets(of_root, members.__getitem__), _Sets(of_pair, members_below)]


def _tree_aggregates(index: Index) -> _Sets:
    number = index.rows.tree_aggregates[: index.rows.count]
    return _Sets(number, index.aggregate_sets.members.__getitem__)
