"""How the threads of one process share the work of catching up."""

import threading

from roost.changes import Changes, Rows
from roost.service.service import Roost
from roost.settings import Settings


class SlowFeed:
    """A store whose feed answers when the test allows it."""

    def __init__(self) -> None:
        self.read_started = threading.Semaphore(0)
        self.may_answer = threading.Semaphore(0)
        self.count = 0

    def load(self, progress):
        return {1: 0}, Rows()

    def own_changes(self, position):
        return iter(())

    def changes_since(self, position):
        self.count += 1
        self.read_started.release()
        assert self.may_answer.acquire(timeout=30)
        return position, Changes()


def read_index(roost: Roost) -> None:
    roost.current_index()


def start_reading(roost: Roost) -> threading.Thread:
    thread = threading.Thread(target=read_index, args=(roost,))
    thread.start()
    return thread


def test_waiting_threads_share_one_read_of_the_feed():
    feed = SlowFeed()
    roost = Roost(feed, Settings())
    read_index(roost)
    first = start_reading(roost)
    assert feed.read_started.acquire(timeout=30)
    # These threads arrive after the first read of the feed began, so its answer is not enough
    # for them. One more read is enough for all of them.
    others = [start_reading(roost) for _ in range(5)]
    while roost._catch_up_lock.locked() and sum(thread.is_alive() for thread in others) < 5:
        pass
    feed.may_answer.release()
    assert feed.read_started.acquire(timeout=30)
    feed.may_answer.release()
    for _ in others:
        # In case one of them had not started by then.
        feed.may_answer.release()
    for thread in (first, *others):
        thread.join(30)
        assert not thread.is_alive()
    assert 2 <= feed.count < 1 + len(others)


def test_a_failed_catch_up_releases_its_locks():
    feed = SlowFeed()
    roost = Roost(feed, Settings())

    def fail(progress):
        raise RuntimeError("the database is away")

    feed.load = fail
    for _ in range(2):
        try:
            read_index(roost)
        except RuntimeError:
            continue
        raise AssertionError("should have failed")
    del feed.load
    read_index(roost)
