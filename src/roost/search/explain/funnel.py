"""The funnel: rule by rule, how many trees and providers are left.

Each stage is the search itself with the rules so far and no others, so there is no second reading
of any rule here. Rules that one provider can answer are asked of all trees at once; those between
providers are asked of the trees that are left by then.
"""

from collections.abc import Sequence

import numpy as np

from roost.query import CandidateQuery, RequestGroup
from roost.reasons import OF_THE_ROOT, Rule, RuleKind, Stage
from roost.search.combine import Work
from roost.search.explain.rules import is_between_slots, rules_of, without
from roost.search.find import Search
from roost.search.index.columns import Integers, Mask
from roost.search.index.index import Index
from roost.search.match import GroupMatcher, RootTest, Slot
from roost.search.split.find import SplitSearch
from roost.search.split.parts import Part, parts_of_group

# The stage of a tree that was never lost.
SURVIVES = -1


class Funnel:
    """What each rule of a query leaves of the cloud."""

    def __init__(self, index: Index, query: CandidateQuery, work: Work | None = None) -> None:
        self.index = index
        self.query = query
        self.rules = rules_of(query)
        self.work = Work() if work is None else work
        self._end = index.rows.count
        self._sharing = index.sharing_rows()
        roots = self.roots = index.root_rows()
        # For each row, which means something for roots alone: the stage that lost the tree.
        self.lost_at = np.full(self._end, SURVIVES)
        self.stages: list[Stage] = []
        # By the number of the stage, and whether after it: who can fill a part is asked repeatedly.
        self._parts: dict[tuple[int, bool], Sequence[Part]] = {}
        self.is_cut = False  # whether a search of some stage gave up
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

    def parts_at(self, number: int, rule: Rule, *, after: bool) -> Sequence[Part]:
        """What a stage that is about a group asks, each of one provider or of several."""
        known = self._parts.get((number, after))
        if known is None:
            known = self._parts[number, after] = self._make_parts(number, rule, after=after)
        return known

    def _make_parts(self, number: int, rule: Rule, *, after: bool) -> Sequence[Part]:
        group = _group(self.until(number, after=after), rule)
        matcher = GroupMatcher(self.index, group)
        parts = parts_of_group(self.index, group, matcher)
        if rule.kind != RuleKind.RESOURCES:
            return parts
        if group.one_provider and not rule.may_split:
            # All that cannot be split comes from one provider.
            asked = [part for part in parts if not part.may_split]
        else:
            # Each class may come from another provider, so it is asked on its own.
            class_id = self.index.classes.ids[rule.names[0]]
            asked = [part for part in parts if class_id in part.slot.demands]
        return asked or [Part(self.index, Slot(matcher, {}), may_split=False)]

    # -- trees ---------------------------------------------------------------------------------

    def _passing(self, number: int, rule: Rule, roots: Integers) -> Mask:
        if not len(roots):
            return np.zeros(0, dtype=np.bool_)
        if rule.kind in OF_THE_ROOT:
            accepted = RootTest(self.index, self.until(number, after=True)).accepted(roots)
            return np.isin(roots, accepted)
        if is_between_slots(rule):
            return self._having_a_way(number, rule, roots)
        passing = np.ones(len(roots), dtype=np.bool_)
        for part in self.parts_at(number, rule, after=True):
            self.work.rows_examined += self._end
            passing &= part.can_fill(roots)
        return passing

    def _having_a_way(self, number: int, rule: Rule, roots: Integers) -> Mask:
        query = self.until(number, after=True)
        # What groups take together is asked last: it is what a full cloud fails by.
        together = rule.kind == RuleKind.CAPACITY
        if query.may_split:
            split_search = SplitSearch(self.index, query, together=together)
            having = split_search.having_a_way(roots)
            self.is_cut |= split_search.is_cut
            return having
        search = Search(self.index, query, None, None, self.work)
        if not together:
            search.rules.contended = set()
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
        for part in self.parts_at(number, rule, after=after):
            able[part.givers] = True
        return int(np.count_nonzero(able & self._available(roots)))

    def _available(self, roots: Integers) -> Mask:
        """Which rows stand in one of these trees, or lend to one."""
        rows = self.index.rows
        chosen = np.zeros(self._end, dtype=np.bool_)
        chosen[roots] = True
        available = chosen[rows.root[: self._end]]
        if len(self._sharing) and len(roots):
            sets = np.unique(rows.tree_aggregates[roots]).tolist()
            names = {name for each in sets for name in self.index.aggregate_sets.members[each]}
            for row in self._sharing.tolist():
                available[row] |= not names.isdisjoint(self.index.row_aggregates(row))
        return available


def _group(query: CandidateQuery, rule: Rule) -> RequestGroup:
    return next(group for group in query.groups if group.suffix == rule.group)
