"""Whose turn it is among long requests."""

import threading
import time

from roost.server.turns import Turns


def order_of_turns(waiting: list[tuple[str, bool]]) -> list[str]:
    """Who gets turns one after the other, given who waits and whether it is their first turn."""
    turns = Turns()
    assert turns.take(time.monotonic() + 60, is_first=True)
    got: list[str] = []

    def wait(name: str, is_first: bool) -> None:
        assert turns.take(time.monotonic() + 60, is_first=is_first)
        got.append(name)
        turns.give_back()

    threads = []
    for count, (name, is_first) in enumerate(waiting, 1):
        thread = threading.Thread(target=wait, args=(name, is_first))
        threads.append(thread)
        thread.start()
        while len(turns._new) + len(turns._others) < count:
            time.sleep(0.001)
    turns.give_back()
    for thread in threads:
        thread.join()
    assert not turns.is_awaited
    return got


def test_they_come_in_order() -> None:
    assert order_of_turns([("a", False), ("b", False), ("c", False)]) == ["a", "b", "c"]


def test_new_ones_come_first_but_not_always() -> None:
    waiting = [("a", False), ("b", False), ("c", True), ("d", True), ("e", True)]
    assert order_of_turns(waiting) == ["c", "a", "d", "b", "e"]


def test_a_turn_that_does_not_come_in_time() -> None:
    turns = Turns()
    assert turns.take(time.monotonic() + 60, is_first=True)
    assert not turns.take(time.monotonic() + 0.01, is_first=False)
    assert not turns.is_awaited
    turns.give_back()
    assert turns.take(time.monotonic(), is_first=False)
