"""The queue of claims: who works, on what, and who does not wait."""

import threading
import time
import types
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from roost.service import claim_queue
from roost.service.claim_queue import GATHER_SECONDS, ClaimQueue

SECONDS_MAX = 30.0


class Work:
    """Notes the batches that it is given, and finishes each when it may."""

    def __init__(self, *, blocked: bool = False) -> None:
        self.batches: list[list[int]] = []
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0 if blocked else 1_000_000)

    def __call__(self, items: Sequence[int]) -> list[str]:
        self.batches.append(list(items))
        self.begun.release()
        assert self.may_end.acquire(timeout=SECONDS_MAX)
        return [f"done {item}" for item in items]


def wait_until_waiting(queue: ClaimQueue[int, str], count: int) -> None:
    until = time.monotonic() + SECONDS_MAX
    while len(queue._waiting) < count:
        assert time.monotonic() < until
        time.sleep(0.001)


def start(
    pool: ThreadPoolExecutor, queue: ClaimQueue[int, str], work: Work, items: Sequence[int]
) -> list["Future[str | None]"]:
    return [pool.submit(queue.run, item, work) for item in items]


def test_one_alone_does_not_wait() -> None:
    queue: ClaimQueue[int, str] = ClaimQueue()
    work = Work()
    assert [queue.run(number, work) for number in range(3)] == ["done 0", "done 1", "done 2"]
    assert work.batches == [[0], [1], [2]]


def test_what_arrives_meanwhile_goes_together() -> None:
    queue: ClaimQueue[int, str] = ClaimQueue(patience_seconds=SECONDS_MAX)
    work = Work(blocked=True)
    with ThreadPoolExecutor(9) as pool:
        first = start(pool, queue, work, [0])
        assert work.begun.acquire(timeout=SECONDS_MAX)
        others = start(pool, queue, work, range(1, 9))
        wait_until_waiting(queue, 8)
        work.may_end.release(2)
        results = [future.result(SECONDS_MAX) for future in first + others]
    assert results == [f"done {number}" for number in range(9)]
    assert [len(batch) for batch in work.batches] == [1, 8]


def test_a_batch_after_a_shared_one_gathers(monkeypatch: pytest.MonkeyPatch) -> None:
    queue: ClaimQueue[int, str] = ClaimQueue(patience_seconds=SECONDS_MAX)
    work = Work(blocked=True)
    pauses: list[float] = []
    # Of the queue alone.
    clock = types.SimpleNamespace(monotonic=time.monotonic, sleep=pauses.append)
    monkeypatch.setattr(claim_queue, "time", clock)
    with ThreadPoolExecutor(3) as pool:
        first = start(pool, queue, work, [0])
        assert work.begun.acquire(timeout=SECONDS_MAX)
        others = start(pool, queue, work, (1, 2))
        wait_until_waiting(queue, 2)
        work.may_end.release(2)
        for future in first + others:
            future.result(SECONDS_MAX)
    work.may_end.release(2)
    for number in (3, 4):
        queue.run(number, work)
    assert [len(batch) for batch in work.batches] == [1, 2, 1, 1]
    # The first after the shared one waited in vain; whoever is alone after that does not wait.
    assert pauses == [GATHER_SECONDS]


def test_a_batch_has_a_bound() -> None:
    queue: ClaimQueue[int, str] = ClaimQueue(batch_max=3, patience_seconds=SECONDS_MAX)
    work = Work(blocked=True)
    with ThreadPoolExecutor(9) as pool:
        futures = start(pool, queue, work, [0])
        assert work.begun.acquire(timeout=SECONDS_MAX)
        futures += start(pool, queue, work, range(1, 8))
        wait_until_waiting(queue, 7)
        work.may_end.release(10)
        for future in futures:
            future.result(SECONDS_MAX)
    assert [len(batch) for batch in work.batches] == [1, 3, 3, 1]


def test_nobody_waits_for_one_that_is_stuck() -> None:
    queue: ClaimQueue[int, str] = ClaimQueue(patience_seconds=0.05)
    work = Work(blocked=True)
    with ThreadPoolExecutor(4) as pool:
        stuck = start(pool, queue, work, [0])
        assert work.begun.acquire(timeout=SECONDS_MAX)
        # One that arrives soon is patient for a while; later ones are not at all.
        assert [queue.run(number, work) for number in (1, 2)] == [None, None]
        work.may_end.release()
        assert stuck[0].result(SECONDS_MAX) == "done 0"
    work.may_end.release()
    assert queue.run(3, work) == "done 3"
    assert work.batches == [[0], [3]]


def test_a_failure_frees_everybody() -> None:
    queue: ClaimQueue[int, str] = ClaimQueue(patience_seconds=SECONDS_MAX)
    begun, may_fail = threading.Event(), threading.Event()

    def fail(items: Sequence[int]) -> list[str]:
        begun.set()
        assert may_fail.wait(SECONDS_MAX)
        raise RuntimeError("broken")

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(queue.run, 0, fail)
        assert begun.wait(SECONDS_MAX)
        others = [pool.submit(queue.run, number, fail) for number in (1, 2)]
        wait_until_waiting(queue, 2)
        may_fail.set()
        with pytest.raises(RuntimeError):
            first.result(SECONDS_MAX)
        # One of the others has led the next batch, and has failed too. The other one was in it. It
        # is not told that nobody worked on it: perhaps somebody did.
        outcomes = [future.exception(SECONDS_MAX) for future in others]
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["BatchFailed", "RuntimeError"]
    assert queue.run(5, lambda items: ["fine" for _ in items]) == "fine"


def test_everybody_gets_an_own_outcome() -> None:
    """Many threads at once, each of which runs many items."""
    queue: ClaimQueue[int, str] = ClaimQueue(patience_seconds=SECONDS_MAX)
    work = Work()

    def run(first: int) -> list[str | None]:
        return [queue.run(first + number, work) for number in range(200)]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run, range(0, 8000, 1000)))
    for first, found in zip(range(0, 8000, 1000), results, strict=True):
        assert found == [f"done {first + number}" for number in range(200)]
    worked_on = [item for batch in work.batches for item in batch]
    assert len(worked_on) == len(set(worked_on)) == 8 * 200
