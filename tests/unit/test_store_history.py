"""Records of several writers are put in the order in which they took place."""

import random
import time
from itertools import permutations

import pytest

from roost.store.change_record import UNBORN, ChangeRecord, decode, encode
from roost.store.feed.history import in_order
from roost.store.feed.positions import Numbered

P, Q = 1, 2  # providers


def moves(generation: int, provider: int = P) -> ChangeRecord:
    return ChangeRecord(generations=[(provider, generation)])


def sees(generation: int, provider: int = P) -> ChangeRecord:
    return ChangeRecord(seen=[(provider, generation)], providers=[provider])


def leaves(provider: int = P) -> ChangeRecord:
    """What a consumer does that holds something of others from now on."""
    return ChangeRecord(usage=[(provider, 0, -1)])


def gone(provider: int = P) -> ChangeRecord:
    return ChangeRecord(providers=[provider], gone=[(provider, "uuid", "root")])


def told(writers: dict[int, list[ChangeRecord]]) -> list[ChangeRecord]:
    found = [
        Numbered(writer, number, record)
        for writer in sorted(writers)
        for number, record in enumerate(writers[writer], 1)
    ]
    return [each.record for each in in_order(found)]


LIFE = [sees(UNBORN), sees(0), moves(1), sees(1), moves(2), moves(4), sees(4), leaves(), gone()]


@pytest.mark.parametrize("writers", list(permutations((1, 2, 3))))
def test_the_life_of_a_provider(writers: tuple[int, ...]) -> None:
    """Whoever wrote what: a reshape moves generations by more than one."""
    queues: dict[int, list[ChangeRecord]] = {writer: [] for writer in writers}
    for place, record in enumerate(LIFE):
        queues[writers[place % 3]].append(record)
    order = told(queues)
    # Nobody knows when it was left, but that it was before it went.
    assert [each for each in order if each != leaves()] == [
        each for each in LIFE if each != leaves()
    ]


def test_who_was_passed_by_others() -> None:
    """Two threads of writer 1: the first looked, and committed after all the others."""
    first = sees(1)
    assert told({1: [moves(3), first], 2: [moves(2)]}) == [moves(2), moves(3), first]


def test_an_id_that_was_given_away_again() -> None:
    """There is no order to be found, but nobody is left out."""
    records = {1: [sees(UNBORN), moves(1), sees(UNBORN)], 2: [gone(), moves(1)]}
    assert len(told(records)) == 5


@pytest.mark.parametrize("seed", range(50))
def test_any_history(seed: int) -> None:
    """Each provider is told as it was; and from any place on the rest is the same."""
    chance = random.Random(seed)
    generations = {P: 0, Q: 0}
    history = []
    for _ in range(40):
        some = chance.sample((P, Q), chance.randint(1, 2))
        if chance.random() < 0.5:
            history.append(ChangeRecord(seen=[(each, generations[each]) for each in some]))
        else:
            for each in some:
                generations[each] += chance.randint(1, 3)
            history.append(ChangeRecord(generations=[(each, generations[each]) for each in some]))
    numbers = [0, 0, 0]
    found = []
    for record in history:
        writer = chance.randrange(3)
        numbers[writer] += 1
        found.append(Numbered(writer, numbers[writer], record))
    found.sort()
    order = list(in_order(found))
    for provider in (P, Q):
        steps = [
            (generation, not moved)
            for each in order
            for moved, pairs in ((True, each.record.generations), (False, each.record.seen))
            for id, generation in pairs
            if id == provider
        ]
        assert steps == sorted(steps)
    for place in range(len(order)):
        left = [each for each in found if each not in order[:place]]
        assert list(in_order(left)) == order[place:]


def test_a_busy_provider_costs_as_much_as_many() -> None:
    records = [Numbered(1, number, moves(number)) for number in range(1, 50_001)]
    begun = time.monotonic()
    assert list(in_order(records)) == records
    assert time.monotonic() - begun < 10


def test_records_of_older_roosts() -> None:
    old = '{"providers":[7],"kinds":{"provider":[7]},"gone":[[8,"uuid","root"]]}'
    assert decode(old) == ChangeRecord(
        providers=[7], kinds={"provider": [7]}, gone=[(8, "uuid", "root")]
    )
    # What is not to be said takes no room.
    assert encode(moves(3)) == '{"generations":[[1,3]]}'
