"""Candidates for all consumers of a placement, chosen from the index so that they fit together."""

import math
from collections.abc import Iterable, Iterator, Sequence
from random import Random

import msgspec

from roost.errors import NoCandidates, SearchTooHard
from roost.model import Candidate, NewConsumer, Value
from roost.operations.known_names import check_query
from roost.operations.placing.assignment import Option, choose
from roost.query import CandidateQuery, Order, OrderBy
from roost.search.budget import Budget, GaveUp
from roost.search.find import find
from roost.search.index.index import Index
from roost.search.times_max import times_max
from roost.search.what_if import what_if_copy
from roost.service.service import Roost

# How many candidates a placement considers for each consumer at first. If they do not suffice, it
# considers more.
CANDIDATES_FIRST = 16
CANDIDATES_STEP = 16
CANDIDATES_MAX = 16_384


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


def choose_candidates(
    roost: Roost, request: PlacementRequest, attempt: int, random: Random, budget: Budget
) -> Sequence[Candidate]:
    """A candidate for each consumer, so that all of them fit together.

    Refuses with `NoCandidates` only if it is certain that there are none.
    """
    count = len(request.consumers)
    limit_max = min(CANDIDATES_MAX, request.query.limit or CANDIDATES_MAX)
    limit = min(CANDIDATES_FIRST * count, limit_max)
    while True:
        choices = _find(roost, request, limit, random, budget)
        options = choices.options
        if request.apart and choices.host_count < count:
            raise NoCandidates(count, len(options))
        if attempt and request.has_free_order:
            # A request that lost a race spreads out: each time over twice as many candidates.
            some = options[: count * 2**attempt]
            random.shuffle(some)
            options[: len(some)] = some
        choice = choose(
            options, choices.free, count, apart=request.apart, fill=request.fill, budget=budget
        )
        chosen = choice.options
        if chosen is None and options and request.query.may_split:
            chosen = _choose_one_by_one(roost, request, limit, budget)
        if chosen is not None:
            return [option.candidate for option in chosen]
        if choices.is_all or choices.gave_up or budget.gave_up or limit == limit_max:
            considered_all = choices.is_all or (
                limit == request.query.limit and not choices.gave_up
            )
            # What others leave can be split in ways that are not among the candidates.
            has_others = bool(options) and request.query.may_split
            is_certain = considered_all and not choice.gave_up and not has_others
            if is_certain or _is_too_much(roost, request, budget):
                raise NoCandidates(count, len(options))
            raise _too_hard(count)
        limit = min(limit * CANDIDATES_STEP, limit_max)


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
        with roost.current_index() as index:
            bound = times_max(index, request.query, budget)
    except GaveUp:
        return False
    return bound is not None and bound < len(request.consumers)


class _Choices(Value, frozen=True, kw_only=True):
    """Candidates to choose from, in order."""

    options: list[Option]
    free: dict[tuple[str, str], int]  # of everything that they take
    gave_up: bool  # whether the search gave up, so that candidates may be missing
    is_all: bool  # whether the cloud has no others
    host_count: float  # an upper bound for all hosts that have candidates


def _find(
    roost: Roost, request: PlacementRequest, limit: int, random: Random, budget: Budget
) -> _Choices:
    query = msgspec.structs.replace(request.query, limit=limit)
    if query.order is None and len(request.consumers) > 1:
        # An ordered search lets trees take turns: one with many candidates leaves room for others.
        order = Order(by=OrderBy.RANDOM, seed=random.getrandbits(32))
        query = msgspec.structs.replace(query, order=order)
    randomized = roost.settings.randomize_allocation_candidates
    with roost.current_index() as index:
        check_query(index, query)
        answer = find(index, query, random=random if randomized else None, budget=budget)
        options: list[Option] = []
        free: dict[tuple[str, str], int] = {}
        for option in _options(index, answer.each_candidate(), budget):
            options.append(option)
            for (uuid, name), _ in option.amounts:
                if (uuid, name) not in free:
                    row = index.row_of_uuid[uuid]
                    free[uuid, name] = index.free(index.classes.ids[name], row)
    gave_up = answer.gave_up or len(options) < answer.count
    is_all = answer.count < limit and not gave_up
    hosts = {host for option in options for host in option.hosts}
    # Once a tree has its second turn, every tree has had its first, so all hosts are known. This
    # does not hold for candidates on no host of their own, and not for split amounts, of which
    # some come late.
    has_second_turn = answer.next is not None and answer.next.turn > 0
    all_seen = is_all or (has_second_turn and not gave_up and not query.may_split)
    bounded = all_seen and all(option.hosts for option in options)
    host_count = len(hosts) if bounded else math.inf
    return _Choices(
        options=options, free=free, gave_up=gave_up, is_all=is_all, host_count=host_count
    )


def _choose_one_by_one(
    roost: Roost, request: PlacementRequest, limit: int, budget: Budget
) -> list[Option] | None:
    """Search again for each consumer: what the others leave may be split in new ways."""
    # The first candidate will do, unless it is on a host that another consumer has.
    query = msgspec.structs.replace(request.query, limit=limit if request.apart else 1)
    chosen: list[Option] = []
    hosts: set[str] = set()
    with roost.current_index() as index:
        what_if = what_if_copy(index, query)
        for _ in request.consumers:
            found = find(what_if, query, budget=budget)
            options = _options(what_if, found.each_candidate(), budget)
            free = (each for each in options if not request.apart or hosts.isdisjoint(each.hosts))
            option = next(free, None)
            if option is None:
                return None
            chosen.append(option)
            hosts |= option.hosts
            _take(what_if, option)
    return chosen


def _take(what_if: Index, option: Option) -> None:
    for (uuid, name), amount in option.amounts:
        column = what_if.columns[what_if.classes.ids[name]]
        column.used[column.position(what_if.row_of_uuid[uuid])] += amount


def _options(index: Index, candidates: Iterable[Candidate], budget: Budget) -> Iterator[Option]:
    """The candidates with their hosts, as many as the budget allows."""
    sharing = frozenset(index.sharing_rows().tolist())
    for candidate in candidates:
        serving = [uuid for uuids in candidate.mappings.values() for uuid in uuids]
        rows = {row for uuid in serving if (row := index.row_of_uuid.get(uuid)) is not None}
        # Two consumers that share nothing but a sharing provider are not on a common host.
        hosts = frozenset(index.root_uuid(row) for row in rows - sharing)
        yield Option(candidate=candidate, hosts=hosts)
        try:
            budget.step()
        except GaveUp:
            return
