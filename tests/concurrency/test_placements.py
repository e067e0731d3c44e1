"""Racing placements: they fill a cloud exactly, and place no consumer twice or by half."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace as evolve
from sqlalchemy import text

from roost.errors import ConcurrentUpdate, ConsumerGenerationConflict, KeyReused, NoCandidates
from roost.model import SHARING_TRAIT, NewConsumer, Placed
from roost.operations.aggregates import replace_aggregates
from roost.operations.allocations import read_consumer
from roost.operations.placing import assignment
from roost.operations.placing import placements as place_module
from roost.operations.placing.candidates import IdempotencyKey, PlacementRequest
from roost.operations.placing.placements import place
from roost.operations.traits import replace_traits
from roost.query import CandidateQuery, Order, OrderBy, RequestGroup
from roost.search.find import find
from roost.service.service import Roost
from roost.store.tables import idempotency
from tests.concurrency.races import add_provider, claim, dump, put, refusals, run_concurrently, used
from tests.support.names import uid

OpenRoost = Callable[[], Roost]


def request_of(
    *names: str, key: str | None = None, vcpus: int = 1, **fields: Any
) -> PlacementRequest:
    """A request to place these consumers; equal requests with a key have equal digests."""
    query = CandidateQuery(groups=(RequestGroup(resources={"VCPU": vcpus}),))
    consumers = tuple(
        NewConsumer(uuid=uid(name), project_id="p", user_id="u", consumer_type="INSTANCE")
        for name in names
    )
    found = (
        IdempotencyKey(key_digest=digest(key), body_digest=digest(f"{names} {vcpus}"))
        if key
        else None
    )
    return PlacementRequest(query=query, consumers=consumers, key=found, **fields)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def hosts_of(placed: Sequence[Placed]) -> list[str]:
    return [host for each in placed for host in each.candidate.allocations]


def add_hosts(roost: Roost, count: int, vcpus: int) -> list[str]:
    names = [f"host{number}" for number in range(count)]
    for name in names:
        add_provider(roost, name, VCPU=vcpus)
    return names


def used_vcpus(roost: Roost, names: Sequence[str]) -> list[int]:
    return [used(roost, name, "VCPU") for name in names]


@pytest.mark.parametrize("fill", [True, False])
def test_racing_placements_fill_a_cloud_exactly(open_roost: OpenRoost, fill: bool) -> None:
    """Sixteen requests to two services; six hosts with room for two consumers each."""
    services = [open_roost(), open_roost()]
    names = add_hosts(services[0], 6, 2)
    placements = [
        partial(place, services[number % 2], request=request_of(f"c{number}", fill=fill))
        for number in range(16)
    ]
    results = run_concurrently(placements)
    assert used_vcpus(services[0], names) == [2] * 6
    assert {type(refusal) for refusal in refusals(results)} == {NoCandidates}
    assert len(refusals(results)) == 4
    for number, result in enumerate(results):
        held = read_consumer(services[0], consumer_uuid=uid(f"c{number}"))
        if isinstance(result, NoCandidates):
            assert held is None
        else:
            assert held is not None
            assert list(held.allocations) == hosts_of(result)


def place_one(roost: Roost, name: str, by: OrderBy, limit: int | None = None) -> str:
    request = request_of(name, fill=by is OrderBy.PACK)
    query = evolve(request.query, order=Order(by=by), limit=limit)
    (host,) = hosts_of(place(roost, request=evolve(request, query=query)))
    return host


@pytest.mark.parametrize("by", [OrderBy.PACK, OrderBy.SPREAD, OrderBy.ROOT])
def test_after_a_lost_race_processes_choose_different_ones_in_order(
    open_roost: OpenRoost, by: OrderBy
) -> None:
    services = [open_roost(), open_roost()]
    hosts = [uid(name) for name in add_hosts(services[0], 64, 20)]
    first = min(hosts)
    assert place_one(services[0], "quiet", by) == first
    for number, service in enumerate(services):
        service.contention.record_batch(is_lost=True)
        service.contention.preference = number
    chosen = [
        [place_one(service, f"{number}-{turn}", by) for turn in range(10)]
        for number, service in enumerate(services)
    ]
    if by is OrderBy.SPREAD:
        # The first sixteenth, behind which each goes that is chosen: none is chosen often.
        everybody = chosen[0] + chosen[1]
        assert len(set(everybody)) > 10
        assert max(everybody.count(host) for host in everybody) <= 2
    else:
        # Each stays with its own.
        assert [len(set(each)) for each in chosen] == [1, 1]
        assert chosen[0][0] != chosen[1][0]
    # A client may insist on the very first one.
    index = services[0].current_index()
    query = evolve(request_of("x").query, order=Order(by=by), limit=1)
    (candidate,) = find(index, query).candidates
    assert [place_one(services[0], "insists", by, limit=1)] == list(candidate.allocations)


@pytest.mark.parametrize("by", [OrderBy.PACK, OrderBy.SPREAD, OrderBy.ROOT])
def test_whoever_gives_way_finds_the_last_place(open_roost: OpenRoost, by: OrderBy) -> None:
    roost = open_roost()
    names = add_hosts(roost, 40, 1)
    roost.contention.record_batch(is_lost=True)
    found = [place_one(roost, f"c{number}", by) for number in range(40)]
    assert sorted(found) == sorted(map(uid, names))
    with pytest.raises(NoCandidates):
        place_one(roost, "more", by)


def test_groups_are_placed_as_a_whole_or_not_at_all(open_roost: OpenRoost) -> None:
    services = [open_roost(), open_roost()]
    names = add_hosts(services[0], 5, 2)
    placements = [
        partial(
            place, services[number % 2], request=request_of(*(f"c{number}-{n}" for n in range(3)))
        )
        for number in range(6)
    ]
    results = run_concurrently(placements)
    placed = [result for result in results if not isinstance(result, NoCandidates)]
    # Ten VCPUs, three for each group.
    assert len(placed) == 3
    assert sum(used_vcpus(services[0], names)) == 9
    for number, result in enumerate(results):
        found = [read_consumer(services[1], consumer_uuid=uid(f"c{number}-{n}")) for n in range(3)]
        refused = isinstance(result, NoCandidates)
        assert [each is None for each in found] == [refused] * 3


def test_apart_consumers_are_on_different_roots(open_roost: OpenRoost) -> None:
    """Anti-affinity, with hosts whose resources are in their children."""
    roost, other = open_roost(), open_roost()
    for number in range(4):
        add_provider(roost, f"host{number}")
        for child in "ab":
            add_provider(roost, f"host{number}-{child}", f"host{number}", VCPU=4)
    results = run_concurrently(
        [
            partial(
                place,
                service,
                request=request_of(*(f"{index}-{number}-{n}" for n in range(4)), apart=True),
            )
            for number in range(3)
            for index, service in enumerate((roost, other))
        ]
    )
    assert refusals(results) == []
    root_of = {uid(f"host{n}-{child}"): n for n in range(4) for child in "ab"}
    for result in results:
        assert sorted(root_of[host] for host in hosts_of(result)) == [0, 1, 2, 3]
    with pytest.raises(NoCandidates, match="no combination of the 4"):
        place(roost, request=request_of(*"abcde", apart=True))


def test_concurrent_requests_with_one_key_claim_once(open_roost: OpenRoost) -> None:
    services = [open_roost(), open_roost()]
    names = add_hosts(services[0], 3, 4)
    same = request_of("a", "b", key="k")
    results = run_concurrently(
        [partial(place, services[number % 2], request=same) for number in range(8)]
    )
    assert refusals(results) == []
    assert all(result == results[0] for result in results)
    assert sum(used_vcpus(services[0], names)) == 2


def test_concurrent_requests_with_one_key_share_the_last_vcpu(open_roost: OpenRoost) -> None:
    """A later request finds no room, since the first one took it, and gets the stored answer."""
    services = [open_roost(), open_roost()]
    add_hosts(services[0], 1, 1)
    results = run_concurrently(
        [
            partial(place, services[number % 2], request=request_of("a", key="k"))
            for number in range(6)
        ]
    )
    assert refusals(results) == []
    assert used(services[0], "host0", "VCPU") == 1


def test_a_key_repeats_the_first_answer(open_roost: OpenRoost) -> None:
    """Through another service, and even if there is no room left or the consumer was deleted."""
    first, second = open_roost(), open_roost()
    names = add_hosts(first, 1, 2)
    answer = place(first, request=request_of("a", "b", key="k"))
    before = dump(first.store.engine)
    assert place(second, request=request_of("a", "b", key="k")) == answer
    assert dump(first.store.engine) == before
    put(first, claim("a", {}, expected_generation=1))
    assert place(second, request=request_of("a", "b", key="k")) == answer
    assert used_vcpus(first, names) == [1]


def test_a_key_of_another_request_is_refused(open_roost: OpenRoost) -> None:
    roost = open_roost()
    add_hosts(roost, 2, 4)
    place(roost, request=request_of("a", key="k"))
    before = dump(roost.store.engine)
    with pytest.raises(KeyReused):
        place(roost, request=request_of("b", key="k"))
    assert dump(roost.store.engine) == before
    place(roost, request=request_of("b", key="K"))


def test_expired_keys_are_deleted(open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "TRIM_INTERVAL", 1)
    roost = open_roost()
    add_hosts(roost, 1, 8)
    place(roost, request=request_of("a", key="old"))
    with roost.store.engine.begin() as connection:
        connection.execute(text("UPDATE roost_placements SET created_at = '2001-01-01 00:00:00'"))
    place(roost, request=request_of("b", key="new"))
    with roost.store.engine.connect() as connection:
        keys = connection.scalars(text("SELECT key_digest FROM roost_placements")).all()
    assert keys == [digest("new")]


def test_an_expired_key_may_be_used_for_another_request(open_roost: OpenRoost) -> None:
    roost = open_roost()
    add_hosts(roost, 1, 8)
    place(roost, request=request_of("a", key="k"))
    with roost.store.engine.begin() as connection:
        connection.execute(text("UPDATE roost_placements SET created_at = '2001-01-01 00:00:00'"))
    first = place(roost, request=request_of("b", key="k"))
    assert place(roost, request=request_of("b", key="k")) == first
    assert used(roost, "host0", "VCPU") == 2
    with pytest.raises(KeyReused):
        place(roost, request=request_of("a", key="k"))


def test_a_refused_placement_leaves_nothing(open_roost: OpenRoost) -> None:
    roost = open_roost()
    add_hosts(roost, 2, 2)
    place(roost, request=request_of("a"))
    before = dump(roost.store.engine)
    with pytest.raises(ConsumerGenerationConflict):
        place(roost, request=request_of("b", "a", key="k"))
    with pytest.raises(NoCandidates, match="no combination of the 2"):
        place(roost, request=request_of(*"bcde", key="k"))
    with pytest.raises(NoCandidates, match="nothing has room"):
        place(roost, request=request_of("b", vcpus=3))
    assert dump(roost.store.engine) == before
    # The key was not stored.
    place(roost, request=request_of("b", key="k"))


def test_a_placement_that_lost_a_race_takes_the_next_candidate(open_roost: OpenRoost) -> None:
    """The client does not hear of the race."""
    first, second = open_roost(), open_roost()
    names = add_hosts(first, 2, 1)
    results = run_concurrently(
        [
            partial(place, service, request=request_of(str(n)))
            for n, service in enumerate((first, second))
        ]
    )
    assert refusals(results) == []
    assert used_vcpus(first, names) == [1, 1]


def add_hosts_with_cards(host_count: int, roost: Roost) -> CandidateQuery:
    """Create hosts that can each serve the returned query in very many ways."""
    for number in range(host_count):
        add_provider(roost, f"host{number}", VCPU=64)
        for card in range(5):
            add_provider(roost, f"card{number}-{card}", f"host{number}", SRIOV_NET_VF=64)
    groups = (RequestGroup(suffix=f"_{n}", resources={"SRIOV_NET_VF": 1}) for n in range(5))
    return CandidateQuery(groups=(RequestGroup(resources={"VCPU": 1}), *groups))


@pytest.mark.parametrize("strategy", ["depth-first", "breadth-first"])
def test_a_host_with_many_candidates_does_not_crowd_out_others(roost: Roost, strategy: str) -> None:
    """Neither with a depth-first search, nor with a low limit of candidates."""
    query = add_hosts_with_cards(6, roost)
    roost.settings = evolve(
        roost.settings,
        allocation_candidates_generation_strategy=strategy,
        max_allocation_candidates=3,
    )
    request = evolve(request_of(*"abcdef", apart=True), query=query)
    place(roost, request=request)
    assert used_vcpus(roost, [f"host{n}" for n in range(6)]) == [1] * 6


def test_too_few_hosts_are_refused_without_a_search(
    roost: Roost, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = add_hosts_with_cards(3, roost)
    monkeypatch.setattr(assignment, "STEPS_MAX", 0)
    request = evolve(request_of(*"abcd", apart=True), query=query)
    with pytest.raises(NoCandidates, match="no combination of the 64 candidate"):
        place(roost, request=request)


@pytest.mark.parametrize("by", ["root", "pack", "spread"])
def test_a_lost_race_does_not_change_the_order(
    roost: Roost, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request with an order gets the first candidate that fits, however many races it loses."""
    add_hosts(roost, 32, 4)
    query = evolve(request_of("a").query, order=Order(by=by))
    index = roost.current_index()
    first = find(index, query).candidates[0].allocations
    lost = iter([True] * 5)
    original = place_module.write

    def lose_then_write(*arguments: Any, **options: Any) -> Any:
        if next(lost, False):
            raise ConcurrentUpdate("somebody was quicker")
        return original(*arguments, **options)

    monkeypatch.setattr(place_module, "write", lose_then_write)
    [placed] = place(roost, request=evolve(request_of("a"), query=query))
    assert placed.candidate.allocations == first


def test_a_shared_pool_does_not_count_as_a_host(roost: Roost) -> None:
    """All resources come from the pool, so consumers that share it are still apart."""
    add_provider(roost, "host")
    add_provider(roost, "pool", DISK_GB=10)
    for name in ("host", "pool"):
        replace_aggregates(
            roost, provider_uuid=uid(name), aggregates=[uid("a")], expected_generation=None
        )
    replace_traits(
        roost, provider_uuid=uid("pool"), traits={SHARING_TRAIT}, expected_generation=None
    )
    query = CandidateQuery(groups=(RequestGroup(resources={"DISK_GB": 1}),))
    place(roost, request=evolve(request_of(*"abc", apart=True), query=query))
    assert used(roost, "pool", "DISK_GB") == 3


@pytest.mark.parametrize("order", [None, Order(by="pack"), Order(by="random", seed=1)])
def test_amounts_are_split_where_earlier_consumers_left_room(
    roost: Roost, order: Order | None
) -> None:
    """Three fit. Only the last is split, since a provider has enough for each of the others."""
    add_provider(roost, "host")
    add_provider(roost, "numa0", "host", VCPU=4)
    add_provider(roost, "numa1", "host", VCPU=5)
    group = RequestGroup(resources={"VCPU": 3}, can_split=frozenset({"VCPU"}))
    query = CandidateQuery(groups=(group,), order=order)
    placed = place(roost, request=evolve(request_of(*"abc"), query=query))
    assert sorted(len(each.candidate.allocations) for each in placed) == [1, 1, 2]
    assert used_vcpus(roost, ["numa0", "numa1"]) == [4, 5]


def test_split_consumers_that_are_apart_are_on_different_hosts(roost: Roost) -> None:
    for host in ("host0", "host1"):
        add_provider(roost, host)
        for child in "ab":
            add_provider(roost, f"{host}{child}", host, VCPU=4)
    group = RequestGroup(resources={"VCPU": 3}, can_split=frozenset({"VCPU"}))
    request = evolve(
        request_of(*"ab", apart=True), query=CandidateQuery(groups=(group,), order=Order(by="pack"))
    )
    place(roost, request=request)
    assert sum(used_vcpus(roost, ["host0a", "host0b"])) == 3
    assert sum(used_vcpus(roost, ["host1a", "host1b"])) == 3
    with pytest.raises(NoCandidates):
        place(roost, request=evolve(request, consumers=request_of(*"cde").consumers))


def test_fill_packs_hosts_and_the_default_takes_turns(roost: Roost) -> None:
    names = add_hosts(roost, 3, 4)
    place(roost, request=request_of(*"abcd", fill=True))
    assert sorted(used_vcpus(roost, names)) == [0, 0, 4]
    place(roost, request=request_of(*"efgh"))
    assert sorted(used_vcpus(roost, names)) == [2, 2, 4]
