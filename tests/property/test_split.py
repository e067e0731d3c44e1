"""Amounts that may be split: what the page says, on worlds small enough to try everything."""

from collections import Counter

from extended import make_split_query, worlds_and_split_queries
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as evolve
from strategies import EXAMPLE_COUNT, Seeded, make_world

import oracle
from roost.model import INTEGER_MAX
from roost.query import CandidateQuery, Order, RequestGroup
from roost.search.find import find
from roost.search.index import Index
from roost.search.split.find import STEPS_OF_TREE_MAX, SplitSearch
from roost.search.split.pieces import PIECES_MAX, Offer, offer, splits
from world import World, build, provider, rows

QUERIES_PER_WORLD = 4


def check(world: World, query: CandidateQuery, note: object = None) -> int:
    """How many candidates are split."""
    index = Index.build(rows(world))
    found = find(index, query)
    answers = [oracle.answer_of_candidate(query, each) for each in found.candidates]
    assert set(answers) == oracle.candidates(world, query), (note, query)
    assert len(answers) == len(set(answers)), (note, query)
    plain = evolve(query, groups=tuple(evolve(g, can_split=frozenset()) for g in query.groups))
    whole = {oracle.answer_of_candidate(query, each) for each in find(index, plain).candidates}
    return len(set(answers) - whole)


@given(worlds_and_split_queries())
def test_every_candidate_and_no_other(case: tuple[World, CandidateQuery]) -> None:
    check(*case)


def test_every_candidate_and_no_other_by_number() -> None:
    counts: Counter[bool] = Counter()
    for seed in range(EXAMPLE_COUNT // 4):
        choices = Seeded(seed)
        world = make_world(choices)
        for _ in range(QUERIES_PER_WORLD):
            counts[check(world, make_split_query(choices, world), seed) > 0] += 1
    assert counts[True] > 0.05 * counts.total(), counts


def test_pages_and_fewest_pieces_first() -> None:
    for seed in range(EXAMPLE_COUNT // 4):
        choices = Seeded(seed)
        world = make_world(choices)
        index = Index.build(rows(world))
        order = choices.one_of([Order(by="pack"), Order(by="root"), Order(by="random", seed=3)])
        query = evolve(make_split_query(choices, world), order=order)
        whole = find(index, query).candidates
        paged, rest, places = [], evolve(query, limit=2), []
        while True:
            page = find(index, rest)
            paged += page.candidates
            if page.next is None:
                break
            places.append(page.next)
            rest = evolve(rest, after=page.next)
        assert tuple(paged) == whole
        assert [place.pieces for place in places] == sorted(place.pieces for place in places)


def test_a_summary_for_every_tree_that_serves() -> None:
    for seed in range(EXAMPLE_COUNT // 8):
        choices = Seeded(seed)
        world = make_world(choices)
        query = make_split_query(choices, world)
        found = find(Index.build(rows(world)), query)
        serving = {own for each in found.candidates for own in each.allocations}
        trees = {world.providers[own].root_uuid for own in serving}
        shown = {one.uuid for one in world.providers.values() if one.root_uuid in trees}
        assert {one.uuid for one in found.summaries} == shown


def test_four_and_two() -> None:
    nodes = {1: Offer(1, 4, 1), 2: Offer(1, 4, 1)}
    assert list(splits(nodes, 6)) == [{1: 4, 2: 2}, {2: 4, 1: 2}]
    assert list(splits(nodes, 4)) == [{1: 4}, {2: 4}]
    assert list(splits(nodes, 9)) == []


def test_the_first_leaves_what_the_second_needs() -> None:
    assert list(splits({1: Offer(1, 4, 1), 2: Offer(3, 3, 1)}, 6)) == [{1: 3, 2: 3}]


def test_large_amounts_with_steps_that_meet_late_end_soon() -> None:
    offers = {
        n: Offer(step, INTEGER_MAX // step * step, step) for n, step in enumerate((7, 11, 13))
    }
    assert list(splits(offers, 2**31 + 2)) != []
    assert list(splits({n: Offer(2, 2**30, 2) for n in range(20)}, 2**31 - 1)) == []
    assert list(splits({n: Offer(1, 1, 1) for n in range(200)}, 2**62)) == []


@given(st.integers(0, 20), st.integers(1, 5), st.integers(1, 20), st.integers(1, 5))
def test_an_offer_is_what_fits(free: int, low: int, high: int, step: int) -> None:
    found = offer(free=free, min_unit=low, max_unit=high, step_size=step)
    right = [n for n in range(1, 21) if low <= n <= min(high, free) and n % step == 0]
    listed = [] if found is None else list(range(found.low, found.high + 1, found.step))
    assert listed == right


def test_many_groups_that_cannot_fit_end_soon() -> None:
    nodes = [provider(f"node{n}", {"VCPU": 4}, parent="host") for n in range(8)]
    groups = tuple(
        RequestGroup(suffix=f"_{n}", resources={"VCPU": 6}, can_split=frozenset({"VCPU"}))
        for n in range(9)
    )
    search = SplitSearch(
        Index.build(rows(build(provider("host"), *nodes))), CandidateQuery(groups=groups)
    )
    assert search.find(None).candidates == ()
    assert search.steps < 2 * STEPS_OF_TREE_MAX * len(groups) * PIECES_MAX
