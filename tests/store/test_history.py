"""Records of several writers are sorted into the order in which they were committed."""

import random
import time
from itertools import permutations

import pytest

from roost.store.change_record import NOT_YET_CREATED, ChangeRecord, decode, encode
from roost.store.feed.history import in_order
from roost.store.feed.positions import SequencedRecord

P, Q = 1, 2  # providers


def advances(generation: int, provider: int = P) -> ChangeRecord:
    return ChangeRecord(generations=[(provider, generation)])


def sees(generation: int, provider: int = P) -> ChangeRecord:
    return ChangeRecord(seen_generations=[(provider, generation)], providers=[provider])


def releases(provider: int = P) -> ChangeRecord:
    """A consumer moves its allocations to other providers."""
    return ChangeRecord(usage=[(provider, 0, -1)])


def deletes(provider: int = P) -> ChangeRecord:
    return ChangeRecord(providers=[provider], deleted=[(provider, "uuid", "root")])


def ordered(writers: dict[int, list[ChangeRecord]]) -> list[ChangeRecord]:
    found = [
        SequencedRecord(writer, number, record)
        for writer in sorted(writers)
        for number, record in enumerate(writers[writer], 1)
    ]
    return [each.record for each in in_order(found)]


HISTORY = [
    sees(NOT_YET_CREATED),
    sees(0),
    advances(1),
    sees(1),
    advances(2),
    advances(4),
    sees(4),
    releases(),
    deletes(),
]


@pytest.mark.parametrize("writers", list(permutations((1, 2, 3))))
def test_the_records_of_a_provider_are_put_in_order(writers: tuple[int, ...]) -> None:
    """Whichever writer wrote each record. A reshape advances a generation by more than one."""
    queues: dict[int, list[ChangeRecord]] = {writer: [] for writer in writers}
    for place, record in enumerate(HISTORY):
        queues[writers[place % 3]].append(record)
    order = ordered(queues)
    # The feed cannot tell when the allocation was released, only that it was before the deletion.
    assert [each for each in order if each != releases()] == [
        each for each in HISTORY if each != releases()
    ]


def test_a_record_that_was_overtaken_comes_later() -> None:
    """Of two threads of writer 1, the one that reads first commits last."""
    first = sees(1)
    assert ordered({1: [advances(3), first], 2: [advances(2)]}) == [advances(2), advances(3), first]


def test_records_of_a_reused_id_are_all_kept() -> None:
    """Their order is undefined, but none is left out."""
    records = {
        1: [sees(NOT_YET_CREATED), advances(1), sees(NOT_YET_CREATED)],
        2: [deletes(), advances(1)],
    }
    assert len(ordered(records)) == 5


@pytest.mark.parametrize("seed", range(50))
def test_random_histories_are_put_in_order(seed: int) -> None:
    """Each provider's records are in order, and a reader may resume after any of them."""
    chance = random.Random(seed)
    generations = {P: 0, Q: 0}
    history = []
    for _ in range(40):
        some = chance.sample((P, Q), chance.randint(1, 2))
        if chance.random() < 0.5:
            history.append(
                ChangeRecord(seen_generations=[(each, generations[each]) for each in some])
            )
        else:
            for each in some:
                generations[each] += chance.randint(1, 3)
            history.append(ChangeRecord(generations=[(each, generations[each]) for each in some]))
    numbers = [0, 0, 0]
    found = []
    for record in history:
        writer = chance.randrange(3)
        numbers[writer] += 1
        found.append(SequencedRecord(writer, numbers[writer], record))
    found.sort()
    order = list(in_order(found))
    for provider in (P, Q):
        steps = [
            (generation, not advanced)
            for each in order
            for advanced, pairs in (
                (True, each.record.generations),
                (False, each.record.seen_generations),
            )
            for id, generation in pairs
            if id == provider
        ]
        assert steps == sorted(steps)
    for place in range(len(order)):
        left = [each for each in found if each not in order[:place]]
        assert list(in_order(left)) == order[place:]


def test_many_records_of_one_provider_are_sorted_quickly() -> None:
    records = [SequencedRecord(1, number, advances(number)) for number in range(1, 50_001)]
    started_at = time.monotonic()
    assert list(in_order(records)) == records
    assert time.monotonic() - started_at < 10


def test_records_keep_their_encoding() -> None:
    """An older roost and this one can read each other's records."""
    stored = (
        '{"providers":[7],"removed":[[1,2]],"kinds":{"provider":[7]},"gone":[[8,"uuid","root"]],'
        '"moved":[[7,"root"]],"seen":[[7,3]]}'
    )
    record = ChangeRecord(
        providers=[7],
        removed_writers=[(1, 2)],
        kinds={"provider": [7]},
        deleted=[(8, "uuid", "root")],
        former_roots=[(7, "root")],
        seen_generations=[(7, 3)],
    )
    assert decode(stored) == record
    assert encode(record) == stored
    # Empty fields are left out.
    assert encode(advances(3)) == '{"generations":[[1,3]]}'


@pytest.mark.parametrize("ids", [(1, 2), (2, 1)])
def test_the_two_writers_of_a_process_are_put_in_order(ids: tuple[int, int]) -> None:
    """Also if their records have no provider in common: one says how far the other one was."""
    first, other = ids
    writers = {
        first: [advances(1), advances(2)],
        other: [
            ChangeRecord(classes=[7], after=(first, 1)),
            ChangeRecord(classes=[8], after=(first, 2)),
        ],
    }
    order = ordered(writers)
    assert order.index(writers[other][0]) > order.index(writers[first][0])
    assert order[-1] == writers[other][1]
    # What came before the position of the reader is not waited for.
    assert ordered({other: writers[other]}) == writers[other]
