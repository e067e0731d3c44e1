"""Explanations count and promise correctly, on worlds small enough to try everything."""

from hypothesis import given
from msgspec.structs import replace as evolve

from roost.query import CandidateQuery
from roost.reasons import Explanation, Relaxation, RuleKind, Verdict
from roost.search.explain.explain import explain
from roost.search.explain.rules import decompose, with_amount, without
from roost.search.index.index import Index
from tests import funnel_oracle, oracle
from tests.property.extended import (
    make_extended_query,
    make_split_query,
    worlds_and_extended_queries,
    worlds_and_split_queries,
)
from tests.property.strategies import EXAMPLE_COUNT, Seeded, make_world
from tests.support.world import World, rows

QUERIES_PER_WORLD = 5


def fits(world: World, query: CandidateQuery) -> bool:
    return oracle.possible(world, query)


def without_usage(world: World) -> World:
    return evolve(
        world,
        providers={
            uuid: evolve(one, used=dict.fromkeys(one.used, 0))
            for uuid, one in world.providers.items()
        },
    )


def check_funnel(world: World, query: CandidateQuery, found: Explanation) -> None:
    counts = [
        funnel_oracle.Count(
            stage.rule.kind,
            stage.rule.group,
            stage.rule.names,
            stage.trees_in,
            stage.trees_out,
            stage.providers_in,
            stage.providers_out,
        )
        for stage in found.stages
    ]
    assert counts == funnel_oracle.funnel(world, query), query


def check_verdict(world: World, query: CandidateQuery, found: Explanation) -> None:
    if fits(world, query):
        verdict = Verdict.FITS
    else:
        verdict = Verdict.NOT_NOW if fits(without_usage(world), query) else Verdict.NEVER
    assert found.verdict == verdict, query


def check_relaxations(world: World, query: CandidateQuery, found: Explanation) -> None:
    if found.verdict == Verdict.FITS:
        assert found.relaxations == ()
        return
    expected = []
    for rule in decompose(query):
        if rule.kind == RuleKind.RESOURCES:
            amounts = range(rule.amount - 1, 0, -1)
            lowered = next((n for n in amounts if fits(world, with_amount(query, rule, n))), None)
            if lowered is not None:
                expected.append(Relaxation(rule=rule, amount=lowered))
                continue
            [group] = [each for each in query.groups if each.suffix == rule.group]
            if len(group.resources) == 1:
                continue
        if rule.kind != RuleKind.CAPACITY and fits(world, without(query, [rule])):
            expected.append(Relaxation(rule=rule))
    assert sorted(found.relaxations, key=repr) == sorted(expected, key=repr), query
    assert list(found.relaxations) == sorted(found.relaxations, key=lambda each: each.cost)
    assert found.complete


def check(index: Index, world: World, query: CandidateQuery) -> None:
    found = explain(index, query)
    check_funnel(world, query, found)
    check_verdict(world, query, found)
    check_relaxations(world, query, found)
    assert bool(found.nearest) == (found.verdict != Verdict.FITS and found.trees > 0)


@given(worlds_and_extended_queries())
def test_counts_verdicts_and_relaxations_are_correct(case: tuple[World, CandidateQuery]) -> None:
    world, query = case
    check(Index.build(rows(world)), world, query)


def test_counts_verdicts_and_relaxations_are_correct_for_seeds() -> None:
    for seed in range(EXAMPLE_COUNT // 4):
        choices = Seeded(seed)
        world = make_world(choices)
        index = Index.build(rows(world))
        for _ in range(QUERIES_PER_WORLD):
            check(index, world, make_extended_query(choices, world))


@given(worlds_and_split_queries())
def test_explanations_of_split_amounts_are_correct(case: tuple[World, CandidateQuery]) -> None:
    world, query = case
    check(Index.build(rows(world)), world, query)


def test_explanations_of_split_amounts_are_correct_for_seeds() -> None:
    for seed in range(EXAMPLE_COUNT // 8):
        choices = Seeded(seed)
        world = make_world(choices)
        check(Index.build(rows(world)), world, make_split_query(choices, world))


@given(worlds_and_extended_queries() | worlds_and_split_queries())
def test_the_explanation_of_a_tree_is_correct(case: tuple[World, CandidateQuery]) -> None:
    """A tree fits if it has a candidate by itself, with what is shared with it."""
    world, query = case
    index = Index.build(rows(world))
    for root in world.roots:
        found = explain(index, query, root=index.row_of_uuid[root.uuid])
        expected = any(
            all(rule(assignment) for rule in oracle.RULES)
            for assignment in oracle.all_assignments(world, query, root)
        )
        assert (found.verdict == Verdict.FITS) == expected
        assert found.tree is not None
        assert (found.tree.stage is None) == expected
        if found.tree.stage is not None:
            stage = found.stages[found.tree.stage]
            assert stage.trees_in > stage.trees_out
            assert found.tree.rule == stage.rule
