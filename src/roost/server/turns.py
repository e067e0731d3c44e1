"""Whose turn it is: among the senders of requests that wait, and among long requests."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Container
from contextvars import Context
from typing import Any, TypeVar

import msgspec

Work = Callable[[], None]

_Key = TypeVar("_Key")


class Sender(msgspec.Struct, frozen=True):
    """Who sent a request, as far as that can be told before it is worked on."""

    address: str
    token: str | None


NOBODY = Sender("", None)


class Job:
    """Work in a context, and what comes after it."""

    __slots__ = ("context", "may_take_long", "sender", "then", "work")

    def __init__(
        self, work: Work, context: Context, then: Work, sender: Sender, may_take_long: bool
    ) -> None:
        self.work = work
        self.context = context
        self.then = then
        self.sender = sender
        self.may_take_long = may_take_long


class FairQueue:
    """Jobs. Each address in turn gets one done, and so does each token of an address.

    Behind a proxy everybody has one address. But without one, whoever invents a token for each
    request has no more turns than others.
    """

    def __init__(self) -> None:
        # By address and token, in the order of their turns. Empty: nobody waits.
        self.jobs: OrderedDict[str, OrderedDict[str | None, deque[Job]]] = OrderedDict()

    def put(self, job: Job) -> None:
        sender = job.sender
        by_token = self.jobs.setdefault(sender.address, OrderedDict())
        by_token.setdefault(sender.token, deque()).append(job)

    def pop(self, without: Container[Sender] = ()) -> Job | None:
        """The next one that is not of a sender that has to wait."""
        for address, by_token in self.jobs.items():
            for token, jobs in by_token.items():
                if Sender(address, token) not in without:
                    _take_turn(by_token, token, is_last=len(jobs) == 1)
                    _take_turn(self.jobs, address, is_last=not by_token)
                    return jobs.popleft()
        return None


def _take_turn(queues: OrderedDict[_Key, Any], key: _Key, *, is_last: bool) -> None:
    if is_last:
        del queues[key]
    else:
        queues.move_to_end(key)


class Turns:
    """Who may go on, one at a time, in the order in which they came.

    Whoever has had no turn yet comes first, since most requests need no second one. But every other
    turn is for those who have, or many new ones would keep them from ever ending.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_taken = False
        self._was_new = False
        self._new: deque[threading.Lock] = deque()
        self._others: deque[threading.Lock] = deque()

    @property
    def is_awaited(self) -> bool:
        return bool(self._new or self._others)

    def take(self, until: float, *, is_first: bool) -> bool:
        """Wait for a turn; False if none came before the monotonic clock said `until`."""
        turn = threading.Lock()
        waiting = self._new if is_first else self._others
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            turn.acquire()
            waiting.append(turn)
        if turn.acquire(timeout=max(0.0, until - time.monotonic())):
            return True
        with self._lock:
            if turn in waiting:
                waiting.remove(turn)
                return False
        # It came at the last moment.
        return True

    def give_back(self) -> None:
        with self._lock:
            self._was_new = bool(self._new) and not (self._was_new and self._others)
            waiting = self._new if self._was_new else self._others
            if waiting:
                waiting.popleft().release()
            else:
                self._is_taken = False
