"""Does a tree have a way at all? Decided without trying twice what makes no difference.

It makes none in which order equal groups are filled, or which of several equal providers one takes.
So a state is what is left: how many slots of each kind, which providers they can still have, and
what room those have. Providers that look the same in it are interchangeable, and a state that was
decided before, in whatever order it was reached, is not examined again; not even for another tree
that looks the same. Only the listing of ways tells equal groups apart (`combine.py`).

The kind of slot with the fewest options is filled first, then the one that takes most. A choice
removes options from the slots that are left, and a slot without options ends it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any

from roost.search.budget import Budget
from roost.search.hard.matching import can_match
from roost.search.hard.slot_kinds import RequestKinds, SlotKinds, TreeRows, bits_of
from roost.search.index.columns import Integers
from roost.search.request_constraints import RequestConstraints

# Beyond this many slots no decision is tried: it goes one level deeper for each, and each level
# has a state. Nor beyond this many rooms in all states together.
SLOTS_MAX = 400
ROOMS_MAX = 2**21
# How many decided states are remembered, of 100 bytes each.
STATES_MAX = 200_000
# How many rows, or kinds of slots, are a step of the budget.
ROWS_PER_STEP = 8
KINDS_PER_STEP = 16

# What matters of a row: rows that are below the same one and look the same are interchangeable.
Look = tuple[Any, ...]


class _Undecided(Exception):
    """More states were examined than the caller allows."""


class Feasibility:
    """Decides for the trees of one request, and remembers what was decided."""

    def __init__(self, constraints: RequestConstraints, budget: Budget) -> None:
        self.constraints = constraints
        self.budget = budget
        self.decided: dict[bytes, bool] = {}
        # Trees that have no way, by all that a decision depends on.
        self._hopeless: set[bytes] = set()
        # Whether a tree was searched in vain that a decision would have ruled out at once.
        self.pays_first = False

    @cached_property
    def kinds(self) -> RequestKinds:
        """Made when a tree needs it; most searches are over before."""
        return RequestKinds(self.constraints, self.budget)

    def of_tree(self, options: Sequence[Integers]) -> "TreeFeasibility | None":
        """None: too large a tree, or too many slots."""
        rows = max(map(len, options))
        rooms = len(options) * rows * (1 + len(self.constraints.joint_capacities))
        if len(options) > SLOTS_MAX or rooms > ROOMS_MAX:
            return None
        return TreeFeasibility(self, options)

    def is_known_as_hopeless(self, options: Sequence[Integers]) -> bool:
        """Whether a tree that looks exactly like this one was found to have no way."""
        return bool(self._hopeless) and self._look_of_tree(options) in self._hopeless

    def remember_as_hopeless(self, options: Sequence[Integers]) -> None:
        self._hopeless.add(self._look_of_tree(options))

    def _look_of_tree(self, options: Sequence[Integers]) -> bytes:
        """All that a decision depends on; rows count from the first one of the tree."""
        self.budget.step(1 + len(options))
        rows, look = self.constraints.index.rows, blake2b(digest_size=16)
        first = min(int(own[0]) for own in options)
        for own in options:
            for numbers in (own, rows.last[own], rows.root[own]):
                look.update((numbers - first).tobytes())
            look.update(b".")
            for each in self.constraints.traits_among_providers:
                look.update(each.holders[rows.traits[own]].tobytes())
        for joint in self.constraints.joint_capacities:
            for number in joint.slots:
                look.update(joint.room.of_rows(options[number]).tobytes())
        return look.digest()


class _State:
    """What is left after some slots of a tree have been filled."""

    def __init__(
        self, left: list[int], domains: list[int], rooms: list[list[int]], tops: list[int], met: int
    ) -> None:
        self.left = left  # for each kind of slot: how many are not filled
        self.domains = domains  # for each kind: the rows they can have, as bits
        self.rooms = rooms  # for each class that slots compete for: the room of each row
        # For each shared subtree: the rows in its slots that are below no other, as bits.
        self.tops = tops
        self.met = met  # which required traits the rows in slots have, as bits

    def copy(self) -> "_State":
        rooms = [list(room) for room in self.rooms]
        return _State(list(self.left), list(self.domains), rooms, list(self.tops), self.met)


class TreeFeasibility:
    """One tree; slots are known by their numbers, and rows by their places among the options."""

    def __init__(self, request: Feasibility, options: Sequence[Integers]) -> None:
        self._decided = request.decided
        self._budget = request.budget
        self._rows = TreeRows(request.constraints, request.kinds, options, self._budget)
        self._kinds = SlotKinds(request.kinds, options, self._rows, self._budget)
        self._budget.step(1 + len(options))
        self._states_left = 0.0
        self._first = _State(
            left=[len(members) for members in self._kinds.members],
            domains=list(self._kinds.domains),
            rooms=self._rows.rooms,
            tops=[0] * request.kinds.subtree_count,
            met=0,
        )

    def order(self) -> list[int]:
        """The slots in the order in which a decision fills them."""
        urgencies = [self._urgency(self._first, kind) for kind in range(len(self._kinds.members))]
        return sorted(
            self._kinds.kind_of, key=lambda number: urgencies[self._kinds.kind_of[number]]
        )

    def can_be_completed(
        self, way: Mapping[int, int], *, states_max: float = float("inf")
    ) -> bool | None:
        """Whether a way exists that has these rows in these slots; None: not decided."""
        state = self._first.copy()
        for number, row in way.items():
            kind, place = self._kinds.kind_of[number], self._rows.place_of[row]
            if not state.domains[kind] >> place & 1 or not self._fill(state, kind, place):
                return False
        self._states_left = states_max
        try:
            return self._propagate(state) and self._has_way(state)
        except _Undecided:
            return None

    # -- search --------------------------------------------------------------------------------

    def _has_way(self, state: _State) -> bool:
        """Whether the slots that are left can be filled."""
        left = [kind for kind, count in enumerate(state.left) if count]
        if not left:
            return True
        looks = self._looks(state)
        key = self._key(state, looks)
        known = self._decided.get(key)
        if known is not None:
            return known
        self._states_left -= 1
        if self._states_left < 0:
            raise _Undecided
        found = False
        if self._can_pack(state) and self._can_differ(state):
            kind = min(left, key=lambda each: self._urgency(state, each))
            places = self._distinct_places(state.domains[kind], looks)
            # Each level below has its own, and there may be hundreds of levels.
            del looks
            for place in places:
                longer = state.copy()
                found = self._fill(longer, kind, place) and self._has_way(longer)
                if found:
                    break
        if len(self._decided) < STATES_MAX:
            self._decided[key] = found
        return found

    def _urgency(self, state: _State, kind: int) -> tuple[float, ...]:
        return state.domains[kind].bit_count(), -self._kinds.weights[kind], kind

    def _distinct_places(self, domain: int, looks: Sequence[Look]) -> list[int]:
        """One of each set of rows that look the same, those with the least room first."""
        distinct: dict[tuple[int, Look], int] = {}
        self._budget.step(1 + domain.bit_count() // (4 * ROWS_PER_STEP))
        for place in bits_of(domain):
            distinct.setdefault((self._rows.above[place], looks[place]), place)
        return sorted(distinct.values(), key=lambda place: looks[place])

    # -- what a choice implies -----------------------------------------------------------------

    def _fill(self, state: _State, kind: int, place: int) -> bool:
        """Fill a slot of a kind with a row; False: no way has it there."""
        kinds, rows = self._kinds, self._rows
        self._budget.step(1 + len(state.left) // KINDS_PER_STEP)
        state.left[kind] -= 1
        left = [other for other, count in enumerate(state.left) if count]
        for other in left:
            state.domains[other] &= kinds.left_to(other, kind, place)
        for number, amount in enumerate(kinds.amounts[kind]):
            if amount:
                room = state.rooms[number]
                room[place] -= amount
                if room[place] < 0:
                    return False
                for other in left:
                    if kinds.amounts[other][number] > room[place]:
                        state.domains[other] &= ~(1 << place)
        for number in kinds.subtrees_of[kind]:
            tops = state.tops[number]
            if not any(rows.below_or_self(top) >> place & 1 for top in bits_of(tops)):
                state.tops[number] = tops & ~rows.below_or_self(place) | 1 << place
        if kinds.holds_traits[kind]:
            for bit, holders in enumerate(rows.holders):
                state.met |= (holders >> place & 1) << bit
        return self._propagate(state)

    def _propagate(self, state: _State) -> bool:
        """Remove the options that rules between several slots leave no chance; False: no way."""
        kinds, rows = self._kinds, self._rows
        for number, members in enumerate(kinds.members_of_subtree):
            tops = state.tops[number]
            self._budget.step(1 + (len(members) + tops.bit_count()) // KINDS_PER_STEP)
            left = [kind for kind in members if state.left[kind]]
            possible = tops if tops.bit_count() == 1 else 0
            for kind in left:
                possible |= state.domains[kind]
            for top in bits_of(tops):
                possible &= rows.above_or_self(top)
            if not possible:
                return False
            if tops:
                # All that can be the top are above each other, so the first is the highest.
                within = rows.below_or_self(next(bits_of(possible)))
                for kind in left:
                    state.domains[kind] &= within
        for bit, holders in enumerate(rows.holders):
            if not state.met >> bit & 1 and not any(
                count and kinds.holds_traits[kind] and state.domains[kind] & holders
                for kind, count in enumerate(state.left)
            ):
                return False
        return all(
            domain or not count for domain, count in zip(state.domains, state.left, strict=True)
        )

    # -- bounds --------------------------------------------------------------------------------

    def _can_pack(self, state: _State) -> bool:
        """Whether the amounts that are left fit: their sum, and those of each size by number."""
        amounts = self._kinds.amounts
        for number, room in enumerate(state.rooms):
            asking = [k for k, count in enumerate(state.left) if count and amounts[k][number]]
            asking.sort(key=lambda k: (-amounts[k][number], state.domains[k].bit_count()))
            count = total = domain = 0
            rooms: list[int] = []
            for kind in asking:
                amount = amounts[kind][number]
                count += state.left[kind]
                total += state.left[kind] * amount
                # Most kinds have the options of the one before.
                more = state.domains[kind] & ~domain
                domain |= more
                rooms += [room[place] for place in bits_of(more)]
                self._budget.step(1 + (len(rooms) + more.bit_count()) // (4 * ROWS_PER_STEP))
                if sum(rooms) < total or sum(each // amount for each in rooms) < count:
                    return False
        return True

    def _can_differ(self, state: _State) -> bool:
        """Whether the slots of each set that must differ find a row each."""
        for kinds in self._kinds.isolations:
            slots = [
                state.domains[kind]
                for kind, among_each_other in kinds
                for _ in range(state.left[kind] if among_each_other else min(1, state.left[kind]))
            ]
            slots.sort(key=int.bit_count)
            # If each has more options than there are slots before it, all find one.
            if any(domain.bit_count() <= before for before, domain in enumerate(slots)):
                self._budget.step(1 + len(slots) // ROWS_PER_STEP)
                if not can_match(slots, self._budget):
                    return False
        return True

    # -- what states have in common ------------------------------------------------------------

    def _looks(self, state: _State) -> list[Look]:
        """For each row what matters of it, and of what is below it, for the slots that are left."""
        rows, amounts = self._rows, self._kinds.amounts
        left = [(kind, count) for kind, count in enumerate(state.left) if count]
        most = [
            sum(count * amounts[kind][number] for kind, count in left)
            for number in range(len(state.rooms))
        ]
        # Many kinds have the same options. Kinds and subtrees as bits: there may be hundreds, and
        # every row has some.
        kinds_with: dict[int, int] = {}
        for kind, _ in left:
            domain = state.domains[kind]
            kinds_with[domain] = kinds_with.get(domain, 0) | 1 << kind
        subtrees_with: dict[int, int] = {}
        for number, tops in enumerate(state.tops):
            subtrees_with[tops] = subtrees_with.get(tops, 0) | 1 << number
        steps = 1 + (len(kinds_with) + len(subtrees_with)) // ROWS_PER_STEP
        below: dict[int, list[Look]] = {}
        looks: list[Look] = [()] * len(rows.rows)
        # From the last row up: what is below a row comes before it.
        for place in reversed(range(len(rows.rows))):
            if place % ROWS_PER_STEP == 0:
                self._budget.step(steps)
            can_fill = _at(place, kinds_with)
            rooms: tuple[int, ...] = ()
            if can_fill:
                # More room than all slots take makes no difference.
                rooms = tuple(map(min, most, [room[place] for room in state.rooms]))
            looks[place] = (
                rooms,
                can_fill,
                _at(place, subtrees_with),
                rows.fixed[place],
                _counted(below.get(place, ())),
            )
            if rows.above[place] >= 0:
                below.setdefault(rows.above[place], []).append(looks[place])
        return looks

    def _key(self, state: _State, looks: Sequence[Look]) -> bytes:
        """The same for states that are equal up to an exchange of rows that look the same."""
        self._budget.step(1 + len(looks) // ROWS_PER_STEP)
        tops = sorted(
            look for look, above in zip(looks, self._rows.above, strict=True) if above < 0
        )
        key = repr((self._kinds.members, state.left, state.met, tops))
        return blake2b(key.encode(), digest_size=16).digest()


def _at(place: int, bits_of_rows: Mapping[int, int]) -> int:
    """What stands for the sets of rows, given as bits, that have this place."""
    found = 0
    for rows, bits in bits_of_rows.items():
        if rows >> place & 1:
            found |= bits
    return found


def _counted(looks: Iterable[Look]) -> tuple[tuple[Look, int], ...]:
    """How often each look occurs, in order."""
    return tuple(sorted(Counter(looks).items()))
