"""Searches with more ways than anybody can try, by the work that they do."""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations, permutations

import pytest

from roost.query import CandidateQuery, Elsewhere, RequestGroup
from roost.search.answer import Answer
from roost.search.budget import Budget
from roost.search.find import find
from roost.search.index.index import Index
from tests.support.world import ProviderPlan, build, provider, rows

VF = "SRIOV_NET_VF"
# About 20 milliseconds of choices in matrices, and as much of steps in Python.
CHOICES_MAX = 150_000
STEPS_MAX = 2_000


def host(rooms: Iterable[int], name: str = "host") -> list[ProviderPlan]:
    devices = [
        provider(f"{name}-device{number}", {VF: room}, parent=name)
        for number, room in enumerate(rooms)
    ]
    return [provider(name, {"VCPU": 8}), *devices]


def index_of(*plans: ProviderPlan) -> Index:
    return Index.build(rows(build(*plans)))


def groups(amounts: Iterable[int]) -> tuple[RequestGroup, ...]:
    return tuple(
        RequestGroup(suffix=f"_{number}", resources={VF: amount})
        for number, amount in enumerate(amounts)
    )


def pairs(some: Iterable[RequestGroup]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(pair) for pair in combinations([each.suffix for each in some], 2))


def find_quickly(index: Index, query: CandidateQuery) -> Answer:
    budget = Budget()
    answer = find(index, query, budget=budget)
    assert budget.choices_tried < CHOICES_MAX
    assert budget.steps < STEPS_MAX
    return answer


def check(query: CandidateQuery, answer: Answer, rooms: dict[str, int]) -> None:
    """Every candidate is different, and takes no more than there is."""
    candidates = answer.candidates
    assert len({tuple(sorted(one.mappings.items())) for one in candidates}) == len(candidates)
    for candidate in candidates:
        taken: Counter[str] = Counter()
        for group in query.groups:
            (uuid,) = candidate.mappings[group.suffix]
            taken[uuid] += group.resources[VF]
        assert {uuid: {VF: n} for uuid, n in taken.items()} == candidate.allocations
        assert all(amount <= rooms[uuid] for uuid, amount in taken.items())


def rooms_of(index: Index) -> dict[str, int]:
    return {
        index.uuids[row]: inventory.total
        for row in range(index.rows.count)
        for inventory in index.inventories(row)
    }


@pytest.mark.parametrize("limit", [None, 10])
@pytest.mark.parametrize("rooms", [[8] * 8, range(1, 9)], ids=["equal devices", "all different"])
def test_pairs_that_must_differ_are_one_set(rooms: Iterable[int], limit: int | None) -> None:
    index, nine = index_of(*host(rooms)), groups([1] * 9)
    query = CandidateQuery(groups=nine, isolated=pairs(nine), limit=limit)
    assert find_quickly(index, query).count == 0
    eight = nine[:8]
    query = CandidateQuery(groups=eight, isolated=pairs(eight), limit=10)
    assert find_quickly(index, query).count == 10


@pytest.mark.parametrize("limit", [None, 10])
def test_groups_that_must_differ_and_have_few_devices_in_common(limit: int | None) -> None:
    """Six of the groups are too large for all but five of the devices."""
    index = index_of(*host([9] * 5 + list(range(1, 9))))
    some = groups([9] * 6 + [1] * 4)
    query = CandidateQuery(groups=some, isolated=pairs(some), limit=limit)
    assert find_quickly(index, query).count == 0


@pytest.mark.parametrize("limit", [None, 10])
def test_groups_outside_of_each_other(limit: int | None) -> None:
    index, nine = index_of(*host([8] * 8)), groups([1] * 9)

    def query(some: tuple[RequestGroup, ...], limit: int | None) -> CandidateQuery:
        suffixes = [each.suffix for each in some]
        return CandidateQuery(
            groups=some,
            same_subtree=tuple(frozenset([suffix]) for suffix in suffixes),
            elsewhere=tuple(
                Elsewhere(inside=frozenset([one]), outside=frozenset([other]))
                for one, other in permutations(suffixes, 2)
            ),
            limit=limit,
        )

    assert find_quickly(index, query(nine, limit)).count == 0
    assert find_quickly(index, query(nine[:8], 10)).count == 10


def test_a_parent_is_not_outside_of_its_children() -> None:
    """Nine providers for nine groups; but eight of them are below the ninth."""
    devices = [provider(f"device{n}", {VF: 8}, parent="card") for n in range(8)]
    index = index_of(provider("host"), provider("card", {VF: 8}, parent="host"), *devices)
    nine = groups([1] * 9)
    query = CandidateQuery(
        groups=nine,
        same_subtree=tuple(frozenset([each.suffix]) for each in nine),
        elsewhere=tuple(
            Elsewhere(inside=frozenset([one.suffix]), outside=frozenset([other.suffix]))
            for one, other in permutations(nine, 2)
        ),
    )
    assert find_quickly(index, query).count == 0


@pytest.mark.parametrize("limit", [None, 10])
@pytest.mark.parametrize(
    "amounts",
    [
        [7] * 21 + [1] * 5,
        [1] * 5 + [7] * 21,
        # Their sum is 20 less than the room.
        [11] * 11 + [3] * 19,
        # As many as fit by number and by sum, but 13 and 7 leave nothing for two more of 4.
        [13] * 10 + [4] * 15 + [2] * 5,
        # More than there is in sum alone.
        [5] * 25 + [6] * 13,
    ],
    ids=["21 of 7", "21 of 7 last", "11 of 11", "4 beside 13", "sum"],
)
def test_equal_groups_that_do_not_fit(amounts: list[int], limit: int | None) -> None:
    index = index_of(*host([20] * 10))
    query = CandidateQuery(groups=groups(amounts), limit=limit)
    assert find_quickly(index, query).count == 0


@pytest.mark.parametrize(
    "amounts",
    [
        [7] * 20 + [1] * 5,
        [1] * 5 + [7] * 20,
        [1] * 30 + [7] * 20 + [3] * 10,
        [2] * 10 + [5] * 10 + [13] * 10,
    ],
    ids=["20 of 7", "20 of 7 last", "nothing left", "nothing left, largest last"],
)
@pytest.mark.parametrize("limit", [1, 20])
def test_equal_groups_that_just_fit(amounts: list[int], limit: int) -> None:
    index, budget = index_of(*host([20] * 10)), Budget()
    query = CandidateQuery(groups=groups(amounts), limit=limit)
    answer = find(index, query, budget=budget)
    assert answer.count == limit
    check(query, answer, rooms_of(index))
    assert budget.choices_tried < 2 * CHOICES_MAX
    assert budget.steps < 20 * STEPS_MAX


def test_what_was_decided_for_a_tree_holds_for_all_that_look_the_same() -> None:
    amounts = [13] * 10 + [4] * 15 + [2] * 5
    budgets = []
    for count in (1, 20):
        budget = Budget()
        index = index_of(*(each for n in range(count) for each in host([20] * 10, f"host{n}")))
        query = CandidateQuery(groups=groups(amounts))
        assert find(index, query, budget=budget).count == 0
        budgets.append(budget)
    # What remains is to search until it is lost, and to see that a tree looks the same.
    assert budgets[1].steps < 20 * 100 + budgets[0].steps


def test_a_hopeless_tree_does_not_keep_others_from_their_turn() -> None:
    """One tree takes all the time there is; the other has candidates at once."""
    hopeless = host([(37 * n) % 41 + 30 for n in range(30)], "hopeless")
    index = index_of(*hopeless, *host([50] * 12, "good"))
    some = groups([11 + n % 9 for n in range(24)])
    answer = find(index, CandidateQuery(groups=some, limit=5), budget=Budget(units_max=3_000_000))
    assert answer.count == 5
