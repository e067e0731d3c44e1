"""The ways of one tree to serve a request whose amounts may be split."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, permutations

from roost.query import CandidateQuery
from roost.search.index.index import Index
from roost.search.sharing import lenders_of
from roost.search.split.answer import Way, amounts_of
from roost.search.split.parts import Part, Pieces, parts_of
from roost.search.split.pieces import PIECES_MAX
from roost.search.split.rules import Judge, SplitRules

# Nobody looks ahead here, so many groups could be tried against each other for ever. Beyond so many
# choices a tree, and then the search, is left with what was found: always the same, so that pages
# go on as they began.
STEPS_OF_TREE_FREE = 100
STEPS_OF_TREE_MAX = 20_000
STEPS_MAX = 500_000
# How often it is asked whether there is time to go on.
STEPS_BETWEEN_LOOKS = 256
# So many orders in which parts are split one after the other.
ORDERS_MAX = 24


class SplitRequest:
    """What is asked of each tree, and how many choices may still be tried in all of them."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        *,
        together: bool,
        may_go_on: Callable[[], bool],
    ) -> None:
        self.index = index
        self.parts, matchers = parts_of(index, query)
        self.rules = SplitRules(index, query, self.parts, matchers, together=together)
        self.together = together
        self.compete = together and any(
            len(asking) > 1 and any(self.parts[number].may_split for number in asking)
            for asking in self.rules.asking().values()
        )
        self.needs_traits = any(matcher.required_together for matcher in matchers)
        self.needs_subtree = bool(query.same_subtree)
        # How many pieces more than parts there can be.
        self.extra_max = sum(part.may_split for part in self.parts) * (PIECES_MAX - 1)
        self.steps = 0  # choices tried
        self.is_cut = False  # whether it gave up somewhere, so that ways may be missing
        self._steps_left = STEPS_MAX
        self._may_go_on = may_go_on

    def goes_on(self, steps_of_tree: int) -> bool:
        """Whether one more choice may be tried."""
        self.steps += 1
        # What a tree can have in any case is no reason to stop.
        self._steps_left -= steps_of_tree > STEPS_OF_TREE_FREE
        if self.steps % STEPS_BETWEEN_LOOKS == 0 and not self._may_go_on():
            self._steps_left = 0
        goes_on = steps_of_tree <= STEPS_OF_TREE_MAX and self._steps_left > 0
        self.is_cut |= not goes_on
        return goes_on


class TreeWays:
    """The ways of one tree; splits are looked for when they are asked for."""

    def __init__(self, request: SplitRequest, root: int) -> None:
        self._request = request
        self._root = root
        lenders = lenders_of(request.index, root)
        self._options = [_Options(part, root, lenders) for part in request.parts]
        # How many pieces more than one the parts from each on may have, at most.
        most = [options.extra_max for options in self._options]
        self._extra_left = [sum(most[number:]) for number in range(len(most) + 1)]
        self._steps = 0

    def least(self, extra: int) -> Iterator[Way]:
        """With splits from which no provider could be left out: so many pieces more than parts."""
        must_be_whole = (each for each in self._options if not (extra and each.extra_max))
        if extra > self._extra_left[0] or not all(each.whole for each in must_be_whole):
            return iter(())
        return self._extended([], extra)

    def others(self, extra: int) -> Iterator[Way]:
        """With splits that are none of an amount alone, where they can be all that will do."""
        request = self._request
        if extra > self._extra_left[0] or not self._may_have_others():
            return
        whole = [number for number, part in enumerate(request.parts) if not part.may_split]
        split = [number for number, part in enumerate(request.parts) if part.may_split]
        # What one leaves another can take: whose turn comes first makes a difference.
        orders = permutations(split) if request.compete else [split]
        for some in islice(orders, ORDERS_MAX):
            order = (*whole, *some)
            yield from self._filled(order, request.rules.judges(order), {}, extra)

    def _may_have_others(self) -> bool:
        """Whether parts compete, or a provider more brings a trait or stands above the others."""
        request = self._request
        if request.compete or request.needs_traits:
            return True
        return request.needs_subtree and any(
            part.may_split and part.has_givers_above_others(self._root) for part in request.parts
        )

    def _goes_on(self) -> bool:
        self._steps += 1
        return self._request.goes_on(self._steps)

    # -- the least splits, each part on its own ------------------------------------------------

    def _extended(self, way: list[Pieces], extra: int) -> Iterator[Way]:
        number = len(way)
        if number == len(self._options):
            yield tuple(way)
            return
        for pieces in self._options[number].up_to(extra):
            if not self._goes_on():
                return
            left = extra - len(pieces) + 1
            if left > self._extra_left[number + 1]:
                continue
            way.append(pieces)
            if self._request.rules.allow(way):
                yield from self._extended(way, left)
            way.pop()

    # -- other splits, each part beside those before it ----------------------------------------

    def _filled(
        self,
        order: Sequence[int],
        judges: Sequence[Sequence[Judge]],
        way: dict[int, Pieces],
        extra: int,
    ) -> Iterator[Way]:
        if len(way) == len(order):
            if not extra:
                yield tuple(way[number] for number in sorted(order))
            return
        number = order[len(way)]
        for pieces in self._pieces_beside(number, way):
            if not self._goes_on():
                return
            if len(pieces) - 1 > extra:
                continue
            way[number] = pieces
            if all(judge(way) for judge in judges[len(way) - 1]):
                yield from self._filled(order, judges, way, extra - len(pieces) + 1)
            del way[number]

    def _pieces_beside(self, number: int, way: Mapping[int, Pieces]) -> Iterator[Pieces]:
        """What fills a part, split as what others take leaves it."""
        yield from self._options[number].whole
        part = self._request.parts[number]
        if not part.may_split:
            return
        ((class_id, _),) = part.slot.demands.items()
        taken = amounts_of(tuple(way.values())) if self._request.together else {}

        def room(row: int) -> int:
            return self._request.rules.room(row, class_id) - taken.get((row, class_id), 0)

        yield from part.split_beside(self._root, room)


class _Options:
    """What can fill one part in one tree, those with the fewest pieces first."""

    def __init__(self, part: Part, root: int, lenders: Sequence[int]) -> None:
        self.whole = part.whole(root, lenders)
        self.extra_max = part.pieces_max(root) - 1
        self._more = part.split(root) if self.extra_max else iter(())
        self._split: list[Pieces] = []  # as far as they were asked for
        self._ahead: Pieces | None = None

    def up_to(self, extra: int) -> Iterator[Pieces]:
        """With at most so many pieces more than one."""
        yield from self.whole
        number = 0
        while extra and (number < len(self._split) or self._read(extra)):
            if len(self._split[number]) - 1 > extra:
                return
            yield self._split[number]
            number += 1

    def _read(self, extra: int) -> bool:
        """Whether there is one split more of that size."""
        if self._ahead is None:
            self._ahead = next(self._more, None)
        if self._ahead is None or len(self._ahead) - 1 > extra:
            return False
        self._split.append(self._ahead)
        self._ahead = None
        return True
