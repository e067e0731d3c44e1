"""Candidates for all consumers of a placement, chosen from the index so that they fit together.

Nearly always there is room, and the first candidates that a search finds are as good as any. So the
first search asks for about as many candidates as there are consumers, and its choice stands if more
candidates would not change it. Otherwise the placement considers more and more of them.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from random import Random
from typing import NamedTuple

import msgspec
import numpy as np

from roost.errors import NoCandidates, SearchTooHard
from roost.model import Candidate, NewConsumer, Value
from roost.operations.known_names import check_query
from roost.operations.placing import giving_way
from roost.operations.placing.assignment import Choice, choose, choose_in_order
from roost.operations.placing.options import Options, options_of
from roost.query import CandidateQuery, Order, OrderBy
from roost.search.answer import Answer
from roost.search.budget import Budget, GaveUp
from roost.search.find import find
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.times_max import times_max
from roost.search.what_if import what_if_copy
from roost.service.service import Roost

# How many candidates a placement considers for each consumer, if one for each does not suffice. If
# these do not either, it considers more.
CANDIDATES_PER_CONSUMER = 16
CANDIDATES_STEP = 16
CANDIDATES_MAX = 16_384
# How many amounts the candidates that are considered have in all. More than 64 each leave room for
# fewer candidates.
AMOUNTS_MAX = 2**20
# How many consumers are expected to fit into a candidate that is used as often as possible.
CONSUMERS_PER_CANDIDATE = 8


class IdempotencyKey(Value, frozen=True, kw_only=True):
    """By which a repeated request is recognised: digests of its key and of its body."""

    key_digest: str
    body_digest: str


class PlacementRequest(Value, frozen=True, kw_only=True):
    """The consumers to place, and what each of them requests."""

    query: CandidateQuery  # of each consumer
    consumers: tuple[NewConsumer, ...]
    apart: bool = False  # each consumer under another root
    fill: bool = False  # use a candidate as often as it fits before the next one
    key: IdempotencyKey | None = None  # None: a repeated request places again

    @property
    def has_free_order(self) -> bool:
        """Whether the client prefers no candidate over another."""
        return self.query.order is None or self.query.order.by is OrderBy.RANDOM

    @property
    def spreads(self) -> bool:
        """Whether what is chosen goes to the end of the order."""
        return self.query.order is not None and self.query.order.by is OrderBy.SPREAD


class _Search(NamedTuple):
    """How a placement searches for candidates, and what it does with them."""

    limit: int  # how many candidates it wants at most
    again: bool = False  # whether one may be used again before others are considered
    # Whether everything is tried to find some that fit together. If not, they are taken in order.
    thorough: bool = False
    # Whether another candidate than the very first may do, because others choose that one too.
    evades: bool = False


def _searches(request: PlacementRequest, attempt: int, *, evades: bool) -> Iterator[_Search]:
    """One search after the other, each for the case that those before did not suffice."""
    query, count = request.query, len(request.consumers)
    amount_count = sum(len(group.resources) for group in query.groups)
    limit_max = min(CANDIDATES_MAX, AMOUNTS_MAX // max(amount_count, 1))
    limit_max = min(limit_max, query.limit or limit_max)
    limit = min(CANDIDATES_PER_CONSUMER * count, limit_max)
    if not query.may_split:
        # A client that names a limit wants the first ones and no others.
        if evades and count == 1 and not request.has_free_order and query.limit is None:
            yield _Search(1 if request.spreads else giving_way.CANDIDATES, evades=True)
        first = count
        if request.fill:
            first = math.ceil(count / CONSUMERS_PER_CANDIDATE)
        elif request.has_free_order:
            # A request that lost a race spreads out: each time over twice as many candidates.
            first = count * 2**attempt
        yield _Search(min(first, limit))
        if query.order is None and not request.apart:
            yield _Search(limit, again=True)
    while True:
        yield _Search(limit, thorough=True)
        if limit == limit_max:
            return
        limit = min(limit * CANDIDATES_STEP, limit_max)


def choose_candidates(
    roost: Roost, request: PlacementRequest, attempt: int, random: Random, budget: Budget
) -> Sequence[Candidate]:
    """A candidate for each consumer, so that all of them fit together.

    Refuses with `NoCandidates` only if it is certain that there are none. Consumers that get equal
    candidates get the same object.
    """
    count = len(request.consumers)
    for search in _searches(request, attempt, evades=roost.contention.evades):
        stays = search.evades and not request.spreads
        if stays and (same := giving_way.same_again(roost, request.query, budget)) is not None:
            return [same]
        found = _find(roost, request, search, random, budget, shuffles=attempt > 0)
        if search.evades:
            if found.answer.count:
                preference = roost.contention.preference
                number, host_uuid = found.preferred(preference)
                if stays and host_uuid is not None:
                    roost.contention.last_choices.note(request.query, preference, host_uuid)
                return found.candidates([number])
            continue
        if request.apart and found.host_count < count:
            raise NoCandidates(count, found.answer.count)
        is_end = found.is_all or found.gave_up
        if not (search.thorough or is_end):
            numbers = _choose_in_order(request, found, search, budget)
            if numbers is not None:
                return found.candidates(numbers)
            if not budget.gave_up:
                continue
        choice = _choose(request, found, budget)
        if choice.numbers is not None:
            return found.candidates(choice.numbers)
        # What others leave can be split in ways that are not among the candidates.
        has_others = found.answer.count > 0 and request.query.may_split
        if has_others:
            one_by_one = _choose_one_by_one(roost, request, search.limit, budget)
            if one_by_one is not None:
                return one_by_one
        if is_end or budget.gave_up:
            break
    # The last search has a limit of its own, or that of the client, who wants no more considered.
    considered_all = found.is_all or (search.limit == request.query.limit and not found.gave_up)
    is_certain = considered_all and not choice.gave_up and not has_others
    if is_certain or _is_too_much(roost, request, budget):
        raise NoCandidates(count, found.answer.count)
    raise _too_hard(count)


def _choose_in_order(
    request: PlacementRequest, found: "_Found", search: _Search, budget: Budget
) -> Sequence[int] | None:
    count = len(request.consumers)
    if count == 1:
        # Each fits by itself, or it would not have been found.
        return [0] if found.answer.count else None
    try:
        return choose_in_order(
            found.options,
            count,
            apart=request.apart,
            fill=request.fill,
            again=search.again,
            budget=budget,
        )
    except GaveUp:
        return None


def _choose(request: PlacementRequest, found: "_Found", budget: Budget) -> Choice:
    count = len(request.consumers)
    return choose(found.options, count, apart=request.apart, fill=request.fill, budget=budget)


def _too_hard(count: int) -> SearchTooHard:
    consumers = "the consumer" if count == 1 else f"all {count} consumers"
    return SearchTooHard(
        "There are many ways to serve each group."
        if count == 1
        else "There are many ways to combine the candidates.",
        "Fewer groups help." if count == 1 else "Fewer consumers at a time, or fewer groups, help.",
        unknown=f"whether there is a place for {consumers}",
    )


def _is_too_much(roost: Roost, request: PlacementRequest, budget: Budget) -> bool:
    """Whether sums alone show that not all consumers have a place."""
    try:
        index = roost.current_index()
        bound = times_max(index, request.query, budget)
    except GaveUp:
        return False
    return bound is not None and bound < len(request.consumers)


class _Found:
    """Candidates to choose from."""

    def __init__(
        self,
        index: Index,
        answer: Answer,
        limit: int,
        budget: Budget,
        shuffled: Integers | None,
    ) -> None:
        self._index = index
        self._budget = budget
        self._shuffled = shuffled  # their numbers in the answer, unless in its order
        self.answer = answer
        self._is_full = answer.count >= limit

    @property
    def gave_up(self) -> bool:
        """Whether the search gave up, so that candidates may be missing."""
        return self.answer.gave_up

    @property
    def is_all(self) -> bool:
        """Whether the cloud has no others."""
        return not (self._is_full or self.answer.gave_up)

    @cached_property
    def options(self) -> Options:
        options = options_of(self._index, self.answer, self._budget)
        if self._shuffled is None:
            return options
        # If the budget was used up, only the first candidates of the answer are left.
        self._shuffled = self._shuffled[self._shuffled < options.option_count]
        return options.in_order(self._shuffled)

    def candidates(self, numbers: Sequence[int]) -> Sequence[Candidate]:
        """Those with these numbers."""
        places = np.asarray(numbers) if self._shuffled is None else self._shuffled[numbers]
        if len(places) == 1:
            return list(self.answer.candidates_of(places))
        distinct, places = np.unique(places, return_inverse=True)
        made = list(self.answer.candidates_of(distinct))
        return [made[place] for place in places.tolist()]

    def preferred(self, preference: int) -> tuple[int, str | None]:
        """The number of the candidate that this process chooses while others choose, too.

        With it comes the UUID of its host; None if it has none of its own.
        """
        ids, hosts = self._index.ids, self.answer.hosts().tolist()
        numbers = [ids[row] if row >= 0 else 0 for row in hosts]
        number = giving_way.preferred(np.array(numbers, dtype=np.int64), preference)
        return number, self._index.uuids[hosts[number]] if hosts[number] >= 0 else None

    @property
    def host_count(self) -> float:
        """An upper bound for all hosts that have candidates."""
        # Once a tree has its second turn, every tree has had its first, so all hosts are known.
        # This does not hold for candidates on no host of their own, and not for split amounts, of
        # which some come late.
        turned = self.answer.next is not None and self.answer.next.turn > 0
        turned &= not self.gave_up and not self.answer.query.may_split
        if not (self.is_all or turned):
            return math.inf
        hosts = self.options.hosts
        return math.inf if (hosts < 0).any() else len(np.unique(hosts))


def _find(
    roost: Roost,
    request: PlacementRequest,
    search: _Search,
    random: Random,
    budget: Budget,
    *,
    shuffles: bool,
) -> _Found:
    query = msgspec.structs.replace(request.query, limit=search.limit)
    if search.thorough and query.order is None and len(request.consumers) > 1:
        # An ordered search lets trees take turns, however many of their candidates are refused:
        # one with many candidates leaves room for others.
        order = Order(by=OrderBy.RANDOM, seed=random.getrandbits(32))
        query = msgspec.structs.replace(query, order=order)
    randomized = roost.settings.randomize_allocation_candidates
    index = roost.current_index()
    check_query(index, query)
    answer = find(
        index,
        query,
        # Requests without an order begin anywhere, so that they do not meet at the same hosts.
        begin=random.randrange(max(index.rows.count, 1)),
        skip=giving_way.skip(random) if search.evades and request.spreads else None,
        random=random if randomized else None,
        budget=budget,
    )
    shuffled = None
    if shuffles and request.has_free_order:
        shuffled = np.arange(answer.count)
        np.random.default_rng(random.getrandbits(64)).shuffle(
            shuffled[: len(request.consumers) * CANDIDATES_PER_CONSUMER]
        )
    return _Found(index, answer, search.limit, budget, shuffled)


def _choose_one_by_one(
    roost: Roost, request: PlacementRequest, limit: int, budget: Budget
) -> Sequence[Candidate] | None:
    """Search again for each consumer: what the others leave may be split in new ways."""
    # The first candidate will do, unless it is on a host that another consumer has.
    query = msgspec.structs.replace(request.query, limit=limit if request.apart else 1)
    chosen: list[Candidate] = []
    taken: set[int] = set()
    index = roost.current_index()
    what_if = what_if_copy(index, query)
    for _ in request.consumers:
        found = find(what_if, query, budget=budget)
        hosts = found.hosts().tolist()
        free = (n for n, host in enumerate(hosts) if not request.apart or host not in taken)
        number = next(free, None)
        if number is None:
            return None
        chosen += found.candidates_of(np.array([number]))
        taken |= {hosts[number]} - {-1}
        _take(what_if, chosen[-1])
    return chosen


def _take(what_if: Index, candidate: Candidate) -> None:
    for uuid, resources in candidate.allocations.items():
        row = what_if.row_of_uuid[uuid]
        for name, amount in resources.items():
            column = what_if.columns[what_if.classes.ids[name]]
            column.used[column.position(row)] += amount
