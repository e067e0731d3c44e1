"""Slots and the providers that can fill them -> ways to fill them all, inside one tree.

Ways are produced one at a time, by backtracking that gives up a partial choice as soon as it is
hopeless. What makes that legal: capacity, isolate and "one provider of a tree" are monotonic, once
broken no further choice mends them. same_subtree and traits of the unsuffixed group are not: a
later choice can mend them, so a partial choice is given up only when no later one could.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from operator import itemgetter

from roost.query import CandidateQuery
from roost.search.index import Index
from roost.search.match import GroupMatcher, Slot

# After this many fruitless steps the search looks ahead before each further step.
PATIENCE = 64


class Work:
    """How much a search did; tests assert on it."""

    def __init__(self) -> None:
        self.rows_examined = 0
        self.trees_entered = 0
        self.choices_tried = 0


class Rules:
    """The constraints between slots: the same for every tree of one search."""

    def __init__(self, index: Index, query: CandidateQuery, groups: Sequence[GroupMatcher]) -> None:
        self.index = index
        self.slots: list[Slot] = [slot for group in groups for slot in group.slots]
        self.isolate = query.isolate
        self.one_provider_of_a_tree = not query.nested_aware
        self.subtrees = [
            frozenset(
                number
                for number, slot in enumerate(self.slots)
                if slot.group.one_provider and slot.group.suffix in suffixes
            )
            for suffixes in query.same_subtree
        ]
        self.required_together = [traits for group in groups for traits in group.required_together]
        asked: dict[int, int] = {}
        for slot in self.slots:
            for class_id in slot.demands:
                asked[class_id] = asked.get(class_id, 0) + 1
        # Classes that more than one slot asks for: only there can sums exceed a capacity.
        self.contended = {class_id for class_id, count in asked.items() if count > 1}
        self._room: dict[tuple[int, int], int] = {}

    @property
    def free_of_constraints(self) -> bool:
        return not (
            self.isolate
            or self.one_provider_of_a_tree
            or self.subtrees
            or self.required_together
            or self.contended
        )

    def room(self, row: int, class_id: int) -> int:
        """How much one candidate may take in all of a class from a provider."""
        found = self._room.get((row, class_id))
        if found is None:
            column = self.index.columns[class_id]
            position = column.position(row)
            free = int(column.capacity[position] - column.used[position])
            found = self._room[row, class_id] = min(free, int(column.max_unit[position]))
        return found


def combinations(
    rules: Rules, options: Sequence[Sequence[int]], work: Work
) -> Iterator[tuple[int, ...]]:
    """Every way to fill the slots with one of their `options` each, as rows in slot order."""
    work.trees_entered += 1
    if rules.free_of_constraints:
        for rows in product(*options):
            work.choices_tried += 1
            yield rows
        return
    # Slots with the fewest options first: a dead end shows after few steps.
    order = sorted(range(len(options)), key=lambda number: len(options[number]))
    back = [order.index(number) for number in range(len(order))]
    # itemgetter of one item gives the item, not a tuple of it.
    in_slot_order = itemgetter(*back) if len(back) > 1 else tuple
    for chosen in _Backtracking(rules, options, order, work).run():
        yield in_slot_order(chosen)


class _Backtracking:
    """One tree's search, as explicit stacks; depth d fills slot order[d]."""

    def __init__(
        self, rules: Rules, options: Sequence[Sequence[int]], order: Sequence[int], work: Work
    ) -> None:
        self.rules = rules
        self.work = work
        self.slots = [rules.slots[number] for number in order]
        self.options = [options[number] for number in order]
        self.chosen: list[int] = []
        self.taken: dict[tuple[int, int], int] = {}
        self.subtrees = [
            [depth for depth, number in enumerate(order) if number in numbers]
            for numbers in rules.subtrees
        ]
        self.trait_deadlines = self._find_trait_deadlines()
        self.rows_with = {
            class_id: {
                row
                for slot, rows in zip(self.slots, self.options, strict=True)
                if class_id in slot.demands
                for row in rows
            }
            for class_id in rules.contended
        }

    def run(self) -> Iterator[tuple[int, ...]]:
        if self.trait_deadlines is None:
            return
        depth_last = len(self.slots) - 1
        waiting = [iter(self.options[0])]
        fruitless = 0
        while waiting:
            depth = len(waiting) - 1
            row = next(waiting[-1], None)
            if row is None:
                waiting.pop()
                if self.chosen:
                    self._undo()
                continue
            self.work.choices_tried += 1
            fruitless += 1
            if not self._place(depth, row):
                continue
            if depth == depth_last:
                fruitless = 0
                yield tuple(self.chosen)
                self._undo()
            elif fruitless > PATIENCE and not self._rest_is_possible(depth + 1):
                self._undo()
            else:
                waiting.append(iter(self.options[depth + 1]))

    def _place(self, depth: int, row: int) -> bool:
        """Fill the slot at this depth, unless that is hopeless."""
        rules, slot, chosen = self.rules, self.slots[depth], self.chosen
        if rules.isolate and slot.group.one_provider and self._is_isolated(row):
            return False
        if rules.one_provider_of_a_tree:
            roots = rules.index.rows.root
            if any(other != row and roots[other] == roots[row] for other in chosen):
                return False
        for class_id, amount in slot.demands.items():
            if class_id in rules.contended:
                taken = self.taken.get((row, class_id), 0)
                if taken + amount > rules.room(row, class_id):
                    return False
        chosen.append(row)
        hopeful = all(
            self._subtree_is_possible(depths, depth) for depths in self.subtrees if depth in depths
        ) and self._traits_are_possible(depth)
        if not hopeful:
            chosen.pop()
            return False
        self._take(depth, row, 1)
        return True

    def _undo(self) -> None:
        row = self.chosen.pop()
        self._take(len(self.chosen), row, -1)

    def _take(self, depth: int, row: int, sign: int) -> None:
        for class_id, amount in self.slots[depth].demands.items():
            if class_id in self.rules.contended:
                key = (row, class_id)
                self.taken[key] = self.taken.get(key, 0) + sign * amount

    def _is_isolated(self, row: int) -> bool:
        return any(
            other == row and slot.group.one_provider
            for other, slot in zip(self.chosen, self.slots, strict=False)
        )

    def _subtree_is_possible(self, depths: Sequence[int], depth: int) -> bool:
        """Whether one of the group's providers is, or can still be, above all the others."""
        rows = [self.chosen[d] for d in depths if d <= depth]
        low, high, last = min(rows), max(rows), self.rules.index.rows.last
        if any(row <= low and last[row] >= high for row in rows):
            return True
        return any(
            row <= low and last[row] >= high
            for later in depths
            if later > depth
            for row in self.options[later]
        )

    def _find_trait_deadlines(self) -> list[tuple[int, frozenset[int]]] | None:
        """For each trait rule the last depth at which it can still be met; None: it cannot be."""
        deadlines = []
        for traits in self.rules.required_together:
            depths = [
                depth
                for depth, slot in enumerate(self.slots)
                if not slot.group.one_provider
                and any(self._has_trait(row, traits) for row in self.options[depth])
            ]
            if not depths:
                return None
            deadlines.append((depths[-1], traits))
        return deadlines

    def _has_trait(self, row: int, traits: frozenset[int]) -> bool:
        return not traits.isdisjoint(self.rules.index.row_traits(row))

    def _traits_are_possible(self, depth: int) -> bool:
        return all(
            depth != deadline
            or any(
                self._has_trait(row, traits)
                for row, slot in zip(self.chosen, self.slots, strict=False)
                if not slot.group.one_provider
            )
            for deadline, traits in self.trait_deadlines or ()
        )

    def _rest_is_possible(self, depth: int) -> bool:
        """Whether the slots from `depth` on can each find a provider, sharing only what is left.

        A matching of slots to providers, where a provider takes no more slots than isolate or its
        room allows. Necessary, not sufficient: it ends hopeless searches early.
        """
        rest = [d for d in range(depth, len(self.slots)) if self._competes(d)]
        taken_by: dict[int, list[int]] = {}

        def assign(slot_depth: int, visited: set[int]) -> bool:
            for row in self.options[slot_depth]:
                if row in visited or not self._could_place(slot_depth, row):
                    continue
                visited.add(row)
                holders = taken_by.setdefault(row, [])
                if len(holders) < self._places_left(row, rest):
                    holders.append(slot_depth)
                    return True
                for position, holder in enumerate(holders):
                    if assign(holder, visited):
                        holders[position] = slot_depth
                        return True
            return False

        return all(assign(d, set()) for d in rest)

    def _competes(self, depth: int) -> bool:
        slot = self.slots[depth]
        if self.rules.isolate:
            return slot.group.one_provider
        return not self.rules.contended.isdisjoint(slot.demands)

    def _could_place(self, depth: int, row: int) -> bool:
        if self.rules.isolate and self._is_isolated(row):
            return False
        return all(
            self.taken.get((row, class_id), 0) + amount <= self.rules.room(row, class_id)
            for class_id, amount in self.slots[depth].demands.items()
            if class_id in self.rules.contended
        )

    def _places_left(self, row: int, rest: Sequence[int]) -> int:
        """An upper bound of how many of the slots in `rest` the provider can fill."""
        if self.rules.isolate:
            return 1
        bound = len(rest)
        for class_id in self.rules.contended:
            amounts = sorted(
                self.slots[d].demands[class_id] for d in rest if class_id in self.slots[d].demands
            )
            if not amounts or row not in self.rows_with[class_id]:
                continue
            left = self.rules.room(row, class_id) - self.taken.get((row, class_id), 0)
            count = 0
            for amount in amounts:
                if amount > left:
                    break
                left -= amount
                count += 1
            bound = min(bound, len(rest) - len(amounts) + count)
        return bound
