"""Budgets that run out at any point: explanations, counts and placements are never wrong."""

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.api.handlers.explain import render
from roost.errors import NoCandidates, SearchTooHard
from roost.model import SHARING_TRAIT, NewConsumer
from roost.operations.placing.candidates import PlacementRequest, choose_candidates
from roost.operations.placing.placements import place
from roost.query import AggregateRule, CandidateQuery, Order, OrderBy, RequestGroup, TraitRule
from roost.reasons import Explanation, Verdict
from roost.search.budget import ROWS_PER_UNIT, UNITS_PER_STEP, Budget
from roost.search.capacity import simulate_claims
from roost.search.explain.explain import explain
from roost.search.index.index import Index
from roost.service.search_time import SearchTime
from roost.service.service import Roost
from roost.settings import Settings
from roost.store import standard_names
from roost.store.migrations import migrate
from roost.store.store import Store
from tests.concurrency.races import add_provider
from tests.property.extended import worlds_and_extended_queries, worlds_and_split_queries
from tests.support.direct_client import direct_client
from tests.support.names import uid
from tests.support.world import World, build, load, provider, rows

# How many budgets of different sizes are tried between nothing and enough.
BUDGETS = 30

AVX = "HW_CPU_X86_AVX"
WORLD = build(
    provider("host1", {"DISK_GB": 20}, traits=[AVX], aggregates=["rack"]),
    *(provider(f"node{n}", {"VCPU": 4 + n}, parent="host1") for n in range(4)),
    provider("host2", {"VCPU": 8, "DISK_GB": 5}, aggregates=["rack"]),
    provider("host3", {"VCPU": 2, "DISK_GB": 50}, used={"VCPU": 2}),
    provider("pool", {"DISK_GB": 100}, traits=[SHARING_TRAIT], aggregates=["rack"]),
)
INDEX = Index.build(rows(WORLD))


def group(suffix: str, amount: int, *, may_split: bool = False, **rules: Any) -> RequestGroup:
    can_split = frozenset({"VCPU"}) if may_split else frozenset()
    return RequestGroup(suffix=suffix, resources={"VCPU": amount}, can_split=can_split, **rules)


QUERIES = {
    "plain": CandidateQuery(groups=(RequestGroup(resources={"VCPU": 2, "DISK_GB": 10}),)),
    "never": CandidateQuery(groups=(RequestGroup(resources={"VCPU": 99, "DISK_GB": 10}),)),
    "not now": CandidateQuery(
        groups=(RequestGroup(resources={"VCPU": 1}, in_tree=uid("host3")),),
    ),
    "isolated": CandidateQuery(groups=tuple(group(f"_{n}", 3) for n in range(5)), isolate=True),
    "rules": CandidateQuery(
        groups=(group("_A", 4, traits=TraitRule(required=(frozenset({AVX}),))), group("_B", 1)),
        root_aggregates=AggregateRule(required=(frozenset({uid("rack")}),)),
        same_subtree=(frozenset({"_A", "_B"}),),
    ),
    "split": CandidateQuery(groups=(group("_A", 9, may_split=True),)),
    "split together": CandidateQuery(
        groups=(group("_A", 9, may_split=True), group("_B", 8, may_split=True), group("_C", 4)),
    ),
    "split too much": CandidateQuery(
        groups=(group("_A", 12, may_split=True), group("_B", 12, may_split=True)),
    ),
}


def units_of(budget: Budget) -> int:
    rows, choices = budget.rows_examined, budget.choices_tried
    return rows // ROWS_PER_UNIT + choices + budget.steps * UNITS_PER_STEP


def budgets_up_to(units: int, count: int = BUDGETS) -> Iterator[Budget]:
    """Budgets that run out earlier and earlier, so that each part is interrupted by some."""
    sizes = {units * number // count for number in range(count)} | {0, 1, 64, 65}
    for size in sorted(sizes):
        yield Budget(units_max=size)


def check_explanation(found: Explanation, whole: Explanation, budget: Budget) -> None:
    assert found.verdict in (whole.verdict, Verdict.UNKNOWN)
    assert found.stages == whole.stages[: len(found.stages)]
    assert set(found.relaxations) <= set(whole.relaxations)
    assert not found.complete or found == whole
    assert not (budget.gave_up and found.complete)
    if found.tree is not None and found.tree.stage is not None:
        assert found.tree.stage == whole.tree.stage
    if found.tree is not None and found.tree.stage is None and found.tree.is_decided:
        assert whole.tree.stage is None
    rendered = render(found)
    assert rendered["summary"]
    assert rendered["complete"] is found.complete


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("root", [None, "host1", "host3"])
def test_an_explanation_says_what_it_knows(name: str, root: str | None) -> None:
    row = None if root is None else INDEX.row(uid(root))
    enough = Budget()
    whole = explain(INDEX, QUERIES[name], root=row, budget=enough)
    assert whole.complete
    seen = set()
    for budget in budgets_up_to(units_of(enough)):
        found = explain(INDEX, QUERIES[name], root=row, budget=budget)
        check_explanation(found, whole, budget)
        seen.add(found.verdict)
    # The first budget is too small for anything.
    assert Verdict.UNKNOWN in seen


def test_the_memory_of_an_explanation_does_not_grow_with_its_rules() -> None:
    world = build(*(provider(f"host{number}", {"VCPU": 256}) for number in range(1000)))
    index = Index.build(rows(world))

    def peak(group_count: int) -> int:
        groups = tuple(group(f"_{number}", 1) for number in range(group_count))
        tracemalloc.start()
        assert explain(index, CandidateQuery(groups=groups)).verdict == Verdict.FITS
        _, found = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return found

    # For each rule, 8 kB would be the rows of all hosts.
    assert peak(200) - peak(50) < 150 * 8000


@pytest.mark.parametrize("kind", ["traits", "resources"])
def test_thousands_of_rules_are_examined_in_small_steps(kind: str) -> None:
    """Each stage looks at the rules of its own group, and not at those of all groups."""
    names = [f"CUSTOM_{number}" for number in range(90)]
    world = build(provider("host", dict.fromkeys(names, 256)), traits=names)
    traits = TraitRule(forbidden=frozenset(names if kind == "traits" else ()))
    classes = names if kind == "resources" else names[:1]
    groups = tuple(
        RequestGroup(suffix=f"_{number}", resources=dict.fromkeys(classes, 1), traits=traits)
        for number in range(256)
    )
    questions: list[int] = []

    def may_go_on() -> bool:
        questions.append(calls[0])
        return len(questions) < 20

    calls = [0]

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        calls[0] += event in ("call", "c_call")

    index = Index.build(rows(world))
    sys.setprofile(count)
    try:
        found = explain(index, CandidateQuery(groups=groups), budget=Budget(may_go_on))
    finally:
        sys.setprofile(None)
    assert not found.complete
    # From one question to the next some milliseconds pass, whatever the request is.
    assert max(later - earlier for earlier, later in pairwise(questions)) < 20_000


@given(st.one_of(worlds_and_extended_queries(), worlds_and_split_queries()), st.integers(0, 400))
def test_explanations_and_counts_of_any_request_are_never_wrong(
    case: tuple[World, CandidateQuery], steps: int
) -> None:
    world, query = case
    index = Index.build(rows(world))
    whole = explain(index, query)
    budget = Budget(units_max=steps * UNITS_PER_STEP)
    check_explanation(explain(index, query, budget=budget), whole, budget)
    counted = simulate_claims(index, query)
    budget = Budget(units_max=steps * UNITS_PER_STEP)
    found = simulate_claims(index, query, budget=budget)
    assert found.count <= counted.count
    assert not found.complete or found.count == counted.count


@pytest.mark.parametrize("name", QUERIES)
def test_a_count_is_a_lower_bound(name: str) -> None:
    enough = Budget()
    whole = simulate_claims(INDEX, QUERIES[name], budget=enough)
    assert whole.complete
    for budget in budgets_up_to(units_of(enough)):
        found = simulate_claims(INDEX, QUERIES[name], budget=budget)
        assert found.count <= whole.count
        assert found.count == sum(times for _, times in found.claimed)
        assert found.complete is not budget.gave_up
        assert not found.complete or found.count == whole.count


def test_what_was_found_before_the_search_gave_up_is_counted() -> None:
    """Most of the time of a hard request goes into its first search, which finds some ways."""
    world = build(
        provider("host"),
        *(provider(f"node{number}", {"VCPU": 3}, parent="host") for number in range(14)),
    )
    query = CandidateQuery(groups=tuple(group(f"_{number}", 1) for number in range(4)))
    # Enough for some ways, and not for claiming any of them.
    found = simulate_claims(Index.build(rows(world)), query, budget=Budget(units_max=5000))
    assert not found.complete
    assert found.count == sum(times for _, times in found.claimed) > 0


# ---------------------------------------------------------------------------------------------
# Placements


@pytest.fixture
def roost(tmp_path: Path) -> Iterator[Roost]:
    store = Store.open(f"sqlite:///{tmp_path / 'roost.db'}")
    migrate.sync(store.engine)
    standard_names.synchronise(store)
    roost = Roost(store, Settings())
    for number in range(6):
        add_provider(roost, f"host{number}")
        for node in range(3):
            add_provider(roost, f"node{number}-{node}", f"host{number}", VCPU=4)
    yield roost
    roost.close()


def request_of(
    query: CandidateQuery, count: int, *, apart: bool = False, fill: bool = False
) -> PlacementRequest:
    consumers = tuple(
        NewConsumer(uuid=uid(f"vm{n}"), project_id="p", user_id="u", consumer_type="INSTANCE")
        for n in range(count)
    )
    return PlacementRequest(query=query, consumers=consumers, apart=apart, fill=fill)


WHOLE = CandidateQuery(groups=(group("", 3),))
TWO = CandidateQuery(groups=(group("_A", 3), group("_B", 4)), order=Order(by=OrderBy.ROOT))
SPLIT = CandidateQuery(groups=(group("", 6, may_split=True),))
PLACEMENTS = {
    "one": (request_of(WHOLE, 1), True),
    "many": (request_of(WHOLE, 18), True),
    "too many": (request_of(WHOLE, 19), False),
    "apart": (request_of(TWO, 6, apart=True), True),
    "too many apart": (request_of(TWO, 7, apart=True), False),
    "packed": (request_of(TWO, 3, fill=True), True),
    "split": (request_of(SPLIT, 12), True),
    "too many split": (request_of(SPLIT, 13), False),
    "nothing": (request_of(CandidateQuery(groups=(group("", 5),)), 1), False),
}


@pytest.mark.parametrize("name", PLACEMENTS)
def test_a_placement_that_gave_up_does_not_say_that_nothing_fits(roost: Roost, name: str) -> None:
    request, fits = PLACEMENTS[name]

    def outcome(budget: Budget) -> str:
        try:
            chosen = choose_candidates(roost, request, 0, Random(7), budget)
        except NoCandidates:
            return "nothing"
        except SearchTooHard:
            return "unknown"
        check_choice(request, chosen)
        return "placed"

    enough = Budget()
    assert outcome(enough) == ("placed" if fits else "nothing")
    outcomes = [outcome(budget) for budget in budgets_up_to(units_of(enough))]
    assert set(outcomes) <= {"placed" if fits else "nothing", "unknown"}
    # The first budget is too small for anything.
    assert outcomes[0] == "unknown"


def check_choice(request: PlacementRequest, chosen: Any) -> None:
    used: dict[str, int] = {}
    for candidate in chosen:
        for uuid, held in candidate.allocations.items():
            used[uuid] = used.get(uuid, 0) + held["VCPU"]
    asked = sum(each.resources["VCPU"] for each in request.query.groups)
    assert sum(used.values()) == asked * len(request.consumers)
    assert max(used.values()) <= 4


def test_attempts_share_one_budget(roost: Roost, monkeypatch: pytest.MonkeyPatch) -> None:
    budgets: list[Budget] = []

    def search_budget() -> Budget:
        budgets.append(Budget(units_max=0))
        return budgets[-1]

    monkeypatch.setattr(roost, "search_budget", search_budget)
    many = tuple(group(f"_{n}", 2) for n in range(4))
    with pytest.raises(SearchTooHard, match="unknown whether there is a place"):
        place(roost, request=request_of(CandidateQuery(groups=many), 4))
    assert len(budgets) == 1


# ---------------------------------------------------------------------------------------------
# Over HTTP


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    with direct_client(f"sqlite:///{tmp_path / 'http.db'}") as client:
        load(WORLD, client)
        yield client


def stop_after(questions: int) -> Callable[[SearchTime], bool]:
    left = iter([True] * questions)
    return lambda _: next(left, False)


def test_answers_over_http_say_that_they_are_not_complete(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SearchTime, "may_go_on", stop_after(0))
    found = client.get("/allocation_candidates/explain?resources=VCPU:99").json()
    assert (found["verdict"], found["complete"]) == ("unknown", False)
    found = client.get("/capacity?resources=VCPU:1").json()
    assert (found["count"], found["complete"]) == (0, False)
