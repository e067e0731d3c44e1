"""Amounts that may be split over wide trees: what fits is found, and "nothing fits" is proven."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.api.schemas.bounds import SPLITS_MAX
from roost.model import Candidate, Inventory
from roost.query import CandidateQuery, Order, OrderBy, RequestGroup
from roost.reasons import Verdict
from roost.search.budget import Budget
from roost.search.capacity import simulate_claims
from roost.search.explain.explain import explain
from roost.search.find import find
from roost.search.index.index import Index
from roost.search.split import request as limits
from roost.search.split.pieces import PIECES_MAX, Offers, PieceSizes, SplitKind, divisions, splits
from roost.search.split.search import SplitSearch
from tests import oracle
from tests.support.direct_client import direct_client
from tests.support.names import uid
from tests.support.world import World, build, load, provider, rows

# Eight children of each size from 7 to 11.
SIZES = [7 + number % 5 for number in range(40)]


def tree(sizes: Sequence[int | Inventory]) -> World:
    children = (
        provider(f"child{n}", {"VCPU": size}, parent="host") for n, size in enumerate(sizes)
    )
    return build(provider("host"), *children)


def split_groups(*amounts: int) -> tuple[RequestGroup, ...]:
    return tuple(
        RequestGroup(suffix=f"_{n}", resources={"VCPU": amount}, can_split=frozenset({"VCPU"}))
        for n, amount in enumerate(amounts)
    )


def search(sizes: Sequence[int | Inventory], *amounts: int, **rules: Any) -> SplitSearch:
    query = CandidateQuery(groups=split_groups(*amounts), **rules)
    return SplitSearch(Index.build(rows(tree(sizes))), query)


def check(candidate: Candidate, sizes: Sequence[int], *amounts: int) -> None:
    taken = {uuid: held["VCPU"] for uuid, held in candidate.allocations.items()}
    size_of = {uid(f"child{n}"): size for n, size in enumerate(sizes)}
    assert all(0 < amount <= size_of[uuid] for uuid, amount in taken.items())
    assert sum(taken.values()) == sum(amounts)
    for number, amount in enumerate(amounts):
        serving = candidate.mappings[f"_{number}"]
        assert len(serving) <= PIECES_MAX
        assert sum(taken[uuid] for uuid in serving) >= amount


@pytest.mark.parametrize("seed", range(8))
def test_what_fits_into_a_wide_tree_is_found_at_once(seed: int) -> None:
    sizes = list(SIZES)
    Random(seed).shuffle(sizes)
    for isolate in (False, True):
        wide = search(sizes, 30, 30, 30, isolate=isolate)
        [found] = wide.find(1).candidates
        check(found, sizes, 30, 30, 30)
        assert not wide.gave_up
        assert wide.steps < 200


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_the_work_does_not_grow_with_the_width_of_the_tree(count: int) -> None:
    steps = []
    for width in (100, 1000):
        wide = search([7 + n % 5 for n in range(width)], *[30] * count)
        assert wide.find(1).count == 1
        steps.append(wide.steps)
    assert steps[1] <= steps[0] < 100 * count


@pytest.mark.parametrize(
    ("sizes", "amounts"),
    [(SIZES, [30] * 13), ([4] * 8, [6] * 9), ([11] * 1000, [45]), ([1] * 5000, [5])],
    ids=["too many groups", "many groups", "more than four pieces", "small pieces"],
)
def test_sums_prove_that_nothing_fits(sizes: list[int], amounts: list[int]) -> None:
    full = search(sizes, *amounts)
    found = full.find(None)
    assert (found.count, found.gave_up, full.steps) == (0, False, 0)


def test_isolated_groups_leave_no_room_to_waste() -> None:
    """Ten of seven and ten of four: eleven fits ten times only as seven and four."""
    exact = search([7] * 10 + [4] * 10, *[11] * 10, isolate=True)
    [found] = exact.find(1).candidates
    check(found, [7] * 10 + [4] * 10, *[11] * 10)
    assert exact.steps < 5000


def test_what_was_not_tried_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve groups of 30 would need all that the children have."""
    monkeypatch.setattr(limits, "STEPS_OF_TREE_MAX", 500)
    monkeypatch.setattr(limits, "STEPS_MAX", 5000)
    hard = search(SIZES, *[30] * 12)
    found = hard.find(None)
    assert (found.count, found.gave_up) == (0, True)
    assert hard.steps < 6000
    many = search(SIZES, 30)
    found = many.find(None)
    assert found.count > 50
    assert found.gave_up
    few = search([4, 4], 6)
    found = few.find(None)
    assert (found.count, found.gave_up) == (2, False)


def test_pages_go_on_where_the_last_one_ended() -> None:
    order = Order(by=OrderBy.ROOT)
    everything = search([4, 3, 3, 2], 6, order=order).find(None).candidates
    paged: list[Candidate] = []
    after = None
    while True:
        page = search([4, 3, 3, 2], 6, order=order, after=after).find(2)
        paged += page.candidates
        after = page.next
        if after is None:
            break
    assert tuple(paged) == everything
    assert len(everything) > 4


def test_a_page_that_ran_out_of_time_can_be_continued() -> None:
    query = CandidateQuery(groups=split_groups(30), order=Order(by=OrderBy.ROOT))
    index = Index.build(rows(tree(SIZES)))
    page = SplitSearch(index, query, budget=Budget(units_max=64 * 100)).find(1000)
    assert 0 < page.count < 1000
    assert page.gave_up
    assert page.next is not None


@given(
    st.lists(
        st.builds(
            Inventory,
            total=st.integers(1, 6),
            min_unit=st.integers(1, 3),
            max_unit=st.integers(3, 6),
            step_size=st.integers(1, 3),
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.integers(1, 6), min_size=1, max_size=2),
    st.sampled_from([0, 10, 40, 200, None]),
)
def test_small_trees_are_decided_as_by_trying_everything(
    inventories: list[Inventory], amounts: list[int], steps: int | None
) -> None:
    """With units that do not meet, groups that compete, and budgets that end too early."""
    world = tree(inventories)
    query = CandidateQuery(groups=split_groups(*amounts))
    budget = Budget() if steps is None else Budget(units_max=64 * steps)
    found = find(Index.build(rows(world)), query, budget=budget)
    valid = {
        oracle.answer(each)
        for root in world.roots
        for each in oracle.all_assignments(world, query, root)
        if all(rule(each) for rule in oracle.RULES)
    }
    assert {oracle.answer_of_candidate(each) for each in found.candidates} <= valid
    assert found.gave_up or bool(found.count) == bool(valid)
    if steps is None:
        assert not found.gave_up


SIZE = st.builds(
    lambda low, more, step: PieceSizes(low * step, (low + more) * step, step),
    st.integers(1, 4),
    st.integers(0, 6),
    st.integers(1, 7),
)


@given(st.lists(SIZE, min_size=1, max_size=4), st.integers(1, 60))
def test_divisions_are_all_divisions(sizes: list[PieceSizes], amount: int) -> None:
    def divided(rest: Sequence[PieceSizes], left: int) -> Iterator[list[int]]:
        if not rest:
            if left == 0:
                yield []
            return
        for piece in range(rest[0].high, rest[0].low - 1, -rest[0].step):
            yield from ([piece, *others] for others in divided(rest[1:], left - piece))

    expected = list(divided(sizes, amount))
    assert list(divisions(sizes, amount)) == expected
    of_all = range(len(sizes), len(sizes) + 1)
    every = splits(Offers(dict(enumerate(sizes))), amount, kind=SplitKind.ANY_SIZE, counts=of_all)
    in_rows = sorted([each[number] for number in range(len(sizes))] for each in every)
    assert in_rows == sorted(expected)


# ---------------------------------------------------------------------------------------------
# The same in explanations and counts, and over HTTP


def test_explanations_and_counts_find_it_too() -> None:
    index = Index.build(rows(tree(SIZES)))
    query = CandidateQuery(groups=split_groups(30, 30, 30))
    explained = explain(index, query)
    assert (explained.verdict, explained.complete) == (Verdict.FITS, True)
    counted = simulate_claims(index, query)
    # The children have 360 in all, and each request takes 90.
    assert 1 <= counted.count <= 4
    # That one group less would fit is hard to find out. That nothing fits is not.
    budget = Budget(units_max=64 * 5_000)
    full = explain(index, CandidateQuery(groups=split_groups(*[30] * 13)), budget=budget)
    assert (full.verdict, full.stages[-1].trees_out) == (Verdict.NEVER, 0)
    assert not full.complete


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    with direct_client(f"sqlite:///{tmp_path / 'roost.db'}") as client:
        load(tree(SIZES), client)
        yield client


def query_string(*amounts: int) -> str:
    groups = "&".join(f"resources_{n}=VCPU:{amount}" for n, amount in enumerate(amounts))
    return f"{groups}&can_split=VCPU&group_policy=none"


def test_searches_say_whether_they_are_complete(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = client.get(f"/allocation_candidates?{query_string(30, 30, 30)}&limit=1").json()
    assert len(found["allocation_requests"]) == 1
    assert found["complete"] is True
    # Nothing fits, and that is certain.
    found = client.get(f"/allocation_candidates?{query_string(*[30] * 13)}").json()
    assert (found["allocation_requests"], found["complete"]) == ([], True)
    # Only requests that may split have the field.
    assert "complete" not in client.get("/allocation_candidates?resources=VCPU:1").json()
    monkeypatch.setattr(limits, "STEPS_OF_TREE_MAX", 200)
    monkeypatch.setattr(limits, "STEPS_MAX", 2000)
    found = client.get(f"/allocation_candidates?{query_string(30, 30, 30)}").json()
    assert found["allocation_requests"]
    assert found["complete"] is False
    refused = client.get(f"/allocation_candidates?{query_string(*[30] * 12)}")
    assert refused.status_code == 400
    assert "it is unknown what fits" in refused.json()["errors"][0]["detail"]


def placement(query: str, *names: str) -> dict[str, Any]:
    consumer = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    return {"query": query, "consumers": {uid(name): consumer for name in names}}


def test_placements_find_it_too(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    three = query_string(30, 30, 30)
    placed = client.post("/placements", json=placement(three, "a", "b"))
    assert placed.status_code == 200, placed.text
    # 180 of 360 are taken, so five more have no place, which is certain.
    refused = client.post("/placements", json=placement(three, *"cdefg"))
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (
        409,
        "placement.no_candidates",
    )
    # What was not tried may be a place.
    monkeypatch.setattr(limits, "STEPS_OF_TREE_MAX", 0)
    for names in ("c", "cd"):
        refused = client.post("/placements", json=placement(three, *names))
        assert refused.status_code == 400
        detail = refused.json()["errors"][0]["detail"]
        who = "the consumer" if len(names) == 1 else "all 2 consumers"
        assert f"it is unknown whether there is a place for {who}" in detail


# ---------------------------------------------------------------------------------------------
# As many slots as a request may have


@pytest.mark.parametrize("group_count", [1, 128])
def test_a_request_with_very_many_amounts(group_count: int) -> None:
    """One call for each of them within the other would be more than Python allows."""
    classes = [f"CUSTOM_{number}" for number in range(2 * SPLITS_MAX // group_count)]
    amounts = dict.fromkeys(classes, 3)
    # More than a request may have, so that the search does not depend on that bound.
    groups = tuple(
        RequestGroup(suffix=f"_{number}", resources=amounts, can_split=frozenset(classes))
        for number in range(group_count)
    )
    world = build(provider("host", dict.fromkeys(classes, 3 * group_count)))
    index = Index.build(rows(world))
    assert find(index, CandidateQuery(groups=groups, limit=1)).count == 1
    assert find(index, CandidateQuery(groups=groups, limit=1), budget=Budget(units_max=0)).gave_up
    assert explain(index, CandidateQuery(groups=groups)).verdict == Verdict.FITS
