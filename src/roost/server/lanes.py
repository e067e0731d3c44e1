"""The threads that answer requests, and how long requests give way to short ones.

Requests are worked on in a few places at once. A request that turns out to be long leaves its place
to others and goes on beside them: all long requests of the process share one processor, by turns.
A search shows that it is long by asking whether it may go on (`roost.service.search_time`).
"""

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from contextvars import Context
from queue import SimpleQueue

from roost.errors import TooManyLongRequests
from roost.service.search_time import PLACE

LOG = logging.getLogger(__name__)

# How much processor time makes a request a long one, and how much if others wait for its place.
LONG_SECONDS = 0.01
LONG_SECONDS_CROWDED = 0.002
# How many long requests there may be. Each has a thread, and what it has found so far.
LONG_MAX = 128
# How long one of them goes on while others wait for their turn.
TURN_SECONDS = 0.02
# How long a long request rests, each time it is asked, while short ones are being worked on.
REST_SECONDS = 0.0002

Work = Callable[[], None]


class Lanes:
    """Threads that work on jobs. Senders take turns; jobs that may take long leave one place free.

    So neither many requests of one sender nor many searches keep others waiting.
    """

    def __init__(self, threads: int, name: str, *, long_max: int = LONG_MAX) -> None:
        self.long_max = long_max
        self.turns = Turns()
        self._name = name
        self._lock = threading.Lock()
        # One for each job that was added, and for each that can begin because another has ended.
        self._signals: SimpleQueue[None] = SimpleQueue()
        self._quick = FairQueue()
        self._slow = FairQueue()
        self._slow_running = 0
        self._slow_running_max = max(1, threads - 1)
        self._long = 0
        # Replaced, never changed: it is read without the lock.
        self._places: tuple[_Place, ...] = ()
        for _ in range(threads):
            self._start_thread()

    def add(
        self,
        work: Work,
        context: Context,
        then: Work,
        *,
        sender: Hashable = None,
        may_take_long: bool = False,
    ) -> None:
        """Let a thread do this work in a context, and then, outside of it, something else.

        Neither may raise. `then` may cause more work in the same context.
        """
        job = _Job(work, context, then, may_take_long)
        with self._lock:
            (self._slow if may_take_long else self._quick).put(sender, job)
        self._signals.put(None)

    @property
    def has_short_requests(self) -> bool:
        return any(place.is_working for place in self._places)

    @property
    def short_seconds_max(self) -> float:
        """How much processor time a request may have before it has to leave its place."""
        return LONG_SECONDS_CROWDED if self._slow else LONG_SECONDS

    @property
    def count_long(self) -> int:
        return self._long

    # -----------------------------------------------------------------------------------------
    # In a thread

    def _start_thread(self) -> None:
        place = _Place(self)
        self._places = (*self._places, place)
        threading.Thread(target=self._work, args=(place,), name=self._name, daemon=True).start()

    def _work(self, place: "_Place") -> None:
        while not place.is_long:
            self._signals.get()
            job = self._next()
            if job is None:
                continue
            place.begin(job)
            try:
                job.context.run(_do, job.work, place)
                job.then()
            except BaseException:
                LOG.exception("a job of the server failed")
            self._end(place)
            # Not to keep what belongs to a request until the next one comes.
            job = None

    def _next(self) -> "_Job | None":
        with self._lock:
            if job := self._quick.pop():
                return job
            if self._slow_running < self._slow_running_max and (job := self._slow.pop()):
                self._slow_running += 1
                return job
        return None

    def _end(self, place: "_Place") -> None:
        place.is_working = False
        with self._lock:
            if place.is_long:
                self._long -= 1
            else:
                self._leave(place)
        if place.has_turn:
            self.turns.give_back()

    def go_long(self, place: "_Place") -> None:
        """Leave the place to another thread. The thread of this request ends with the request."""
        with self._lock:
            if self._long >= self.long_max:
                raise TooManyLongRequests()
            self._long += 1
            place.is_long = True
            self._places = tuple(each for each in self._places if each is not place)
            self._leave(place)
            self._start_thread()

    def _leave(self, place: "_Place") -> None:
        if place.may_take_long:
            self._slow_running -= 1
            if self._slow:
                self._signals.put(None)


class _Place:
    """The place of one thread, or of a long request beside the places."""

    def __init__(self, lanes: Lanes) -> None:
        self.is_working = False
        self.may_take_long = False
        self.is_long = False
        self.has_turn = False
        self._lanes = lanes
        self._begun = 0.0
        self._turn_begun = 0.0

    def begin(self, job: "_Job") -> None:
        self._begun = time.thread_time()
        self.may_take_long = job.may_take_long
        self.is_working = True

    def give_way(self, until: float) -> None:
        if not self.is_long:
            if time.thread_time() - self._begun < self._lanes.short_seconds_max:
                return
            self._lanes.go_long(self)
            self._take_turn(until)
        elif time.monotonic() - self._turn_begun > TURN_SECONDS and self._lanes.turns.is_awaited:
            if self.has_turn:
                self._lanes.turns.give_back()
            self._take_turn(until)
        if self._lanes.has_short_requests:
            # They get the interpreter at once instead of waiting until it is taken away.
            time.sleep(REST_SECONDS)

    def _take_turn(self, until: float) -> None:
        self.has_turn = self._lanes.turns.take(until)
        self._turn_begun = time.monotonic()


class _Job:
    __slots__ = ("context", "may_take_long", "then", "work")

    def __init__(self, work: Work, context: Context, then: Work, may_take_long: bool) -> None:
        self.work = work
        self.context = context
        self.then = then
        self.may_take_long = may_take_long


def _do(work: Work, place: _Place) -> None:
    PLACE.set(place)
    work()


class FairQueue:
    """Jobs, of which each sender in turn gets one done."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[Hashable, deque[_Job]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def put(self, sender: Hashable, job: _Job) -> None:
        self._jobs.setdefault(sender, deque()).append(job)

    def pop(self) -> _Job | None:
        if not self._jobs:
            return None
        sender, jobs = self._jobs.popitem(last=False)
        job = jobs.popleft()
        if jobs:
            self._jobs[sender] = jobs
        return job


class Turns:
    """Who may go on, one at a time, in the order in which they came."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Lock] = deque()

    @property
    def is_awaited(self) -> bool:
        return bool(self._waiting)

    def take(self, until: float) -> bool:
        """Wait for a turn; False if none came before the monotonic clock said `until`."""
        turn = threading.Lock()
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            turn.acquire()
            self._waiting.append(turn)
        if turn.acquire(timeout=max(0.0, until - time.monotonic())):
            return True
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return False
        # It came at the last moment.
        return True

    def give_back(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False
