"""How threads of one process share the work of catching up."""

import threading

from roost.changes import Changes, Rows
from roost.service.service import Roost
from roost.settings import Settings


class SlowFeed:
    """A store whose feed answers when it is told to."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.answer = threading.Semaphore(0)
        self.count = 0

    def load(self):
        return {1: 0}, Rows()

    def own_changes(self, position):
        return None

    def changes_since(self, position):
        self.count += 1
        self.asked.release()
        assert self.answer.acquire(timeout=30)
        return position, Changes()


def look(roost: Roost) -> None:
    with roost.current_index():
        pass


def start(roost: Roost) -> threading.Thread:
    thread = threading.Thread(target=look, args=(roost,))
    thread.start()
    return thread


def test_threads_that_wait_share_one_question():
    feed = SlowFeed()
    roost = Roost(feed, Settings())
    look(roost)
    first = start(roost)
    assert feed.asked.acquire(timeout=30)
    # These came after the first question was asked, so its answer is not enough for them. One
    # more question is enough for all of them.
    others = [start(roost) for _ in range(5)]
    while roost._catch_up_lock.locked() and sum(thread.is_alive() for thread in others) < 5:
        pass
    feed.answer.release()
    assert feed.asked.acquire(timeout=30)
    feed.answer.release()
    for _ in others:
        # In case one of them had not even begun by then.
        feed.answer.release()
    for thread in (first, *others):
        thread.join(30)
        assert not thread.is_alive()
    assert 2 <= feed.count < 1 + len(others)


def test_a_view_that_fails_leaves_nothing_locked():
    feed = SlowFeed()
    roost = Roost(feed, Settings())

    def fail():
        raise RuntimeError("the database is away")

    feed.load = fail
    for _ in range(2):
        try:
            look(roost)
        except RuntimeError:
            continue
        raise AssertionError("should have failed")
    del feed.load
    look(roost)
