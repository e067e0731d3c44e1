"""The funnel: rule by rule, how many trees and providers are left.

Each stage is the search itself with the rules so far and no others, so no rule is implemented again
here. Rules about single providers are checked for all trees at once; those between providers only
for the trees that are left by then.
"""

from collections.abc import Sequence

import numpy as np

from roost.query import CandidateQuery
from roost.reasons import OF_THE_ROOT, Rule, RuleKind, Stage
from roost.search.budget import Budget, GaveUp
from roost.search.explain.rules import decompose, group_without, is_between_slots, without
from roost.search.find import Search
from roost.search.index.columns import Integers, Mask
from roost.search.index.index import Index
from roost.search.match import GroupMatcher, RootTest, Slot
from roost.search.split.search import SplitSearch
from roost.search.split.slots import SplitSlot, slots_of_group

# How many rules are taken out in the time of one step.
RULES_PER_STEP = 8
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
        self.roots = self.left = index.root_rows()
        # For the row of each root: the stage that lost the tree. Other rows mean nothing.
        self.lost_at = np.full(self._end, SURVIVES)
        # For the row of each root: whether the last stage may have to lose the tree.
        self._is_unknown = np.zeros(self._end, dtype=np.bool_)
        self.stages: list[Stage] = []
        # By the number of the stage, and whether after it: they are needed repeatedly.
        self._slots: dict[int, dict[bool, Sequence[SplitSlot]]] = {}
        self._rules_by_group: dict[str | None, list[tuple[int, Rule]]] = {}
        for number, rule in enumerate(self.rules):
            self._rules_by_group.setdefault(rule.group, []).append((number, rule))
        try:
            for number, rule in enumerate(self.rules):
                self._apply(number, rule)
        except GaveUp:
            # The stages so far are right, and the others are left out.
            pass

    def _apply(self, number: int, rule: Rule) -> None:
        """Examine one more stage: all of it, or nothing."""
        roots = self.left
        passing, unknown = self._passing(number, rule, roots)
        # What was not found out loses no tree.
        left = roots[passing | unknown]
        stage = Stage(
            rule=rule,
            trees_in=len(roots),
            trees_out=len(left),
            providers_in=self._provider_count(number, rule, roots, after=False),
            providers_out=self._provider_count(number, rule, left, after=True),
        )
        self.lost_at[np.setdiff1d(roots, left, assume_unique=True)] = number
        if is_between_slots(rule):
            # A way that meets all rules so far was found, or was not.
            self._is_unknown[roots] = unknown
        else:
            self._is_unknown[roots] |= unknown
        self.left = left
        self.stages.append(stage)
        # Slots hold many rows, so only those of the last stage that lost trees are kept: they say
        # why the nearest trees were lost.
        kept = (number,) if len(left) < len(roots) else self._slots.keys() - {number}
        self._slots = {key: slots for key, slots in self._slots.items() if key in kept}

    @property
    def is_complete(self) -> bool:
        """Whether every stage was examined, and is certain."""
        return len(self.stages) == len(self.rules) and not self._is_unknown[self.left].any()

    def fits(self, root: int | None) -> bool | None:
        """Whether some tree, or that of this root, passes every stage; None: not found out."""
        left = self.left if root is None else self.left[self.left == root]
        if not len(left):
            return False
        is_certain = len(self.stages) == len(self.rules) and not self._is_unknown[left].all()
        return True if is_certain else None

    def until(self, number: int, *, after: bool) -> CandidateQuery:
        """The query with the rules before the stage alone, or also with that of the stage."""
        taken_out = self.rules[number + after :]
        self.budget.step(1 + (len(taken_out) + len(self.query.groups)) // RULES_PER_STEP)
        return without(self.query, taken_out)

    def _later_rules(self, number: int, suffix: str | None, *, after: bool) -> list[Rule]:
        """The rules of one group, or of none, from a stage on, or from the next stage on."""
        # A request may have thousands of rules, but few of each group.
        rules = self._rules_by_group[suffix]
        self.budget.step(1 + len(rules) // RULES_PER_STEP)
        return [rule for each, rule in rules if each >= number + after]

    def slots_at(self, number: int, rule: Rule, *, after: bool) -> Sequence[SplitSlot]:
        """The slots of its group that a stage checks, before or after its rule."""
        of_stage = self._slots.setdefault(number, {})
        if after not in of_stage:
            of_stage[after] = self._make_slots(number, rule, after=after)
        return of_stage[after]

    def _make_slots(self, number: int, rule: Rule, *, after: bool) -> Sequence[SplitSlot]:
        self.budget.examine_rows(self._end)
        group = next(each for each in self.query.groups if each.suffix == rule.group)
        group = group_without(group, self._later_rules(number, rule.group, after=after))
        slots = slots_of_group(self.index, group, self.budget)
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
        nothing = Slot(GroupMatcher(self.index, group, is_complete=False, budget=self.budget), {})
        return [SplitSlot(self.index, nothing, may_split=False)]

    # -- trees ---------------------------------------------------------------------------------

    def _passing(self, number: int, rule: Rule, roots: Integers) -> tuple[Mask, Mask]:
        """Which trees pass a stage, and of which that was not found out."""
        nothing = np.zeros(len(roots), dtype=np.bool_)
        if not len(roots):
            return nothing, nothing
        self.budget.examine_rows(self._end)
        if rule.kind in OF_THE_ROOT:
            query = without(self.query, self._later_rules(number, None, after=True))
            accepted = RootTest(self.index, query, self.budget).accepted(roots)
            return np.isin(roots, accepted), nothing
        if is_between_slots(rule):
            return self._has_way(number, rule, roots)
        passing, unknown = np.ones(len(roots), dtype=np.bool_), nothing
        for slot in self.slots_at(number, rule, after=True):
            self.budget.examine_rows(self._end)
            able, not_known = slot.can_fill(roots, self.budget)
            passing &= able | not_known
            unknown = unknown | not_known
        return passing & ~unknown, passing & unknown

    def _has_way(self, number: int, rule: Rule, roots: Integers) -> tuple[Mask, Mask]:
        query = self.until(number, after=True)
        # What groups take together is checked last: it is where a full cloud fails.
        together = rule.kind == RuleKind.CAPACITY
        if query.may_split:
            split_search = SplitSearch(self.index, query, together=together, budget=self.budget)
            return split_search.has_way(roots)
        search = Search(self.index, query, together=together, budget=self.budget)
        found = np.zeros(self._end, dtype=np.bool_)
        for combination in search.batches():
            found[combination.options.roots[combination.possible()]] = True
        return found[roots], np.zeros(len(roots), dtype=np.bool_)

    # -- providers -----------------------------------------------------------------------------

    def _provider_count(self, number: int, rule: Rule, roots: Integers, *, after: bool) -> int:
        rows = self.index.rows
        self.budget.examine_rows(self._end)
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
            self.budget.step(len(self._sharing))
            for row in self._sharing.tolist():
                available[row] |= not names.isdisjoint(self.index.row_aggregates(row))
        return available
