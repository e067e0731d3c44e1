"""Simulated claims can really be made, one after the other, and then nothing fits."""

from collections.abc import Iterator

from hypothesis import given
from msgspec.structs import replace as evolve

from roost.model import Inventory
from roost.query import CandidateQuery, RequestGroup
from roost.search.budget import Budget
from roost.search.capacity import SimulatedClaims, simulate_claims
from roost.search.index.index import Index
from roost.search.times_max import times_max
from tests import oracle
from tests.property.extended import (
    make_extended_query,
    make_split_query,
    worlds_and_extended_queries,
    worlds_and_split_queries,
)
from tests.property.strategies import EXAMPLE_COUNT, Seeded, make_world
from tests.support.world import World, build, provider, rows


def world_after_claims(
    index: Index, world: World, query: CandidateQuery, simulated: SimulatedClaims
) -> World:
    """The world after all claims. Each claim must be a candidate when it is made."""
    names = index.classes.names
    for amounts, times in simulated.claimed:
        allocations = frozenset(
            (index.uuids[row], names[class_id], amount)
            for (row, class_id), amount in amounts.items()
        )
        for _ in range(times):
            assert allocations in valid_allocations(world, query)
            world = with_claim(world, allocations)
    return world


def valid_allocations(
    world: World, query: CandidateQuery
) -> Iterator[frozenset[tuple[str, str, int]]]:
    for root in world.roots:
        for assignment in oracle.all_assignments(world, query, root):
            if all(rule(assignment) for rule in oracle.RULES):
                yield oracle.answer(assignment).allocations


def with_claim(world: World, allocations: frozenset[tuple[str, str, int]]) -> World:
    providers = dict(world.providers)
    for uuid, name, amount in allocations:
        one = providers[uuid]
        providers[uuid] = evolve(one, used={**one.used, name: one.used[name] + amount})
    return evolve(world, providers=providers)


def check(index: Index, world: World, query: CandidateQuery) -> None:
    before = index.contents()
    simulated = simulate_claims(index, query)
    assert index.contents() == before
    assert simulated.complete
    bound = times_max(index, query, Budget())
    assert bound is None or bound >= simulated.count
    assert simulated.count == sum(times for _, times in simulated.claimed)
    after = world_after_claims(index, world, query, simulated)
    assert not oracle.possible(after, query)
    assert (simulated.count > 0) == oracle.possible(world, query)
    counts_by_root = {
        index.uuids[root]: sum(
            times
            for amounts, times in simulated.claimed
            if any(index.rows.root[row] == root for row, _ in amounts)
        )
        for root in simulated.by_root
    }
    assert counts_by_root == {index.uuids[root]: count for root, count in simulated.by_root.items()}


@given(worlds_and_extended_queries() | worlds_and_split_queries())
def test_simulated_claims_are_valid_until_nothing_fits(case: tuple[World, CandidateQuery]) -> None:
    world, query = case
    check(Index.build(rows(world)), world, query)


def test_simulated_claims_are_valid_until_nothing_fits_for_seeds() -> None:
    for seed in range(EXAMPLE_COUNT // 4):
        choices = Seeded(seed)
        world = make_world(choices)
        index = Index.build(rows(world))
        for _ in range(3):
            check(index, world, make_extended_query(choices, world))
        check(index, world, make_split_query(choices, world))


def test_providers_with_more_than_numbers_can_hold() -> None:
    """An overcommitment of 1e30 is allowed, and two such providers have more than 64 bits hold."""
    endless = Inventory(total=2**31 - 1, allocation_ratio=1e30)
    world = build(
        provider("host"), *(provider(f"n{n}", {"VCPU": endless}, parent="host") for n in range(2))
    )
    index = Index.build(rows(world))
    query = CandidateQuery(groups=(RequestGroup(resources={"VCPU": 1}),))
    bound = times_max(index, query, Budget())
    assert bound is not None
    assert bound > 10**18
