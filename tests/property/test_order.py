"""Orders and pages: the same candidates as without them, in the requested order."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as evolve

from roost.model import SHARING_TRAIT, Candidate
from roost.query import CandidateQuery, Order, OrderBy, RequestGroup
from roost.search import combine
from roost.search.find import find
from roost.search.index.index import Index
from tests import oracle
from tests.property.extended import make_extended_query, worlds_and_extended_queries
from tests.property.strategies import EXAMPLE_COUNT, Seeded, make_world
from tests.support.names import uid
from tests.support.world import World, build, provider, rows

ORDERS = [
    Order(by=OrderBy.PACK),
    Order(by=OrderBy.SPREAD),
    Order(by=OrderBy.ROOT),
    Order(by=OrderBy.RANDOM, seed=7),
]
QUERIES_PER_WORLD = 4


def pages(index: Index, query: CandidateQuery) -> Iterator[tuple[Candidate, ...]]:
    while True:
        answer = find(index, query)
        yield answer.candidates
        if answer.next is None:
            return
        query = evolve(query, after=answer.next)


def check(world: World, query: CandidateQuery, order: Order, limit: int) -> None:
    index = Index.build(rows(world))
    query = evolve(query, order=order)
    whole = find(index, query)
    answers = [oracle.answer_of_candidate(each) for each in whole.candidates]
    assert set(answers) == oracle.candidates(world, query), query
    assert len(answers) == len(set(answers))
    assert whole.next is None
    # The pages together are the same.
    paged = list(pages(index, evolve(query, limit=limit)))
    assert [each for page in paged for each in page] == list(whole.candidates)
    assert all(len(page) == limit for page in paged[:-1])
    # The tree of a candidate is certain only if no provider shares.
    if order.by != OrderBy.RANDOM and not any(one.shares for one in world.providers.values()):
        providers = [next(iter(each.allocations)) for each in whole.candidates]
        assert oracle.in_turns(
            world, query, [world.providers[uuid].root_uuid for uuid in providers]
        )


@given(worlds_and_extended_queries(), st.sampled_from(ORDERS), st.integers(1, 5))
def test_an_order_keeps_the_candidates(
    case: tuple[World, CandidateQuery], order: Order, limit: int
) -> None:
    check(*case, order, limit)


@pytest.mark.parametrize("ways_few", [combine.WAYS_FEW, 0], ids=["checked at once", "searched"])
def test_an_order_keeps_the_candidates_for_seeds(
    ways_few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combine, "WAYS_FEW", ways_few)
    for seed in range(EXAMPLE_COUNT // 4):
        choices = Seeded(seed)
        world = make_world(choices)
        for _ in range(QUERIES_PER_WORLD):
            query = make_extended_query(choices, world)
            check(world, query, choices.one_of(ORDERS), choices.one_of([1, 2, 3, 5]))


def provider_names(world: World, query: CandidateQuery) -> list[str]:
    found = find(Index.build(rows(world)), query).candidates
    return [world.providers[uuid].name for each in found for uuid in each.allocations]


def make_hosts(*used: int) -> World:
    return build(*(provider(f"h{n}", {"VCPU": 8}, used={"VCPU": u}) for n, u in enumerate(used)))


def query_in_order(order: Order) -> CandidateQuery:
    return CandidateQuery(groups=(RequestGroup(resources={"VCPU": 1}),), order=order)


def test_pack_and_spread_order_by_free_capacity() -> None:
    world = make_hosts(3, 7, 0)
    assert provider_names(world, query_in_order(Order(by=OrderBy.PACK))) == ["h1", "h0", "h2"]
    assert provider_names(world, query_in_order(Order(by=OrderBy.SPREAD))) == ["h2", "h0", "h1"]


def test_the_order_by_root_is_by_uuid() -> None:
    world = make_hosts(*[0] * 20)
    names = sorted((f"h{n}" for n in range(20)), key=uid)
    assert provider_names(world, query_in_order(Order(by=OrderBy.ROOT))) == names


def test_a_seed_determines_the_order() -> None:
    world = make_hosts(*[0] * 20)
    orders = [
        provider_names(world, query_in_order(Order(by=OrderBy.RANDOM, seed=seed)))
        for seed in (1, 2, 1)
    ]
    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])


def test_sharing_providers_come_in_the_same_order_wherever_their_rows_are() -> None:
    pools = [
        provider(f"pool{n}", {"DISK_GB": 8}, traits=[SHARING_TRAIT], aggregates=["a"])
        for n in range(3)
    ]
    world = build(*pools, provider("host", {"VCPU": 8}, aggregates=["a"]))
    resources = {"VCPU": 1, "DISK_GB": 1}
    for can_split in ((), ("VCPU",)):
        group = RequestGroup(resources=resources, can_split=frozenset(can_split))
        query = CandidateQuery(groups=(group,), order=Order(by=OrderBy.ROOT))
        index = Index.build(rows(world))
        before = find(index, query).candidates
        moved = index.provider(index.row_of_uuid[uid("pool0")])
        index.remove_tree(index.row_of_uuid[uid("pool0")])
        index.append_trees([moved])
        assert find(index, query).candidates == before
        assert len(before) == 3


def test_a_page_continues_where_the_last_one_ended_although_trees_come_and_go() -> None:
    before, after = make_hosts(0, 1, 2, 3, 4, 5), make_hosts(0, 1, 2, 3, 4, 5, 0)
    query = evolve(query_in_order(Order(by=OrderBy.SPREAD)), limit=3)
    first = find(Index.build(rows(before)), query)
    assert provider_names(before, query) == ["h0", "h1", "h2"]
    second = evolve(query, after=first.next)
    # h6 comes before all that is left, and would push h2 onto the second page.
    assert provider_names(after, second) == ["h3", "h4", "h5"]
