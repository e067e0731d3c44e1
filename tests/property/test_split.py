"""Splits follow the documentation, on worlds small enough to try everything."""

from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as evolve

from roost.model import INTEGER_MAX
from roost.query import CandidateQuery, Order, OrderBy, RequestGroup, TraitRule
from roost.search.budget import UNITS_PER_STEP, Budget
from roost.search.find import find
from roost.search.index.index import Index
from roost.search.split.pieces import PIECES_MAX, Offers, PieceSizes, piece_sizes, splits
from roost.search.split.request import STEPS_OF_TREE_MAX
from roost.search.split.search import SplitSearch
from tests import oracle
from tests.property.extended import make_split_query, worlds_and_split_queries
from tests.property.strategies import EXAMPLE_COUNT, Seeded, make_world
from tests.support.names import uid
from tests.support.world import World, build, provider, rows

QUERIES_PER_WORLD = 4


def check(world: World, query: CandidateQuery, note: object = None) -> int:
    """Check all candidates; return how many of them are split."""
    index = Index.build(rows(world))
    found = find(index, query)
    answers = [oracle.answer_of_candidate(each) for each in found.candidates]
    assert len(answers) == len(set(answers)), (note, query)
    assert not found.gave_up, (note, query)
    check_answers(world, query, set(answers), note)
    plain = evolve(query, groups=tuple(evolve(g, can_split=frozenset()) for g in query.groups))
    whole = {oracle.answer_of_candidate(each) for each in find(index, plain).candidates}
    return len(set(answers) - whole)


def check_answers(
    world: World, query: CandidateQuery, found: set[oracle.Answer], note: object
) -> None:
    """All minimal splits are found, and some other one in a tree that has no minimal one."""
    minimal, others = set(), set()
    for root in world.roots:
        minimal_of_tree = valid_answers(oracle.assignments(world, query, root))
        minimal |= minimal_of_tree
        if not minimal_of_tree:
            other = valid_answers(oracle.all_assignments(world, query, root))
            assert bool(other) == bool(other & found), (note, query)
            others |= other
    assert minimal <= found <= minimal | others, (note, query)


def valid_answers(assignments: Iterable[oracle.Assignment]) -> set[oracle.Answer]:
    return {oracle.answer(each) for each in assignments if all(rule(each) for rule in oracle.RULES)}


@given(worlds_and_split_queries())
def test_the_search_finds_exactly_the_valid_candidates(case: tuple[World, CandidateQuery]) -> None:
    check(*case)


@given(worlds_and_split_queries(), st.integers(0, 100))
def test_a_search_that_gives_up_says_so_and_finds_nothing_else(
    case: tuple[World, CandidateQuery], steps: int
) -> None:
    world, query = case
    index = Index.build(rows(world))
    everything = find(index, query).candidates
    found = find(index, query, budget=Budget(units_max=steps * UNITS_PER_STEP))
    assert found.candidates == everything[: found.count]
    assert found.gave_up or found.count == len(everything)


def test_the_search_finds_exactly_the_valid_candidates_for_seeds() -> None:
    counts: Counter[bool] = Counter()
    # Enough for the share below, however few examples are asked for.
    for seed in range(max(EXAMPLE_COUNT // 4, 100)):
        choices = Seeded(seed)
        world = make_world(choices)
        for _ in range(QUERIES_PER_WORLD):
            counts[check(world, make_split_query(choices, world), seed) > 0] += 1
    assert counts[True] > 0.05 * counts.total(), counts


def test_pages_begin_with_the_fewest_pieces() -> None:
    for seed in range(EXAMPLE_COUNT // 4):
        choices = Seeded(seed)
        world = make_world(choices)
        index = Index.build(rows(world))
        order = choices.one_of(
            [Order(by=OrderBy.PACK), Order(by=OrderBy.ROOT), Order(by=OrderBy.RANDOM, seed=3)]
        )
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


def test_summaries_show_every_tree_that_serves() -> None:
    for seed in range(EXAMPLE_COUNT // 8):
        choices = Seeded(seed)
        world = make_world(choices)
        query = make_split_query(choices, world)
        found = find(Index.build(rows(world)), query)
        serving = {uuid for each in found.candidates for uuid in each.allocations}
        trees = {world.providers[uuid].root_uuid for uuid in serving}
        shown = {one.uuid for one in world.providers.values() if one.root_uuid in trees}
        assert {one.uuid for one in found.summaries} == shown


def test_one_provider_is_filled_and_the_next_gives_the_rest() -> None:
    nodes = {1: PieceSizes(1, 4, 1), 2: PieceSizes(1, 4, 1)}
    assert list(splits(Offers(nodes), 6)) == [{1: 4, 2: 2}, {2: 4, 1: 2}]
    assert list(splits(Offers(nodes), 4)) == [{1: 4}, {2: 4}]
    assert list(splits(Offers(nodes), 9)) == []


def test_the_first_piece_leaves_what_the_second_needs() -> None:
    assert list(splits(Offers({1: PieceSizes(1, 4, 1), 2: PieceSizes(3, 3, 1)}), 6)) == [
        {1: 3, 2: 3}
    ]


def test_large_amounts_with_coprime_steps_end_soon() -> None:
    sizes = {
        n: PieceSizes(step, INTEGER_MAX // step * step, step) for n, step in enumerate((7, 11, 13))
    }
    assert list(splits(Offers(sizes), 2**31 + 2)) != []
    assert list(splits(Offers({n: PieceSizes(2, 2**30, 2) for n in range(20)}), 2**31 - 1)) == []
    assert list(splits(Offers({n: PieceSizes(1, 1, 1) for n in range(200)}), 2**62)) == []


@given(st.integers(0, 20), st.integers(1, 5), st.integers(1, 20), st.integers(1, 5))
def test_the_sizes_of_a_piece_are_what_fits(free: int, low: int, high: int, step: int) -> None:
    found = piece_sizes(free=free, min_unit=low, max_unit=high, step_size=step)
    expected = [n for n in range(1, 21) if low <= n <= min(high, free) and n % step == 0]
    listed = [] if found is None else list(range(found.low, found.high + 1, found.step))
    assert listed == expected


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


def amounts(world: World, query: CandidateQuery) -> list[dict[str, dict[str, int]]]:
    return [
        {world.providers[uuid].name: held for uuid, held in each.allocations.items()}
        for each in find(Index.build(rows(world)), query).candidates
    ]


def split_group(suffix: str, amount: int, **rules: object) -> RequestGroup:
    return RequestGroup(
        suffix=suffix, resources={"VCPU": amount}, can_split=frozenset({"VCPU"}), **rules
    )


def test_what_other_groups_leave_is_split() -> None:
    """Either node alone has four, but each also has to serve a group that is bound to it."""
    world = build(
        provider("host"),
        provider("numa0", {"VCPU": 4}, parent="host"),
        provider("numa1", {"VCPU": 4}, parent="host"),
    )
    bound = (
        RequestGroup(suffix=f"_{n}", resources={"VCPU": 2}, in_subtree=uid(f"numa{n}"))
        for n in range(2)
    )
    query = CandidateQuery(groups=(split_group("_S", 4), *bound))
    assert amounts(world, query) == [{"numa0": {"VCPU": 4}, "numa1": {"VCPU": 4}}]
    # The order of the groups makes a difference: the second one fits on one node only.
    only = split_group("_B", 2, in_subtree=uid("numa0"))
    groups = (split_group("_A", 6), only)
    assert amounts(world, CandidateQuery(groups=groups)) == [
        {"numa0": {"VCPU": 4}, "numa1": {"VCPU": 4}}
    ]


def test_a_provider_is_added_for_its_trait() -> None:
    trait = "HW_CPU_X86_AVX"
    world = build(
        provider("host"),
        provider("numa0", {"VCPU": 4}, parent="host"),
        provider("numa1", {"VCPU": 2}, parent="host", traits=[trait]),
    )
    rule = TraitRule(required=(frozenset([trait]),))
    found = amounts(world, CandidateQuery(groups=(split_group("", 4, traits=rule),)))
    assert {"numa0": {"VCPU": 2}, "numa1": {"VCPU": 2}} in found
    assert all("numa1" in each for each in found)


def test_a_provider_is_added_because_it_is_above_the_others() -> None:
    world = build(
        provider("host", {"VCPU": 1}),
        provider("numa0", {"VCPU": 4}, parent="host"),
        provider("nic1", {"SRIOV_NET_VF": 1}, parent="host"),
    )
    port = RequestGroup(suffix="_P", resources={"SRIOV_NET_VF": 1})
    groups = (split_group("_A", 4), port)
    query = CandidateQuery(groups=groups, same_subtree=(frozenset({"_A", "_P"}),))
    assert amounts(world, query) == [
        {"host": {"VCPU": 1}, "numa0": {"VCPU": 3}, "nic1": {"SRIOV_NET_VF": 1}}
    ]
