"""Candidates for the consumers of a placement, as the index sees it."""

import math
from collections.abc import Iterable, Sequence
from random import Random

import msgspec

from roost.errors import NoCandidates
from roost.model import Candidate, NewConsumer, Value
from roost.operations.assignment import Option, choose
from roost.operations.known_names import check_query
from roost.query import CandidateQuery, Order, OrderBy
from roost.search.find import find
from roost.search.index.index import Index
from roost.search.what_if import what_if_copy
from roost.service.service import Roost

# So many candidates are looked at first, for each consumer; where they do not do, more. The index
# stands still while they are made.
CANDIDATES_FIRST = 16
CANDIDATES_STEP = 16
CANDIDATES_MAX = 16_384


class Key(Value, frozen=True, kw_only=True):
    """What makes a request the same as an earlier one."""

    key_digest: str
    body_digest: str


class PlacementRequest(Value, frozen=True, kw_only=True):
    """Who is to be placed, and where."""

    query: CandidateQuery  # what each of the consumers asks for
    consumers: tuple[NewConsumer, ...]
    apart: bool = False  # each consumer on another root
    fill: bool = False  # a candidate is taken as often as it fits before the next one is
    key: Key | None = None  # None: a request that is repeated is another one

    @property
    def order_is_free(self) -> bool:
        """Whether any candidate is as good as another."""
        return self.query.order is None or self.query.order.by == OrderBy.RANDOM


def propose(
    roost: Roost, wish: PlacementRequest, attempt: int, random: Random
) -> Sequence[Candidate]:
    """A candidate for each consumer, so that all of them fit together."""
    count = len(wish.consumers)
    limit_max = min(CANDIDATES_MAX, wish.query.limit or CANDIDATES_MAX)
    limit = min(CANDIDATES_FIRST * count, limit_max)
    while True:
        supply = _find(roost, wish, limit, random)
        options = supply.options
        if wish.apart and supply.host_count < count:
            raise NoCandidates(count, len(options))
        if attempt and wish.order_is_free:
            # Who was too late once gets out of the others' way, the further the more often.
            some = options[: count * 2**attempt]
            random.shuffle(some)
            options[: len(some)] = some
        choice = choose(options, supply.free, count, apart=wish.apart, fill=wish.fill)
        chosen = choice.options
        if chosen is None and wish.query.may_split:
            chosen = _choose_one_by_one(roost, wish, limit)
        if chosen is not None:
            return [option.candidate for option in chosen]
        if supply.is_all or limit == limit_max:
            raise NoCandidates(count, len(options), gave_up=choice.gave_up)
        limit = min(limit * CANDIDATES_STEP, limit_max)


class _Supply(Value, frozen=True, kw_only=True):
    """Candidates to choose from, in order."""

    options: list[Option]
    free: dict[tuple[str, str], int]  # of what they take
    is_all: bool  # whether there are no others
    host_count: float  # how many hosts there are at most, these and others


def _find(roost: Roost, wish: PlacementRequest, limit: int, random: Random) -> _Supply:
    query = msgspec.structs.replace(wish.query, limit=limit)
    if query.order is None and len(wish.consumers) > 1:
        # In an order trees take turns way by way, so that one with many does not crowd out others.
        order = Order(by=OrderBy.RANDOM, seed=random.getrandbits(32))
        query = msgspec.structs.replace(query, order=order)
    randomized = roost.settings.randomize_allocation_candidates
    with roost.view() as index:
        check_query(index, query)
        answer = find(index, query, random=random if randomized else None)
        options = _options(index, answer.candidates)
        free = _free(index, options)
    is_all = len(options) < limit
    hosts = {host for option in options for host in option.hosts}
    # Once a tree has its second turn, all trees have had their first. What is on no host of its
    # own counts for any number of them; and of what is split some comes late.
    all_seen = is_all or (answer.next is not None and answer.next.turn > 0)
    bounded = all_seen and not query.may_split and all(option.hosts for option in options)
    host_count = len(hosts) if bounded else math.inf
    return _Supply(options=options, free=free, is_all=is_all, host_count=host_count)


def _choose_one_by_one(roost: Roost, wish: PlacementRequest, limit: int) -> list[Option] | None:
    """Search anew for each consumer: what is left can be split as nothing was before."""
    query = msgspec.structs.replace(wish.query, limit=limit)
    chosen: list[Option] = []
    hosts: set[str] = set()
    with roost.view() as index:
        view = what_if_copy(index, query)
        for _ in wish.consumers:
            options = _options(view, find(view, query).candidates)
            free = (each for each in options if not wish.apart or hosts.isdisjoint(each.hosts))
            option = next(free, None)
            if option is None:
                return None
            chosen.append(option)
            hosts |= option.hosts
            _take(view, option)
    return chosen


def _take(view: Index, option: Option) -> None:
    for (uuid, name), amount in option.amounts:
        column = view.columns[view.classes.ids[name]]
        column.used[column.position(view.row_of_uuid[uuid])] += amount


def _options(index: Index, candidates: Iterable[Candidate]) -> list[Option]:
    sharing = frozenset(index.sharing_rows().tolist())
    options = []
    for candidate in candidates:
        serving = [uuid for uuids in candidate.mappings.values() for uuid in uuids]
        rows = {row for uuid in serving if (row := index.row_of_uuid.get(uuid)) is not None}
        # Storage that all hosts share does not bring two consumers together.
        hosts = frozenset(index.root_uuid(row) for row in rows - sharing)
        options.append(Option(candidate=candidate, hosts=hosts))
    return options


def _free(index: Index, options: Iterable[Option]) -> dict[tuple[str, str], int]:
    taken = {key for option in options for key, _ in option.amounts}
    return {
        (uuid, name): index.free(index.classes.ids[name], index.row_of_uuid[uuid])
        for uuid, name in taken
    }
