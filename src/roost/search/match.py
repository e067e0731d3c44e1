"""One request group -> the providers that can serve it.

A group becomes slots: one for each class of the unsuffixed group, one for the whole of a suffixed
group, and one for an unsuffixed group without resources. A slot is filled by one provider; this
module says which providers can.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from roost.model import INTEGER_MAX
from roost.query import AggregateRule, CandidateQuery, ProviderQuery, RequestGroup, TraitRule
from roost.search.budget import Budget
from roost.search.index.columns import ClassColumn, Integers, Mask
from roost.search.index.index import Index

EMPTY: Integers = np.empty(0, dtype=np.int64)

# For how many combinations of classes it is known which sharing providers have them.
HOLDERS_CACHED = 256


class Slot:
    """What one provider is asked for: a class of the unsuffixed group, or a whole suffixed one."""

    def __init__(self, group: "GroupMatcher", demands: Mapping[int, int]) -> None:
        self.group = group
        self.demands = demands  # class id -> amount; empty for a resourceless group

    def local(self, index: Index, first: int, end: int, budget: Budget | None = None) -> Integers:
        """The rows from `first` up to `end` that can fill the slot for their own tree."""
        rows = EMPTY
        if not self.demands:
            rows = np.flatnonzero(index.rows.live[first:end]) + first
        for number, (class_id, amount) in enumerate(self.demands.items()):
            column = index.columns.get(class_id)
            if column is None:
                return EMPTY
            if budget is not None:
                budget.pass_over_rows(end - first)
            span = column.span(first, end)
            fitting = column.row[span][fits_mask(column, span, amount)]
            if number:
                # Rows that are in both are found by marking: they are close together.
                seen = np.zeros(end - first, dtype=np.bool_)
                seen[rows - first] = True
                fitting = fitting[seen[fitting - first]]
            rows = fitting
        return rows[self.group.accepts(index, rows)] if self.group.has_rules else rows

    def tried(self, index: Index, rows: Integers) -> Integers:
        """Those of the rows, which ascend and can fill the slot, that are tried for it.

        It makes no difference which provider of a tree meets a group that takes nothing, so the
        first one of each tree, from the root down, stands for all.
        """
        if not self.group.anywhere:
            return rows
        return rows[np.flatnonzero(np.diff(index.rows.root[rows], prepend=-1))]

    def shared(self, index: Index, sharing: Integers) -> Integers:
        """Those of the `sharing` rows that can fill the slot for other trees."""
        if not self.group.may_be_shared:
            return EMPTY
        # Most classes are not shared, and that is seen before any amount is compared.
        rows, positions = self._holders(index, sharing)
        if not len(rows):
            return rows
        fitting = self.group.accepts(index, rows)
        for (class_id, amount), where in zip(self.demands.items(), positions, strict=True):
            fitting &= fits_mask(index.columns[class_id], where, amount)
        return rows[fitting]

    def _holders(self, index: Index, sharing: Integers) -> tuple[Integers, Sequence[Integers]]:
        """The sharing rows that have inventories of all classes, and where in each column.

        The index caches them as long as the same providers share: until then none of them gets an
        inventory or loses one, and columns grow at their ends only.
        """
        cached, classes = index.sharing.cache.holders, tuple(self.demands)
        holders = cached.get(classes)
        if holders is None:
            rows = sharing
            for class_id in classes:
                holding = index.class_sets.holding_any([class_id])
                rows = rows[holding[index.rows.classes[rows]]]
            positions = [
                index.columns[each].positions(rows.tolist())[0] for each in classes if len(rows)
            ]
            if len(cached) >= HOLDERS_CACHED:
                cached.clear()
            holders = cached[classes] = rows, positions
        return holders

    def fits(self, index: Index, rows: Integers, but: int | None = None) -> Mask:
        """Which of the rows, which may be anywhere, can fill the slot; `but` for one class."""
        fitting = self.group.accepts(index, rows)
        for class_id, amount in self.demands.items():
            if class_id == but:
                continue
            column = index.columns.get(class_id)
            if column is None or not column.count:
                return np.zeros(len(rows), dtype=np.bool_)
            # With numbers of another type, numpy would convert the whole column first.
            positions = column.row[: column.count].searchsorted(rows.astype(np.int32))
            positions = np.minimum(positions, column.count - 1)
            fitting &= column.row[positions] == rows
            fitting &= fits_mask(column, positions, amount)
        return fitting


class GroupMatcher:
    """The rules of one group, prepared to be checked for many rows at once."""

    def __init__(
        self,
        index: Index,
        group: RequestGroup,
        *,
        is_complete: bool = True,
        budget: Budget | None = None,
    ) -> None:
        """A group that is not complete lacks classes that the request asks for."""
        budget = Budget() if budget is None else budget
        self.suffix = group.suffix
        self.one_provider = group.one_provider
        self.anywhere = group.anywhere and is_complete
        # A tree to which the unsuffixed group is bound serves the other groups too, even where a
        # provider of it shares with other trees.
        is_bound = group.in_tree is not None or group.in_subtree is not None
        self.may_be_shared = group.one_provider or not (is_bound or self.anywhere)
        alone = group.one_provider or self.anywhere
        required = group.traits.required
        # Each required set as trait ids. The providers of the unsuffixed group must meet them
        # together, so that is a constraint between slots; what is forbidden is forbidden to each.
        self.required_together: tuple[frozenset[int], ...] = ()
        if not alone:
            self.required_together = tuple(
                frozenset(index.traits.ids[name] for name in names) for names in required
            )
        on_each = group.traits if alone else TraitRule(forbidden=group.traits.forbidden)
        self._traits = trait_sets_accepted(index, on_each, budget) if on_each else None
        self._aggregates = (
            AggregateTest(index, group.aggregates, budget) if group.aggregates else None
        )
        # The only rows that may serve it, or None.
        self.range = _rows_allowed(index, group)
        # Whether `accepts` may refuse a row.
        self.has_rules = any(
            each is not None for each in (self._traits, self._aggregates, self.range)
        )
        demands = {index.classes.ids[name]: amount for name, amount in group.resources.items()}
        # What each slot takes. Slots know their group, so the group does not keep them.
        self._demands = [demands] if alone else [{each: demands[each]} for each in demands]

    def make_slots(self) -> "list[Slot]":
        return [Slot(self, demands) for demands in self._demands]

    def accepts(self, index: Index, rows: Integers) -> Mask:
        """Which of the rows meet the rules on traits, aggregates and tree."""
        accepted = np.ones(len(rows), dtype=np.bool_)
        if self._traits is not None:
            accepted &= self._traits[index.rows.traits[rows]]
        if self._aggregates is not None:
            # An aggregate on a root spans its whole tree, but not for suffixed groups.
            accepted &= self._aggregates.accepts(index, rows, spanning=not self.one_provider)
        if self.range is not None:
            accepted &= (rows >= self.range.start) & (rows < self.range.stop)
        return accepted


def what_it_asks(group: RequestGroup) -> object:
    """What a provider must have to serve a suffixed group alone; hashable."""
    return (
        tuple(sorted(group.resources.items())),
        group.traits,
        group.aggregates,
        group.in_tree,
        group.in_subtree,
    )


def same_as(groups: Iterable[RequestGroup], slots: Iterable[Slot]) -> list[int]:
    """For each slot the first one that the same providers can fill: groups may be equal."""
    asked = {group.suffix: what_it_asks(group) for group in groups if group.one_provider}
    firsts: dict[object, int] = {}
    return [
        firsts.setdefault(asked.get(slot.group.suffix, number), number)
        for number, slot in enumerate(slots)
    ]


def _rows_allowed(index: Index, group: RequestGroup) -> range | None:
    """The only rows that a group may take from, or None: a tree and a subtree are adjacent."""
    allowed: range | None = None
    if group.in_tree is not None:
        row = index.row_of_uuid.get(group.in_tree)
        allowed = range(0) if row is None else index.tree_rows(row)
    if group.in_subtree is not None:
        row = index.row_of_uuid.get(group.in_subtree)
        subtree = range(0) if row is None else index.subtree_rows(row)
        # One holds the other, or they have nothing in common.
        allowed = subtree if allowed is None or subtree.start in allowed else range(0)
    return allowed


class AggregateTest:
    """A rule on aggregates, prepared to be checked for many rows at once."""

    def __init__(self, index: Index, rule: AggregateRule, budget: Budget) -> None:
        sets = index.aggregate_sets
        self._required = []
        for names in rule.required:
            budget.compare_sets(len(sets.members))
            self._required.append(sets.holding_any(names))
        self._forbidden = sets.holding_any(rule.forbidden)

    def accepts(self, index: Index, rows: Integers, *, spanning: bool) -> Mask:
        numbers = index.rows.aggregates
        own, above = numbers[rows], numbers[index.rows.root[rows]] if spanning else None

        def member(sets: Mask) -> Mask:
            return sets[own] if above is None else sets[own] | sets[above]

        accepted = ~member(self._forbidden)
        for sets in self._required:
            accepted &= member(sets)
        return accepted


class RootTest:
    """What the root of a tree must be, prepared to be checked for many roots at once."""

    def __init__(self, index: Index, query: CandidateQuery, budget: Budget | None = None) -> None:
        self._index = index
        budget = Budget() if budget is None else budget
        traits, aggregates = query.root_traits, query.root_aggregates
        self._traits = trait_sets_accepted(index, traits, budget) if traits else None
        self._aggregates = AggregateTest(index, aggregates, budget) if aggregates else None

    def accepted(self, roots: Integers) -> Integers:
        """Those of the roots that meet the rules."""
        if self._traits is not None:
            roots = roots[self._traits[self._index.rows.traits[roots]]]
        if self._aggregates is not None:
            roots = roots[self._aggregates.accepts(self._index, roots, spanning=False)]
        return roots


def matching_providers(
    index: Index, query: ProviderQuery, budget: Budget | None = None
) -> Integers:
    """The rows of the providers that meet a list query, each on its own.

    Refuses a `tree` that no provider is in. A query about one provider or one tree examines that
    alone.
    """
    # A listed provider meets every rule alone, just as one that serves a suffixed group.
    group = RequestGroup(
        suffix="listed",
        resources=query.resources,
        traits=query.traits,
        aggregates=query.aggregates,
        in_tree=query.in_tree,
    )
    ranges = [range(index.rows.count)]
    if query.tree is not None:
        ranges.append(index.tree_rows(index.row(query.tree)))
    for key, rows_of in ((query.uuid, index.row_of_uuid), (query.name, index.row_of_name)):
        if key is not None:
            row = rows_of.get(key)
            ranges.append(range(0) if row is None else range(row, row + 1))
    (slot,) = (matcher := GroupMatcher(index, group)).make_slots()
    if matcher.range is not None:
        ranges.append(matcher.range)
    first, end = max(each.start for each in ranges), min(each.stop for each in ranges)
    if first >= end:
        return EMPTY
    if budget is not None:
        budget.examine_rows(end - first)
    return slot.local(index, first, end, budget)


def trait_sets_accepted(index: Index, rule: TraitRule, budget: Budget) -> Mask:
    """For each set of traits in the index: whether a provider with it meets the rule."""
    sets, ids = index.trait_sets, index.traits.ids
    accepted = ~sets.holding_any(ids[name] for name in rule.forbidden)
    for names in rule.required:
        budget.compare_sets(len(sets.members))
        accepted &= sets.holding_any(ids[name] for name in names)
    return accepted


def fits_mask(column: ClassColumn, where: slice | Integers, amount: int) -> Mask:
    """`model.fits` for many inventories at once."""
    if amount > INTEGER_MAX:
        # More than any max_unit, and more than some columns can compute with.
        return np.zeros(len(column.row[where]), dtype=np.bool_)
    fitting: Mask = column.capacity[where] - column.used[where] >= amount
    if column.units.allow(amount):
        return fitting
    fitting &= column.min_unit[where] <= amount
    fitting &= column.max_unit[where] >= amount
    fitting &= amount % column.step_size[where] == 0
    return fitting
