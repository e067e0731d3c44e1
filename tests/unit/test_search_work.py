"""The cost of a search, in steps rather than in time."""

import math
from collections import Counter
from random import Random

import pytest
from msgspec.structs import replace as evolve

from roost.changes import Changes
from roost.model import SHARING_TRAIT, Inventory
from roost.query import CandidateQuery, Order, OrderBy, RequestGroup, TraitRule
from roost.search.budget import Budget
from roost.search.find import find
from roost.search.index.advance import advance
from roost.search.index.index import Index
from roost.search.ordered.pages import BLOCK_MIN, BLOCKS_MAX, WAYS_AT_FIRST
from roost.search.split.search import SplitSearch
from roost.search.tree_options import RANGE_MIN, ROWS_PER_CANDIDATE
from tests.support.world import build, provider, rows


def groups(count, resource_class="SRIOV_NET_VF", amount=1):
    return tuple(
        RequestGroup(suffix=str(number), resources={resource_class: amount})
        for number in range(1, count + 1)
    )


def host_with_devices(count, inventory):
    devices = [
        provider(f"device{number}", {"SRIOV_NET_VF": inventory}, parent="host")
        for number in range(count)
    ]
    return Index.build(rows(build(provider("host", {"VCPU": 8}), *devices)))


def flat_hosts(count):
    return Index.build(rows(build(*(provider(f"host{n}", {"VCPU": 8}) for n in range(count)))))


def test_a_limit_bounds_the_choices_that_are_tried():
    index, budget = host_with_devices(8, 8), Budget()
    answer = find(index, CandidateQuery(groups=groups(8), limit=1000), budget=budget)
    assert len(answer.candidates) == 1000
    # 8 ** 8 ways exist.
    assert budget.choices_tried < 20_000


def test_a_limit_bounds_the_choices_under_isolate():
    index, budget = host_with_devices(8, 8), Budget()
    query = CandidateQuery(groups=groups(8), isolate=True, limit=1000)
    answer = find(index, query, budget=budget)
    assert len(answer.candidates) == 1000
    assert budget.choices_tried < 20_000


@pytest.mark.parametrize("by", OrderBy)
def test_a_page_tries_few_of_all_choices(by):
    index, budget = flat_hosts(3000), Budget()
    query = CandidateQuery(groups=groups(2, "VCPU"), order=Order(by=by), limit=10)
    page = find(index, query, budget=budget)
    assert len(page.candidates) == 10
    assert budget.rows_examined <= 2 * BLOCK_MIN
    assert budget.choices_tried <= WAYS_AT_FIRST
    budget = Budget()
    assert len(find(index, evolve(query, after=page.next), budget=budget).candidates) == 10
    assert budget.choices_tried <= WAYS_AT_FIRST


def claim(index, row=0, amount=1):
    class_id = index.classes.ids["VCPU"]
    advance(index, Changes(usage={(index.ids[row], class_id): amount}))


@pytest.mark.parametrize("by", [OrderBy.PACK, OrderBy.SPREAD, OrderBy.ROOT])
def test_a_claim_moves_one_tree(by):
    index, budget = flat_hosts(2000), Budget()
    query = CandidateQuery(groups=groups(1, "VCPU"), order=Order(by=by), limit=1)
    find(index, query, budget=budget)
    assert budget.trees_sorted >= 2000
    for row in (0, 700, 0):
        claim(index, row)
        budget = Budget()
        assert find(index, query, budget=budget).count == 1
        # It stays where it is in an order by UUID.
        assert budget.trees_sorted == (by is not OrderBy.ROOT)
    budget = Budget()
    find(index, query, budget=budget)
    assert budget.trees_sorted == 0


@pytest.mark.parametrize("by", [OrderBy.PACK, OrderBy.SPREAD, OrderBy.ROOT])
def test_the_work_of_a_page_does_not_grow_with_the_cloud(by):
    work = set()
    for count in (500, 5000):
        index = flat_hosts(count)
        query = CandidateQuery(groups=groups(1, "VCPU"), order=Order(by=by), limit=1)
        find(index, query)
        for row in range(3):
            claim(index, row)
            budget = Budget()
            find(index, query, budget=budget)
            work.add((budget.rows_examined, budget.choices_tried, budget.steps))
    assert len(work) == 1


def test_a_page_that_few_trees_can_serve_examines_each_about_once():
    hosts = [provider(f"host{n}", {"VCPU": 8}, used={"VCPU": 8}) for n in range(5000)]
    index = Index.build(rows(build(*hosts, provider("free", {"VCPU": 8}))))
    order, budget = Order(by=OrderBy.PACK), Budget()
    query = CandidateQuery(groups=groups(1, "VCPU"), order=order, limit=1)
    assert find(index, query, budget=budget).count == 1
    assert budget.rows_examined <= 5001 + 2 * BLOCKS_MAX
    # Searches remember where nothing is free, and pass over it as long as nothing changes there.
    for _ in range(5000 // BLOCKS_MAX + 1):
        find(index, query)
    budget = Budget()
    assert find(index, query, budget=budget).count == 1
    assert budget.rows_examined < BLOCKS_MAX
    claim(index, 17, -8)
    answer = find(index, query)
    assert index.row_of_uuid[next(iter(answer.candidates[0].allocations))] in (17, 5000)
    assert find(index, evolve(query, limit=2)).count == 2


def test_without_a_limit_every_way_is_found_once():
    index = host_with_devices(5, 8)
    answer = find(index, CandidateQuery(groups=groups(5), isolate=True))
    distinct = {tuple(sorted(one.mappings.items())) for one in answer.candidates}
    assert len(answer.candidates) == len(distinct) == math.factorial(5)


@pytest.mark.parametrize(
    ("isolate", "inventory"),
    [(True, Inventory(total=8)), (False, Inventory(total=1))],
    ids=["isolate", "one unit each"],
)
def test_more_groups_than_devices_fail_without_trying_everything(isolate, inventory):
    index, budget = host_with_devices(12, inventory), Budget()
    answer = find(index, CandidateQuery(groups=groups(13), isolate=isolate), budget=budget)
    assert answer.candidates == ()
    # 12! ways to fail exist.
    assert budget.choices_tried < 10_000


def test_a_small_limit_examines_few_trees():
    index, budget = flat_hosts(10 * RANGE_MIN), Budget()
    query = CandidateQuery(groups=(RequestGroup(resources={"VCPU": 1}),), limit=5)
    assert len(find(index, query, budget=budget).candidates) == 5
    assert budget.rows_examined == 5 * ROWS_PER_CANDIDATE
    # Not even the other options of the trees that are in the answer.
    assert budget.choices_tried == 5


def test_trees_take_turns():
    wide = [provider(f"device{n}", {"SRIOV_NET_VF": 8}, parent="wide") for n in range(50)]
    narrow = [provider(f"narrow{n}", {"VCPU": 8, "SRIOV_NET_VF": 1}) for n in range(5)]
    index = Index.build(rows(build(provider("wide", {"VCPU": 8}), *wide, *narrow)))
    query = CandidateQuery(
        groups=(RequestGroup(resources={"VCPU": 1, "SRIOV_NET_VF": 1}),), limit=6
    )

    def roots(answer):
        return {one.root_uuid for one in answer.summaries}

    assert len(roots(find(index, query))) == 6
    assert len(roots(find(index, query, depth_first=True))) == 1


def test_a_trait_that_no_provider_has_rules_a_tree_out_at_once():
    index, budget = host_with_devices(8, 8), Budget()
    index = Index.build(
        rows(
            build(
                provider("host", {"VCPU": 8}),
                *(provider(f"device{n}", {"SRIOV_NET_VF": 8}, parent="host") for n in range(8)),
                traits=["CUSTOM_RARE"],
            )
        )
    )
    group = RequestGroup(
        resources={"VCPU": 1, "SRIOV_NET_VF": 1},
        traits=TraitRule(required=(frozenset({"CUSTOM_RARE"}),)),
    )
    assert find(index, CandidateQuery(groups=(group,)), budget=budget).candidates == ()
    # The choices of one small tree.
    assert budget.choices_tried <= 8


@pytest.mark.parametrize("amount", [2**31 - 1, 2**31, 2**63 - 1])
def test_amounts_beyond_every_column_do_not_fit(amount):
    index = Index.build(rows(build(provider("host", {"VCPU": Inventory(total=2**31 - 1)}))))
    query = CandidateQuery(groups=(RequestGroup(resources={"VCPU": amount}),))
    assert len(find(index, query).candidates) == (amount == 2**31 - 1)


def test_new_traits_and_aggregates_do_not_move_a_tree():
    before = build(
        provider("host", {"VCPU": 8}), provider("node", {"PCPU": 4}, parent="host"), traits=["T_A"]
    )
    after = build(
        provider("host", {"VCPU": 8}, traits=["T_A"]),
        provider("node", {"PCPU": 4}, parent="host", aggregates=["aggregate"]),
    )
    index, rebuilt = Index.build(rows(before)), Index.build(rows(after))
    advance(index, Changes(provider_ids=frozenset({1, 2}), rows=rows(after)))
    assert index.removed_count == 0
    assert index.contents() == rebuilt.contents()


def test_a_provider_that_begins_to_share_is_found():
    def world(*traits):
        return build(
            provider("host", {"VCPU": 8}, aggregates=["aggregate"]),
            provider("storage", {"DISK_GB": 8}, aggregates=["aggregate"], traits=traits),
            traits=[SHARING_TRAIT],
        )

    index = Index.build(rows(world()))
    query = CandidateQuery(groups=(RequestGroup(resources={"VCPU": 1, "DISK_GB": 1}),))
    assert find(index, query).candidates == ()
    advance(index, Changes(provider_ids=frozenset({2}), rows=rows(world(SHARING_TRAIT))))
    assert len(find(index, query).candidates) == 1


def test_a_limit_bounds_the_splits_that_are_tried():
    hosts = (provider(f"host{n}") for n in range(500))
    nodes = (
        provider(f"node{n}-{k}", {"VCPU": 4}, parent=f"host{n}") for n in range(500) for k in "ab"
    )
    index = Index.build(rows(build(*hosts, *nodes)))
    group = RequestGroup(resources={"VCPU": 6}, can_split=frozenset({"VCPU"}))
    search = SplitSearch(index, CandidateQuery(groups=(group,), order=Order(by=OrderBy.ROOT)))
    assert search.find(10).count == 10
    assert search.steps < 60
    search = SplitSearch(index, CandidateQuery(groups=(group,)))
    assert search.find(None).count == 1000


class CountingLayout:
    """Writes summaries as their UUIDs and what is used, and counts them."""

    key = "counting"

    def __init__(self):
        self.templates = {}
        self.count = 0

    def candidate(self, candidate):
        return "candidate"

    def summary(self, summary):
        self.count += 1
        return f"{summary.uuid} {sorted(summary.resources.items())}".encode()


def test_after_a_claim_the_summaries_of_one_provider_and_its_root_are_written():
    devices = [
        provider(f"device{number}", {"SRIOV_NET_VF": 8}, parent="host") for number in range(20)
    ]
    index = Index.build(rows(build(provider("host", {"VCPU": 8}), *devices)))
    query = CandidateQuery(groups=groups(1), limit=5)
    layout = CountingLayout()
    find(index.snapshot(), query).write_summaries(layout, Budget())
    assert layout.count == 21
    old = index.snapshot()
    number, class_id = index.ids[7], index.classes.ids["SRIOV_NET_VF"]
    advance(index, Changes(usage={(number, class_id): 3}, generations={number: 1}))
    layout.count = 0
    texts = find(index.snapshot(), query).write_summaries(layout, Budget())
    assert layout.count == 2
    # Whoever still reads an old snapshot neither finds these texts nor leaves others for them.
    before = find(old, query).write_summaries(layout, Budget())
    assert before != texts
    assert find(index.snapshot(), query).write_summaries(layout, Budget()) == texts
    index.rendered_summaries, index.rendered_rows = {}, {}
    assert find(index.snapshot(), query).write_summaries(layout, Budget()) == texts


def test_a_random_search_begins_at_each_tree_equally_often():
    index, random = flat_hosts(50), Random(1)
    query = CandidateQuery(groups=groups(1, "VCPU"), limit=1)
    found = Counter(
        next(iter(candidate.allocations))
        for _ in range(5000)
        for candidate in find(index, query, random=random).candidates
    )
    assert len(found) == 50
    assert max(found.values()) < 2 * 100
    assert min(found.values()) > 100 / 2


def test_a_random_search_with_a_limit_examines_few_trees():
    index, budget = flat_hosts(5000), Budget()
    query = CandidateQuery(groups=groups(1, "VCPU"), limit=10)
    assert find(index, query, random=Random(1), budget=budget).count == 10
    alone = Budget()
    find(index, query, budget=alone)
    assert budget.rows_examined <= 2 * alone.rows_examined
