"""Placements that race: a cloud is filled exactly, and nobody is placed twice or by half."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace as evolve
from sqlalchemy import text

from roost.errors import ConcurrentUpdate, ConsumerGenerationConflict, KeyReused, NoCandidates
from roost.model import SHARING_TRAIT, NewConsumer, Placed
from roost.operations import assignment
from roost.operations import placements as place_module
from roost.operations.aggregates import replace_aggregates
from roost.operations.allocations import read_consumer
from roost.operations.placement_candidates import IdempotencyKey, PlacementRequest
from roost.operations.placements import place
from roost.operations.traits import replace_traits
from roost.query import CandidateQuery, Order, RequestGroup
from roost.search.find import find
from roost.service.service import Roost
from roost.store.tables import idempotency
from tests.concurrency.races import at_once, claim, dump, provider, put, refusals, used
from tests.support.names import uid

OpenRoost = Callable[[], Roost]


def request_of(
    *names: str, key: str | None = None, vcpus: int = 1, **fields: Any
) -> PlacementRequest:
    """A place for each of these consumers; equal ones have the same digest."""
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


def hosts(roost: Roost, count: int, vcpus: int) -> list[str]:
    names = [f"host{number}" for number in range(count)]
    for name in names:
        provider(roost, name, VCPU=vcpus)
    return names


def used_in_all(roost: Roost, names: Sequence[str]) -> list[int]:
    return [used(roost, name, "VCPU") for name in names]


@pytest.mark.parametrize("fill", [True, False])
def test_many_placers_fill_a_cloud_exactly(open_roost: OpenRoost, fill: bool) -> None:
    """Sixteen of two services want a place each; there are twelve, one on each host or four."""
    services = [open_roost(), open_roost()]
    names = hosts(services[0], 6, 2)
    wishes = [
        partial(place, services[number % 2], request=request_of(f"c{number}", fill=fill))
        for number in range(16)
    ]
    results = at_once(wishes)
    assert used_in_all(services[0], names) == [2] * 6
    assert {type(refusal) for refusal in refusals(results)} == {NoCandidates}
    assert len(refusals(results)) == 4
    for number, result in enumerate(results):
        held = read_consumer(services[0], consumer_uuid=uid(f"c{number}"))
        if isinstance(result, NoCandidates):
            assert held is None
        else:
            assert held is not None
            assert list(held.allocations) == hosts_of(result)


def test_groups_are_placed_as_a_whole_or_not_at_all(open_roost: OpenRoost) -> None:
    services = [open_roost(), open_roost()]
    names = hosts(services[0], 5, 2)
    wishes = [
        partial(
            place, services[number % 2], request=request_of(*(f"c{number}-{n}" for n in range(3)))
        )
        for number in range(6)
    ]
    results = at_once(wishes)
    placed = [result for result in results if not isinstance(result, NoCandidates)]
    # Ten places, three for each.
    assert len(placed) == 3
    assert sum(used_in_all(services[0], names)) == 9
    for number, result in enumerate(results):
        found = [read_consumer(services[1], consumer_uuid=uid(f"c{number}-{n}")) for n in range(3)]
        refused = isinstance(result, NoCandidates)
        assert [each is None for each in found] == [refused] * 3


def test_apart_is_on_different_roots(open_roost: OpenRoost) -> None:
    """Anti-affinity, with hosts whose resources are in their children."""
    roost, other = open_roost(), open_roost()
    for number in range(4):
        provider(roost, f"host{number}")
        for child in "ab":
            provider(roost, f"host{number}-{child}", f"host{number}", VCPU=4)
    results = at_once(
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
    with pytest.raises(NoCandidates, match="no 5 of the"):
        place(roost, request=request_of(*"abcde", apart=True))


def test_the_same_key_at_once_claims_once(open_roost: OpenRoost) -> None:
    services = [open_roost(), open_roost()]
    names = hosts(services[0], 3, 4)
    same = request_of("a", "b", key="k")
    results = at_once([partial(place, services[number % 2], request=same) for number in range(8)])
    assert refusals(results) == []
    assert all(result == results[0] for result in results)
    assert sum(used_in_all(services[0], names)) == 2


def test_the_same_key_at_once_for_the_last_place(open_roost: OpenRoost) -> None:
    """Whoever comes second finds no room, since it has it already."""
    services = [open_roost(), open_roost()]
    hosts(services[0], 1, 1)
    results = at_once(
        [
            partial(place, services[number % 2], request=request_of("a", key="k"))
            for number in range(6)
        ]
    )
    assert refusals(results) == []
    assert used(services[0], "host0", "VCPU") == 1


def test_an_answer_that_was_lost_is_given_again(open_roost: OpenRoost) -> None:
    """By another service, and even if there is no room left, and the consumer is gone."""
    first, second = open_roost(), open_roost()
    names = hosts(first, 1, 2)
    answer = place(first, request=request_of("a", "b", key="k"))
    before = dump(first.store.engine)
    assert place(second, request=request_of("a", "b", key="k")) == answer
    assert dump(first.store.engine) == before
    put(first, claim("a", {}, expected_generation=1))
    assert place(second, request=request_of("a", "b", key="k")) == answer
    assert used_in_all(first, names) == [1]


def test_a_key_is_for_one_request(open_roost: OpenRoost) -> None:
    roost = open_roost()
    hosts(roost, 2, 4)
    place(roost, request=request_of("a", key="k"))
    before = dump(roost.store.engine)
    with pytest.raises(KeyReused):
        place(roost, request=request_of("b", key="k"))
    assert dump(roost.store.engine) == before
    place(roost, request=request_of("b", key="K"))


def test_old_keys_are_forgotten(open_roost: OpenRoost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "TRIM_INTERVAL", 1)
    roost = open_roost()
    hosts(roost, 1, 8)
    place(roost, request=request_of("a", key="old"))
    with roost.store.engine.begin() as connection:
        connection.execute(text("UPDATE roost_placements SET created_at = '2001-01-01 00:00:00'"))
    place(roost, request=request_of("b", key="new"))
    with roost.store.engine.connect() as connection:
        keys = connection.scalars(text("SELECT key_digest FROM roost_placements")).all()
    assert keys == [digest("new")]


def test_an_old_key_is_good_for_another_request(open_roost: OpenRoost) -> None:
    roost = open_roost()
    hosts(roost, 1, 8)
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
    hosts(roost, 2, 2)
    place(roost, request=request_of("a"))
    before = dump(roost.store.engine)
    with pytest.raises(ConsumerGenerationConflict):
        place(roost, request=request_of("b", "a", key="k"))
    with pytest.raises(NoCandidates, match="no 4 of the 2 candidates"):
        place(roost, request=request_of(*"bcde", key="k"))
    with pytest.raises(NoCandidates, match="nothing has room"):
        place(roost, request=request_of("b", vcpus=3))
    assert dump(roost.store.engine) == before
    # The key is still good.
    place(roost, request=request_of("b", key="k"))


def test_one_takes_what_the_index_of_another_has_not_seen(open_roost: OpenRoost) -> None:
    """The loser tries the next candidate, and the client never hears of it."""
    first, second = open_roost(), open_roost()
    names = hosts(first, 2, 1)
    results = at_once(
        [
            partial(place, service, request=request_of(str(n)))
            for n, service in enumerate((first, second))
        ]
    )
    assert refusals(results) == []
    assert used_in_all(first, names) == [1, 1]


def ways(host_count: int, roost: Roost) -> CandidateQuery:
    """Hosts that can serve the query in very many ways each."""
    for number in range(host_count):
        provider(roost, f"host{number}", VCPU=64)
        for card in range(5):
            provider(roost, f"card{number}-{card}", f"host{number}", SRIOV_NET_VF=64)
    groups = (RequestGroup(suffix=f"_{n}", resources={"SRIOV_NET_VF": 1}) for n in range(5))
    return CandidateQuery(groups=(RequestGroup(resources={"VCPU": 1}), *groups))


@pytest.mark.parametrize("strategy", ["depth-first", "breadth-first"])
def test_a_host_with_many_ways_does_not_crowd_out_others(roost: Roost, strategy: str) -> None:
    """Neither where searches go tree by tree, nor where answers are short."""
    query = ways(6, roost)
    roost.settings = evolve(
        roost.settings,
        allocation_candidates_generation_strategy=strategy,
        max_allocation_candidates=3,
    )
    wanted = evolve(request_of(*"abcdef", apart=True), query=query)
    place(roost, request=wanted)
    assert used_in_all(roost, [f"host{n}" for n in range(6)]) == [1] * 6


def test_too_few_hosts_are_known_at_once(roost: Roost, monkeypatch: pytest.MonkeyPatch) -> None:
    query = ways(3, roost)
    monkeypatch.setattr(assignment, "STEPS_MAX", 0)
    wanted = evolve(request_of(*"abcd", apart=True), query=query)
    with pytest.raises(NoCandidates, match="no 4 of the 64 candidates found can be had together"):
        place(roost, request=wanted)


@pytest.mark.parametrize("by", ["root", "pack", "spread"])
def test_a_lost_race_is_no_reason_to_leave_the_order(
    roost: Roost, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for an order gets the first that has room, however often others were quicker."""
    hosts(roost, 32, 4)
    query = evolve(request_of("a").query, order=Order(by=by))
    with roost.current_index() as index:
        first = find(index, query).candidates[0].allocations
    lost = iter([True] * 5)
    decide = place_module.write

    def losing(*arguments: Any, **options: Any) -> Any:
        if next(lost, False):
            raise ConcurrentUpdate("somebody was quicker")
        return decide(*arguments, **options)

    monkeypatch.setattr(place_module, "write", losing)
    [placed] = place(roost, request=evolve(request_of("a"), query=query))
    assert placed.candidate.allocations == first


def test_a_pool_that_all_share_is_no_host(roost: Roost) -> None:
    """All that is asked for is shared, so that nothing brings two consumers together."""
    provider(roost, "host")
    provider(roost, "pool", DISK_GB=10)
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
def test_amounts_are_split_as_the_consumers_before_leave_it(
    roost: Roost, order: Order | None
) -> None:
    """Three fit, the last one in two pieces, which nobody needs while one provider has enough."""
    provider(roost, "host")
    provider(roost, "numa0", "host", VCPU=4)
    provider(roost, "numa1", "host", VCPU=5)
    group = RequestGroup(resources={"VCPU": 3}, can_split=frozenset({"VCPU"}))
    query = CandidateQuery(groups=(group,), order=order)
    placed = place(roost, request=evolve(request_of(*"abc"), query=query))
    assert sorted(len(each.candidate.allocations) for each in placed) == [1, 1, 2]
    assert used_in_all(roost, ["numa0", "numa1"]) == [4, 5]


def test_pieces_of_different_hosts_where_consumers_are_apart(roost: Roost) -> None:
    for host in ("host0", "host1"):
        provider(roost, host)
        for child in "ab":
            provider(roost, f"{host}{child}", host, VCPU=4)
    group = RequestGroup(resources={"VCPU": 3}, can_split=frozenset({"VCPU"}))
    wanted = evolve(
        request_of(*"ab", apart=True), query=CandidateQuery(groups=(group,), order=Order(by="pack"))
    )
    place(roost, request=wanted)
    assert sum(used_in_all(roost, ["host0a", "host0b"])) == 3
    assert sum(used_in_all(roost, ["host1a", "host1b"])) == 3
    with pytest.raises(NoCandidates):
        place(roost, request=evolve(wanted, consumers=request_of(*"cde").consumers))


def test_filling_and_taking_turns(roost: Roost) -> None:
    names = hosts(roost, 3, 4)
    place(roost, request=request_of(*"abcd", fill=True))
    assert sorted(used_in_all(roost, names)) == [0, 0, 4]
    place(roost, request=request_of(*"efgh"))
    assert sorted(used_in_all(roost, names)) == [2, 2, 4]
