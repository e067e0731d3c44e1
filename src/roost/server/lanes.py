"""The threads that answer requests, and how long requests give way to short ones.

Requests are worked on in a few places at once. A request that turns out to be long leaves its place
to others and goes on beside them: all long requests of the process share one processor, by turns.
A search shows that it is long by asking whether it may go on (`roost.service.search_time`).

Other requests do not ask: they wait for the database, or read a hundred thousand rows. While others
wait, one that has been at it for too long is late, and another thread takes its place.

A claim that waits for the transaction of others lends its place: the more claims wait at once, the
more of them share the next transaction.

Handing a request to another thread takes as long as a small request. So while nobody waits, a
thread of the server works on its request itself, as a guest: beside the places, by the same rules.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Container
from contextvars import Context
from queue import SimpleQueue
from typing import TypeVar

from roost.errors import TooManyLongRequests
from roost.server.place import LONG_SECONDS, LONG_SECONDS_CROWDED, Place
from roost.server.turns import NOBODY, FairQueue, Job, Sender, Turns, Work
from roost.service.search_time import PLACE

LOG = logging.getLogger(__name__)

Result = TypeVar("Result")

# How many long requests there may be. Each has a thread, and what it has found so far.
LONG_MAX = 128
# After how long a request is late, whatever it does, and how many may be. Each has a thread.
LATE_SECONDS = 0.04
LATE_MAX = 64
# How many late requests a sender may have before its next one that may take long has to wait. They
# take no turns, so each of them slows everybody down.
LATE_OF_SENDER_MAX = 2
# How many requests may have lent their places. Each has a thread.
LENT_MAX = 128
# How many threads without a place are kept for the next one.
SPARE_MAX = 64


class Lanes:
    """Threads that work on jobs. Senders take turns; jobs that may take long leave one place free.

    So neither many requests of one sender nor many searches keep others waiting.
    """

    def __init__(
        self, threads: int, name: str, *, guests_max: int = 0, long_max: int = LONG_MAX
    ) -> None:
        """`guests_max`: how many threads of the server may be busy; it needs one more."""
        self.long_max = long_max
        self._threads = threads
        self._guests: set[Place] = set()
        # Of former guests, for the next ones.
        self._spare_guests: list[Place] = []
        self._guests_busy = 0
        self._guests_max = guests_max
        # How many places are occupied, and how often a thread found none because of guests.
        self._occupied = 0
        self._turned_away = 0
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
        self._late = 0
        self._lent = 0
        # Threads without a place, and the places that are given to them.
        self._spare_count = 0
        self._spare_places: SimpleQueue[Place] = SimpleQueue()
        # Senders whose late requests might have been long ones from the beginning.
        self._late_senders: Counter[Sender] = Counter()
        self._added = threading.Event()
        # Replaced, never changed: it is read without the lock.
        self._places: tuple[Place, ...] = ()
        for _ in range(threads):
            self._start_thread()
        threading.Thread(target=self._oversee, name=f"{name}: late", daemon=True).start()

    def add(
        self,
        work: Work,
        context: Context,
        then: Work,
        *,
        sender: Sender = NOBODY,
        may_take_long: bool = False,
    ) -> None:
        """Let a thread do this work in a context, and then, outside of it, something else.

        Neither may raise. `then` may cause more work in the same context.
        """
        job = Job(work, context, then, sender, may_take_long)
        with self._lock:
            (self._slow if may_take_long else self._quick).put(job)
        self._signals.put(None)
        if not self._added.is_set():
            self._added.set()

    def enter(self, sender: Sender, *, may_take_long: bool) -> Place | None:
        """A place for a job of the calling thread, which must `leave` it.

        None if others wait, or if enough threads are busy: then the job has to be added.
        """
        with self._lock:
            if self._guests_busy >= self._guests_max or self._occupied >= self._threads:
                return None
            if self._quick.jobs or self._slow.jobs:
                return None
            if may_take_long:
                is_full = self._slow_running >= self._slow_running_max
                if is_full or sender in self._senders_to_wait():
                    return None
                self._slow_running += 1
            self._guests_busy += 1
            self._occupied += 1
            spare = self._spare_guests
            place = spare.pop() if spare else Place(self, is_guest=True)
            place.begin(sender, may_take_long=may_take_long)
            self._guests.add(place)
        return place

    def work_as_guest(self, place: Place, work: Callable[[], Result], context: Context) -> Result:
        """Do the work in the calling thread, which has entered; it must not raise."""
        return context.run(_do, work, place)

    def leave(self, place: Place) -> None:
        """Give back the place of a guest."""
        with self._lock:
            self._end(place)
            self._guests_busy -= 1
            if place.is_kept:
                self._guests.discard(place)
                self._spare_guests.append(place)
        if place.has_turn:
            self.turns.give_back()

    @property
    def places(self) -> tuple[Place, ...]:
        """Those of the requests that are not long, and free ones."""
        # To copy a set is one step: nobody changes it meanwhile.
        return (*self._places, *self._guests.copy())

    @property
    def has_short_requests(self) -> bool:
        return any(place.is_working for place in self.places)

    @property
    def short_seconds_max(self) -> float:
        """How much processor time a request may have before it has to leave its place."""
        return LONG_SECONDS_CROWDED if self._slow.jobs else LONG_SECONDS

    @property
    def count_long(self) -> int:
        return self._long

    @property
    def count_late(self) -> int:
        return self._late

    # -----------------------------------------------------------------------------------------
    # In a thread

    def _start_thread(self) -> None:
        """Add a place, with a thread that has none or with a new one."""
        place = Place(self)
        self._places = (*self._places, place)
        if self._spare_count:
            self._spare_count -= 1
            self._spare_places.put(place)
        else:
            threading.Thread(target=self._work, args=(place,), name=self._name, daemon=True).start()

    def _work(self, place: Place) -> None:
        while True:
            self._work_in(place)
            with self._lock:
                # Claims come again and again, long requests seldom.
                if not place.is_lent or self._spare_count >= SPARE_MAX:
                    return
                self._spare_count += 1
            place = self._spare_places.get()

    def _work_in(self, place: Place) -> None:
        """Do one job after the other, until another thread takes the place."""
        while place.is_kept:
            self._signals.get()
            job = self._next()
            if job is None:
                continue
            place.begin(job.sender, may_take_long=job.may_take_long)
            try:
                job.context.run(_do, job.work, place)
                job.then()
            except BaseException:
                LOG.exception("a job of the server failed")
            with self._lock:
                self._end(place)
            if place.has_turn:
                self.turns.give_back()
            # Not to keep what belongs to a request until the next one comes.
            job = None

    def _next(self) -> "Job | None":
        with self._lock:
            if self._occupied >= self._threads:
                self._turned_away += 1
                return None
            job = self._quick.pop()
            if job is None and self._slow_running < self._slow_running_max:
                job = self._slow.pop(without=self._senders_to_wait())
                self._slow_running += job is not None
            self._occupied += job is not None
            return job

    def _senders_to_wait(self) -> Container[Sender]:
        senders = self._late_senders
        return [each for each in senders if senders[each] >= LATE_OF_SENDER_MAX]

    def _end(self, place: Place) -> None:
        """The request in this place has ended. With the lock."""
        place.is_working = False
        if place.is_long:
            self._long -= 1
        elif place.is_late:
            self._forget_late(place)
        elif place.is_lent:
            self._lent -= 1
        else:
            self._leave(place)

    def go_long(self, place: Place) -> None:
        """Leave the place to another thread, and take turns with other long requests."""
        with self._lock:
            if self._long >= self.long_max:
                raise TooManyLongRequests()
            self._long += 1
            if place.is_late:
                self._forget_late(place)
            elif place.is_lent:
                place.is_lent = False
                self._lent -= 1
            else:
                self._replace(place)
            place.is_long = True

    def lend(self, place: Place) -> None:
        """Leave the place to another thread if no other is free."""
        with self._lock:
            has_place = place.is_kept and not place.is_late
            if not has_place or self._lent >= LENT_MAX:
                return
            if self._occupied >= self._threads:
                self._lent += 1
                place.is_lent = True
                self._replace(place)

    def _replace(self, place: Place) -> None:
        """Let another thread take the place; that of this request ends with the request."""
        place.is_kept = False
        self._leave(place)
        if place.is_guest:
            self._guests.discard(place)
        else:
            self._places = tuple(each for each in self._places if each is not place)
            self._start_thread()

    def _leave(self, place: Place) -> None:
        self._occupied -= 1
        if self._turned_away:
            self._turned_away -= 1
            self._signals.put(None)
        if place.may_take_long:
            self._slow_running -= 1
            if self._slow.jobs:
                self._signals.put(None)

    # -----------------------------------------------------------------------------------------
    # Late requests

    def _oversee(self) -> None:
        while True:
            self._added.wait()
            time.sleep(LATE_SECONDS / 2)
            self._added.clear()
            with self._lock:
                if self._quick.jobs or self._slow.jobs:
                    self._added.set()
                    self._replace_late()

    def _replace_late(self) -> None:
        now = time.monotonic()
        for place in self.places:
            if place.is_working and now - place.begun_at > LATE_SECONDS and self._late < LATE_MAX:
                place.is_late = True
                self._late += 1
                if place.may_take_long:
                    self._late_senders[place.sender] += 1
                self._replace(place)

    def _forget_late(self, place: Place) -> None:
        place.is_late = False
        self._late -= 1
        if not place.may_take_long:
            return
        self._late_senders[place.sender] -= 1
        if not self._late_senders[place.sender]:
            del self._late_senders[place.sender]
        # Several requests of the sender may have waited for this.
        for _ in range(self._slow_running_max if self._slow.jobs else 0):
            self._signals.put(None)


def _do(work: Callable[[], Result], place: Place) -> Result:
    PLACE.set(place)
    return work()
