"""The constraints between the slots of one search, judged for many ways at once."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from roost.query import CandidateQuery
from roost.search.index.columns import Integers, Mask
from roost.search.index.index import Index
from roost.search.match import GroupMatcher, Slot

# Columns of a matrix of ways, as far as it is filled -> which of the ways may go on.
Judge = Callable[[Sequence[Integers]], Mask]


class Rules:
    """The constraints between slots: the same for every tree of one search."""

    def __init__(self, index: Index, query: CandidateQuery, groups: Sequence[GroupMatcher]) -> None:
        self.index = index
        self.slots: list[Slot] = [slot for group in groups for slot in group.slots]
        self.isolate = query.isolate
        # Beside that: sets of slots in which no two have the same provider.
        self.isolated = [self._numbers(suffixes) for suffixes in query.isolated]
        self.one_provider_of_a_tree = not query.nested_aware
        self.subtrees = [self._numbers(suffixes) for suffixes in query.same_subtree]
        # The slots of a subtree, and a slot that must be filled from elsewhere.
        self.elsewhere = [
            (self._numbers(rule.inside), number)
            for rule in query.elsewhere
            for number in self._numbers(rule.outside)
        ]
        # For each set of traits of which the unsuffixed group needs one: who has it.
        self.required_together = [
            index.trait_sets.holding_any(traits)
            for group in groups
            for traits in group.required_together
        ]
        asked = [class_id for slot in self.slots for class_id in slot.demands]
        # Classes that more than one slot asks for: only there can sums exceed a capacity.
        self.contended = {class_id for class_id in asked if asked.count(class_id) > 1}

    def _numbers(self, suffixes: frozenset[str]) -> frozenset[int]:
        """The slots of these groups."""
        return frozenset(
            number
            for number, slot in enumerate(self.slots)
            if slot.group.one_provider and slot.group.suffix in suffixes
        )

    def room(self, class_id: int, rows: Integers) -> Integers:
        """How much one candidate may take in all of a class from each of these providers."""
        column = self.index.columns[class_id]
        positions = np.searchsorted(column.row[: column.count], rows)
        free = column.capacity[positions] - column.used[positions]
        room: Integers = np.minimum(free, column.max_unit[positions])
        return room

    # -- judging ways --------------------------------------------------------------------------

    def judges(self, order: Sequence[int]) -> list[list[Judge]]:
        """For each depth, what can be judged once the slot order[depth] is filled."""
        judges = [self._judges_of_slot(order, depth) for depth in range(len(order))]
        for numbers in self.subtrees:
            depths = [depth for depth, number in enumerate(order) if number in numbers]
            if len(depths) > 1:
                judges[depths[-1]].append(partial(self._share_subtree, depths))
        for numbers, number in self.elsewhere:
            depths = [depth for depth, each in enumerate(order) if each in numbers]
            outside = list(order).index(number)
            judges[max(*depths, outside)].append(partial(self._is_elsewhere, depths, outside))
        unsuffixed = [d for d, n in enumerate(order) if not self.slots[n].group.one_provider]
        for holders in self.required_together:
            judges[unsuffixed[-1]].append(partial(self._one_holds, unsuffixed, holders))
        return judges

    def _judges_of_slot(self, order: Sequence[int], depth: int) -> list[Judge]:
        slot = self.slots[order[depth]]
        judges: list[Judge] = []
        if self.isolate or self.isolated:
            earlier = [d for d in range(depth) if self._differ(order[d], order[depth])]
            judges += [partial(_differ, d, depth) for d in earlier]
        if self.one_provider_of_a_tree:
            judges += [partial(self._apart, d, depth) for d in range(depth)]
        for class_id in self.contended & slot.demands.keys():
            amounts = {
                d: self.slots[order[d]].demands[class_id]
                for d in range(depth + 1)
                if class_id in self.slots[order[d]].demands
                # Isolated groups have different providers, and need not be added up.
                and (d == depth or not self._differ(order[d], order[depth]))
            }
            if len(amounts) > 1:
                judges.append(partial(self._has_room, class_id, amounts, depth))
        return judges

    def _differ(self, one: int, other: int) -> bool:
        """Whether two slots must have different providers."""
        if any(one in numbers and other in numbers for numbers in self.isolated):
            return True
        return (
            self.isolate
            and self.slots[one].group.one_provider
            and self.slots[other].group.one_provider
        )

    def _apart(self, one: int, other: int, ways: Sequence[Integers]) -> Mask:
        """The same provider, or providers of different trees."""
        roots = self.index.rows.root
        apart: Mask = (ways[one] == ways[other]) | (roots[ways[one]] != roots[ways[other]])
        return apart

    def _has_room(
        self, class_id: int, amounts: dict[int, int], depth: int, ways: Sequence[Integers]
    ) -> Mask:
        taken = np.zeros(len(ways[depth]), dtype=np.int64)
        for d, amount in amounts.items():
            taken += (ways[d] == ways[depth]) * amount
        return taken <= self.room(class_id, ways[depth])

    def _one_holds(self, depths: Sequence[int], holders: Mask, ways: Sequence[Integers]) -> Mask:
        """One of the providers has one of the traits."""
        return _any(holders[self.index.rows.traits[ways[d]]] for d in depths)

    def _share_subtree(self, depths: Sequence[int], ways: Sequence[Integers]) -> Mask:
        """One of the providers is, or is above, each of the others."""
        low, high = _span([ways[d] for d in depths])
        last = self.index.rows.last
        return _any((ways[d] <= low) & (last[ways[d]] >= high) for d in depths)

    def _is_elsewhere(self, depths: Sequence[int], outside: int, ways: Sequence[Integers]) -> Mask:
        """The provider is not in the subtree of the others; that they share one is for others."""
        top, _ = _span([ways[d] for d in depths])
        elsewhere: Mask = (ways[outside] < top) | (ways[outside] > self.index.rows.last[top])
        return elsewhere

    def may_share_subtree(
        self, depths: Sequence[int], options: Sequence[Integers], ways: Sequence[Integers]
    ) -> Mask:
        """One of the providers, or one that can still be chosen, is above all so far."""
        filled = [d for d in depths if d < len(ways)]
        low, high = _span([ways[d] for d in filled])
        above = np.concatenate([options[d] for d in depths if d >= len(ways)])
        covers = (above <= low[:, np.newaxis]) & (
            self.index.rows.last[above] >= high[:, np.newaxis]
        )
        possible: Mask = np.logical_or.reduce(covers, axis=1)
        return possible | self._share_subtree(filled, ways)


def _differ(one: int, other: int, ways: Sequence[Integers]) -> Mask:
    differ: Mask = ways[one] != ways[other]
    return differ


def _span(rows: Sequence[Integers]) -> tuple[Integers, Integers]:
    low = high = rows[0]
    for more in rows[1:]:
        low, high = np.minimum(low, more), np.maximum(high, more)
    return low, high


def _any(masks: Iterable[Mask]) -> Mask:
    found, *more = masks
    for mask in more:
        found = found | mask
    return found
