"""The cost of choosing places, in steps rather than in time, and what is chosen."""

from collections import Counter
from random import Random
from types import SimpleNamespace

import pytest
from msgspec.structs import replace as evolve

from roost.errors import NoCandidates
from roost.model import SHARING_TRAIT, Inventory, NewConsumer
from roost.operations.placing import assignment, candidates
from roost.operations.placing.candidates import PlacementRequest, choose_candidates
from roost.operations.placing.options import OPTIONS_AT_LAST
from roost.query import CandidateQuery, Order, OrderBy, RequestGroup
from roost.search.answer import Answer
from roost.search.budget import Budget, GaveUp
from roost.search.find import find
from roost.search.index.index import Index
from roost.search.tree_options import RANGE_MIN, ROWS_PER_CANDIDATE
from roost.service.contention import Contention
from roost.settings import Settings
from tests.support.names import uid
from tests.support.world import build, provider, rows

# Of a search, whatever it finds: no loop over candidates or consumers has so few.
STEPS_FEW = 4

ONE_VCPU = CandidateQuery(groups=(RequestGroup(resources={"VCPU": 1}),))


def request_of(count, query=ONE_VCPU, **how):
    consumers = tuple(
        NewConsumer(uuid=uid(f"c{n}"), project_id="p", user_id="u", consumer_type="T")
        for n in range(count)
    )
    return PlacementRequest(query=query, consumers=consumers, **how)


def choose(index, request, *, attempt=0, seed=1, budget=None, contention=None):
    service = SimpleNamespace(
        current_index=lambda: index, settings=Settings(), contention=contention or Contention()
    )
    return choose_candidates(service, request, attempt, Random(seed), budget or Budget())


def hosts_of(chosen):
    return [host for candidate in chosen for host in candidate.allocations]


def flat_hosts(count, vcpus=8):
    return Index.build(rows(build(*(provider(f"h{n}", {"VCPU": vcpus}) for n in range(count)))))


@pytest.mark.parametrize("hosts", [2000, 8000])
def test_one_consumer_examines_as_much_in_a_large_cloud(hosts):
    index, budget = flat_hosts(hosts), Budget()
    assert len(choose(index, request_of(1), budget=budget)) == 1
    assert budget.rows_examined <= RANGE_MIN
    assert budget.choices_tried <= RANGE_MIN
    assert budget.steps <= STEPS_FEW


@pytest.mark.parametrize("by", [OrderBy.PACK, OrderBy.ROOT])
def test_whoever_gives_way_looks_at_the_host_alone_that_it_has_chosen(by):
    index, contention = flat_hosts(2000), Contention()
    contention.record_batch(is_lost=True)
    request = request_of(1, evolve(ONE_VCPU, order=Order(by=by)))
    (host,) = hosts_of(choose(index, request, contention=contention))
    budget = Budget()
    assert hosts_of(choose(index, request, contention=contention, budget=budget)) == [host]
    assert budget.rows_examined == 1
    # Another request may belong elsewhere.
    two = CandidateQuery(groups=(RequestGroup(resources={"VCPU": 2}),), order=Order(by=by))
    budget = Budget()
    choose(index, request_of(1, two), contention=contention, budget=budget)
    assert budget.rows_examined > 1
    # It is full.
    index.columns[0].used[index.row_of_uuid[host]] = 8
    assert hosts_of(choose(index, request, contention=contention)) != [host]
    # Another process was quicker there.
    contention.record_batch(is_lost=True)
    budget = Budget()
    choose(index, request, contention=contention, budget=budget)
    assert budget.rows_examined > 1


@pytest.mark.parametrize("hosts", [2000, 8000])
@pytest.mark.parametrize("by", [None, *OrderBy])
def test_each_consumer_has_a_host_of_its_own_while_there_are_enough(hosts, by):
    order = None if by is None else Order(by=by)
    index, budget = flat_hosts(hosts), Budget()
    request = request_of(100, evolve(ONE_VCPU, order=order))
    # An order is kept with the index, and made by the first request that asks for it.
    choose(index, request)
    chosen = choose(index, request, budget=budget)
    assert len(set(hosts_of(chosen))) == 100
    # No more than one search, and no loop over candidates to choose from.
    assert budget.rows_examined <= 2 * ROWS_PER_CANDIDATE * 100
    if by is None:
        assert budget.steps <= STEPS_FEW


def test_consumers_take_turns_on_hosts_if_there_are_more_of_them():
    index, budget = flat_hosts(500), Budget()
    chosen = choose(index, request_of(3750), budget=budget)
    assert set(Counter(hosts_of(chosen)).values()) == {7, 8}
    assert budget.steps <= STEPS_FEW
    # Those on one host share what they are answered.
    assert len({id(candidate) for candidate in chosen}) == 500


@pytest.mark.parametrize("count", [4000, 4001])
def test_a_cloud_can_be_filled_to_the_last_place(count):
    index, budget = flat_hosts(500), Budget()
    if count > 4000:
        with pytest.raises(NoCandidates):
            choose(index, request_of(count), budget=budget)
    else:
        assert set(Counter(hosts_of(choose(index, request_of(count)))).values()) == {8}


def test_pack_needs_few_candidates():
    index, budget = flat_hosts(2000), Budget()
    request = request_of(100, evolve(ONE_VCPU, order=Order(by=OrderBy.PACK)), fill=True)
    choose(index, request)
    chosen = choose(index, request, budget=budget)
    assert sorted(Counter(hosts_of(chosen)).values()) == [4, *[8] * 12]


def test_another_attempt_that_runs_out_of_time_chooses_among_what_is_left(monkeypatch):
    """It has shuffled more candidates than it can consider."""
    original, budgets = Answer.taken, []

    def taken(answer, budget):
        budgets.append(budget)
        if len(budgets) == 1:
            raise GaveUp
        return original(answer, budget)

    monkeypatch.setattr(Answer, "taken", taken)
    index = flat_hosts(10 * OPTIONS_AT_LAST, vcpus=1)
    chosen = choose(index, request_of(OPTIONS_AT_LAST), attempt=1)
    assert len(budgets) == 2
    # Each has room for one.
    assert len(set(hosts_of(chosen))) == OPTIONS_AT_LAST


def test_requests_without_an_order_begin_anywhere():
    index = flat_hosts(1000)
    chosen = {hosts_of(choose(index, request_of(1), seed=seed))[0] for seed in range(50)}
    assert len(chosen) > 40
    chosen = {frozenset(hosts_of(choose(index, request_of(10), seed=s))) for s in range(50)}
    assert len(chosen) > 40


def test_a_lost_race_spreads_over_more_candidates():
    """What the first attempt would have chosen is a small part of what the next ones choose."""
    index = flat_hosts(1000)
    request = request_of(4, evolve(ONE_VCPU, order=Order(by=OrderBy.RANDOM, seed=1)))
    first = set(hosts_of(choose(index, request)))
    assert set(hosts_of(choose(index, request))) == first
    later = [set(hosts_of(choose(index, request, attempt=3, seed=seed))) for seed in range(10)]
    assert len(set().union(*later)) > 16
    # With an order that the client prefers, the first candidates are the best.
    request = request_of(4, evolve(ONE_VCPU, order=Order(by=OrderBy.ROOT)))
    first = hosts_of(choose(index, request))
    assert hosts_of(choose(index, request, attempt=3)) == first


def nested_hosts(count):
    """Each has two nodes with room for two."""
    return Index.build(
        rows(
            build(
                *(
                    each
                    for n in range(count)
                    for each in (
                        provider(f"h{n}"),
                        provider(f"h{n}a", {"VCPU": 2}, parent=f"h{n}"),
                        provider(f"h{n}b", {"VCPU": 2}, parent=f"h{n}"),
                    )
                )
            )
        )
    )


def test_each_candidate_is_used_once_before_any_is_used_again():
    index = nested_hosts(50)
    chosen = Counter(hosts_of(choose(index, request_of(100))))
    assert (len(chosen), set(chosen.values())) == (100, {1})
    chosen = Counter(hosts_of(choose(index, request_of(150))))
    assert (len(chosen), set(chosen.values())) == (100, {1, 2})


def test_candidates_that_compete_are_used_as_far_as_they_fit():
    """Two groups may be on one node or on two; each host has room for two consumers in all."""
    pair = tuple(RequestGroup(suffix=f"_{n}", resources={"VCPU": 1}) for n in range(2))
    index = nested_hosts(20)
    chosen = choose(index, request_of(40, CandidateQuery(groups=pair)))
    used = Counter()
    for candidate in chosen:
        for node, resources in candidate.allocations.items():
            used[node] += resources["VCPU"]
    assert set(used.values()) == {2}
    with pytest.raises(NoCandidates):
        choose(index, request_of(41, CandidateQuery(groups=pair)))


def test_consumers_that_are_apart_are_counted_by_hosts(monkeypatch):
    monkeypatch.setattr(assignment, "STEPS_MAX", 0)
    index = nested_hosts(50)
    chosen = choose(index, request_of(50, apart=True))
    assert len({index.root_uuid(index.row_of_uuid[node]) for node in hosts_of(chosen)}) == 50
    with pytest.raises(NoCandidates):
        choose(index, request_of(51, apart=True))


def test_wide_candidates_are_fewer(monkeypatch):
    """However many groups a request has, it considers so many amounts in all."""
    monkeypatch.setattr(candidates, "AMOUNTS_MAX", 600)
    limits = []

    def find_noting_limit(index, query, **options):
        limits.append(query.limit)
        return find(index, query, **options)

    monkeypatch.setattr(candidates, "find", find_noting_limit)
    index = flat_hosts(10)
    groups = tuple(RequestGroup(suffix=f"_{n}", resources={"VCPU": 1}) for n in range(3))
    with pytest.raises(NoCandidates):
        choose(index, request_of(21, CandidateQuery(groups=groups)))
    assert max(limits) <= 200


def test_a_shared_pool_is_used_as_far_as_it_reaches():
    """Ten hosts with room for eight each, and a pool with disk for thirty."""
    hosts = [provider(f"h{n}", {"VCPU": 8}, aggregates=["rack"]) for n in range(10)]
    pool = provider(
        "pool", {"DISK_GB": Inventory(total=30)}, traits=[SHARING_TRAIT], aggregates=["rack"]
    )
    index = Index.build(rows(build(*hosts, pool)))
    query = CandidateQuery(groups=(RequestGroup(resources={"VCPU": 1, "DISK_GB": 1}),))
    chosen = Counter(hosts_of(choose(index, request_of(30, query))))
    assert chosen.pop(uid("pool")) == 30
    assert set(chosen.values()) == {3}
    with pytest.raises(NoCandidates):
        choose(index, request_of(31, query))
    apart = choose(index, request_of(10, query, apart=True))
    assert Counter(hosts_of(apart))[uid("pool")] == 10
