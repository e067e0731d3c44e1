"""The funnel: rule by rule, how many trees and providers are left.

Each stage is the search itself with the rules so far and no others, so no rule is implemented again
here. Rules about single providers are checked for all trees at once; those between providers only
for the trees that are left by then.
"""

from collections.abc import Sequence

import numpy as np

from roost.query import CandidateQuery, RequestGroup
from roost.reasons import OF_THE_ROOT, Rule, RuleKind, Stage
from roost.search.budget import Budget
from roost.search.explain.rules import decompose, is_between_slots, without
from roost.search.find import Search
from roost.search.index.columns import Integers, Mask
from roost.search.index.index import Index
from roost.search.match import GroupMatcher, RootTest, Slot
from roost.search.split.search import SplitSearch
from roost.search.split.slots import SplitSlot, slots_of_group

# The stage of a tree that was never lost.
SURVIVES = -1


class Funnel:
    """What each rule of a query leaves of the cloud."""

    def __init__(self, index: Index, query: CandidateQuery, budget: Budget | None = None) -> None:
        self.index = index
        self.query = query
        self.rules = decompose(query)
        self.budget = Budget() if budget is None else budget
        self._end = index.rows.count
        self._sharing = index.sharing_rows()
        roots = self.roots = index.root_rows()
        # For the row of each root: the stage that lost the tree. Other rows mean nothing.
        self.lost_at = np.full(self._end, SURVIVES)
        self.stages: list[Stage] = []
        # By the number of the stage, and whether after it: they are needed repeatedly.
        self._slots: dict[tuple[int, bool], Sequence[SplitSlot]] = {}
        self.gave_up = False  # whether the search of some stage gave up
        for number, rule in enumerate(self.rules):
            left = roots[self._passing(number, rule, roots)]
            self.lost_at[np.setdiff1d(roots, left, assume_unique=True)] = number
            self.stages.append(
                Stage(
                    rule=rule,
                    trees_in=len(roots),
                    trees_out=len(left),
                    providers_in=self._provider_count(number, rule, roots, after=False),
                    providers_out=self._provider_count(number, rule, left, after=True),
                )
            )
            roots = left
        self.left = roots

    def until(self, number: int, *, after: bool) -> CandidateQuery:
        """The query with the rules before the stage alone, or also with that of the stage."""
        return without(self.query, self.rules[number + after :])

    def slots_at(self, number: int, rule: Rule, *, after: bool) -> Sequence[SplitSlot]:
        """The slots of its group that a stage checks, before or after its rule."""
        known = self._slots.get((number, after))
        if known is None:
            known = self._slots[number, after] = self._make_slots(number, rule, after=after)
        return known

    def _make_slots(self, number: int, rule: Rule, *, after: bool) -> Sequence[SplitSlot]:
        group = _group(self.until(number, after=after), rule)
        slots = slots_of_group(self.index, group)
        if rule.kind != RuleKind.RESOURCES:
            return slots
        if group.one_provider and not rule.may_split:
            # One provider serves everything that cannot be split.
            checked = [each for each in slots if not each.may_split]
        else:
            # Each class may come from another provider, so it is checked on its own.
            class_id = self.index.classes.ids[rule.names[0]]
            checked = [each for each in slots if class_id in each.slot.demands]
        if checked:
            return checked
        nothing = Slot(GroupMatcher(self.index, group, is_complete=False), {})
        return [SplitSlot(self.index, nothing, may_split=False)]

    # -- trees ---------------------------------------------------------------------------------

    def _passing(self, number: int, rule: Rule, roots: Integers) -> Mask:
        if not len(roots):
            return np.zeros(0, dtype=np.bool_)
        if rule.kind in OF_THE_ROOT:
            accepted = RootTest(self.index, self.until(number, after=True)).accepted(roots)
            return np.isin(roots, accepted)
        if is_between_slots(rule):
            return self._has_way(number, rule, roots)
        passing = np.ones(len(roots), dtype=np.bool_)
        for slot in self.slots_at(number, rule, after=True):
            self.budget.examine_rows(self._end)
            passing &= slot.can_fill(roots)
        return passing

    def _has_way(self, number: int, rule: Rule, roots: Integers) -> Mask:
        query = self.until(number, after=True)
        # What groups take together is checked last: it is where a full cloud fails.
        together = rule.kind == RuleKind.CAPACITY
        if query.may_split:
            split_search = SplitSearch(self.index, query, together=together, budget=self.budget)
            having = split_search.has_way(roots)
            self.gave_up |= split_search.gave_up
            return having
        search = Search(self.index, query, together=together, budget=self.budget)
        found = np.zeros(self._end, dtype=np.bool_)
        for combination in search.batches():
            found[combination.options.roots[combination.possible()]] = True
        return found[roots]

    # -- providers -----------------------------------------------------------------------------

    def _provider_count(self, number: int, rule: Rule, roots: Integers, *, after: bool) -> int:
        rows = self.index.rows
        if rule.group is None or is_between_slots(rule):
            return int((rows.last[roots] - roots + 1).sum())
        able = np.zeros(self._end, dtype=np.bool_)
        shared = False
        for slot in self.slots_at(number, rule, after=after):
            able[slot.able_rows] = True
            shared |= not slot.slot.group.anywhere
        return int(np.count_nonzero(able & self._available(roots, shared=shared)))

    def _available(self, roots: Integers, *, shared: bool) -> Mask:
        """Which rows belong to one of these trees, or share with one."""
        rows = self.index.rows
        chosen = np.zeros(self._end, dtype=np.bool_)
        chosen[roots] = True
        available = chosen[rows.root[: self._end]]
        if shared and len(self._sharing) and len(roots):
            sets = np.unique(rows.tree_aggregates[roots]).tolist()
            names = {name for each in sets for name in self.index.aggregate_sets.members[each]}
            for row in self._sharing.tolist():
                available[row] |= not names.isdisjoint(self.index.row_aggregates(row))
        return available


def _group(query: CandidateQuery, rule: Rule) -> RequestGroup:
    return next(group for group in query.groups if group.suffix == rule.group)
