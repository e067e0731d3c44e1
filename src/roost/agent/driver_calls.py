"""Calls of a driver: one at a time, and each of them given up if it takes too long.

Nothing can end a call that hangs, for example on a disk that does not answer. So calls are made in
a thread of their own, which is left behind with the call that is given up, and another takes over.
"""

import logging
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from roost.agent.driver import DriverError
from roost.agent.stopping import Stopped

LOG = logging.getLogger(__name__)

# How long a call may take, unless the user says otherwise.
CALL_SECONDS_MAX = 60.0
# How long a call may still take that is under way when the agent is asked to stop.
STOP_SECONDS_MAX = 2.0
# How often those who wait look whether the agent was asked to stop.
LOOK_SECONDS = 0.1

Answer = TypeVar("Answer")


class CallGivenUp(DriverError):
    """A call has not returned in time, or an earlier one of the same node still has not."""


class DriverCalls:
    """Makes calls for several threads, in turns. A call overlaps only those that were given up."""

    def __init__(self, driver: str, seconds_max: float, stop: threading.Event) -> None:
        """Once `stop` is set, no call begins any more: `Stopped` is raised instead."""
        self._driver = driver  # its name
        self._seconds_max = seconds_max
        self._stop = stop
        self._turn = threading.Lock()
        # Used by the thread whose turn it is.
        self._free: _Caller | None = None
        self._given_up: dict[str | None, _Call[Any]] = {}  # the last one of each node

    def make(self, what: str, nodename: str | None, act: Callable[[], Answer]) -> Answer:
        """Return or raise what `act` does. Raises CallGivenUp.

        While a call for a node hangs, no other for the same node begins.
        """
        with self._own_turn():
            hanging = self._given_up.pop(nodename, None)
            if hanging is not None and not hanging.has_ended.is_set():
                self._given_up[nodename] = hanging
                raise CallGivenUp(
                    f"{hanging.what} has not returned for {hanging.seconds:.0f} seconds; no other "
                    "call begins before it does"
                )
            caller, self._free = self._free or _Caller(self), None
            call = _Call(what, act)
            caller.begin(call.run)
            try:
                if self._ends(call):
                    self._free = caller
                    return call.answer()
                self._given_up[nodename] = call
                call.tell(f"driver {self._driver}: {nodename or 'all nodes'}")
            finally:
                if self._free is None:
                    caller.end()
        if self._stop.is_set():
            raise Stopped
        raise CallGivenUp(f"{what} has not returned within {self._seconds_max:g} seconds")

    @contextmanager
    def _own_turn(self) -> Iterator[None]:
        while not self._turn.acquire(timeout=LOOK_SECONDS):
            if self._stop.is_set():
                raise Stopped
        try:
            # Others may have taken long.
            if self._stop.is_set():
                raise Stopped
            yield
        finally:
            self._turn.release()

    def _ends(self, call: "_Call[Any]") -> bool:
        """Wait for a call. Returns whether it has ended in time."""
        deadline, is_stopping = time.monotonic() + self._seconds_max, False
        while (left := deadline - time.monotonic()) > 0:
            if call.has_ended.wait(min(left, LOOK_SECONDS)):
                return True
            if self._stop.is_set() and not is_stopping:
                deadline = min(deadline, time.monotonic() + STOP_SECONDS_MAX)
                is_stopping = True
        return call.has_ended.is_set()


class _Call(Generic[Answer]):
    """One call, and what has become of it."""

    def __init__(self, what: str, act: Callable[[], Answer]) -> None:
        self.what = what
        self.has_ended = threading.Event()
        self._act = act
        self._began = time.monotonic()
        self._answers: list[Answer] = []  # at most one
        self._error: BaseException | None = None
        self._told: str | None = None

    @property
    def seconds(self) -> float:
        """For how long it has been under way."""
        return time.monotonic() - self._began

    def tell(self, whose: str) -> None:
        """Log when it ends."""
        self._told = whose

    def run(self) -> None:
        try:
            self._answers.append(self._act())
        except BaseException as error:
            # Even the end of the program is for the thread that waits.
            self._error = error
        finally:
            self.has_ended.set()
            if self._told is not None:
                LOG.info("%s: %s has ended after %.0f seconds", self._told, self.what, self.seconds)

    def answer(self) -> Answer:
        """What was returned. Raises what was raised."""
        if self._error is not None:
            raise self._error
        return self._answers[0]


class _Caller:
    """A thread that makes one call after the other. It does not keep the process alive."""

    def __init__(self, owner: DriverCalls) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        thread = threading.Thread(target=_run_all, args=(self._calls,), name="driver", daemon=True)
        thread.start()
        weakref.finalize(owner, self._calls.put, None)

    def begin(self, run: Callable[[], None]) -> None:
        self._calls.put(run)

    def end(self) -> None:
        """End after the call that is under way."""
        self._calls.put(None)


def _run_all(calls: queue.SimpleQueue[Callable[[], None] | None]) -> None:
    while (run := calls.get()) is not None:
        run()
        # While it waits for the next call, nothing of this one is kept.
        del run
