"""Trees that are held: claims there wait, so that a reshape wins.

A reshape that reads thousands of consumers loses against every claim that comes in between. Its
client may hold the tree for a moment. The hold is announced in the change feed, so each process
learns of it from what it reads anyway, and a claim asks memory alone.

Holds only keep others from interfering. What is written stays right by generations, so nothing is
lost if a process learns of a hold too late, or ends it by a clock that runs fast.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextvars import ContextVar

from roost.errors import HoldTooSoon
from roost.model import Value
from roost.observe import metrics

LOG = logging.getLogger(__name__)

# A process reads the change feed at least this long before it claims, so after this time all
# processes know of a hold.
NOTICE_SECONDS = 0.25

# How soon requests that wait notice that another process has ended the hold.
POLL_SECONDS = 0.05

# For how long the end of a hold is remembered whose beginning was not seen.
ENDED_SECONDS = 60.0

# How many requests of a process may wait. More of them go on at once: a reshape may then lose a
# race, but no client is refused.
WAITING_MAX = 1000
WAITING_WITH_THREAD_MAX = 2  # where each occupies a thread that could answer requests

# Until when a request may be made to wait, from the first time that it was. One hold may begin
# after the other, and no request should wait for all of them.
_PATIENT_UNTIL: ContextVar[float | None] = ContextVar("patient_until", default=None)


class Hold(Value, frozen=True, kw_only=True):
    """A tree in which claims wait. Times are of the monotonic clock of this process."""

    id: str
    root_uuid: str
    provider_ids: frozenset[int]
    provider_uuids: frozenset[str]
    begun_at: float
    ends_at: float  # unless it is ended before


class TreeHeld(Exception):
    """The request has to wait for the end of a hold. Nothing was written, and it may run again."""

    def __init__(self, hold: Hold) -> None:
        super().__init__(f"the tree {hold.root_uuid} is held")
        self.hold = hold


class Holds:
    """The holds that a process knows of, and the requests that wait for them."""

    def __init__(self, catch_up: Callable[[], None], stopping: threading.Event) -> None:
        """`catch_up` reads the change feed; `stopping` is set when the process is about to end."""
        self._catch_up = catch_up
        self._stopping = stopping
        self._lock = threading.Lock()  # guards changes of what follows
        # Replaced, never changed: claims read it without the lock.
        self._held: tuple[Hold, ...] = ()
        # Records of several writers arrive in any order, so a hold may end before it begins.
        self._ended: dict[str, float] = {}  # by id: when
        self._rests: dict[str, float] = {}  # by the UUID of a root: until when it cannot be held
        self._granted: set[str] = set()  # ids of holds that this process was asked for
        self._waiting: dict[Waiting, None] = {}  # in the order of their arrival
        self._waited: dict[str, int] = {}  # how many have waited for a hold, by its id
        self._thread: threading.Thread | None = None

    # -----------------------------------------------------------------------------------------
    # Beginning and ending

    def begin(
        self, id: str, *, seconds: float, root_uuid: str, providers: Collection[tuple[int, str]]
    ) -> None:
        """A hold was announced, for the providers of a tree with these ids and UUIDs."""
        now = time.monotonic()
        hold = Hold(
            id=id,
            root_uuid=root_uuid,
            provider_ids=frozenset(id for id, _ in providers),
            provider_uuids=frozenset(uuid for _, uuid in providers),
            begun_at=now,
            ends_at=now + seconds,
        )
        with self._lock:
            if id in self._ended or any(each.id == id for each in self._held):
                return
            self._held = (*self._held, hold)
            # After a fork, the thread of the parent process is not alive in its child.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._oversee, name="roost-holds", daemon=True
                )
                self._thread.start()

    def end(self, ids: Iterable[str]) -> None:
        """The end of these holds was announced."""
        ids = frozenset(ids)
        now = time.monotonic()
        with self._lock:
            self._ended.update(dict.fromkeys(ids, now))
            self._remove([hold for hold in self._held if hold.id in ids], now)

    def check_rest(self, root_uuid: str) -> None:
        """Raise `HoldTooSoon` if this tree is held, or was until a moment ago."""
        with self._lock:
            now = time.monotonic()
            # After a hold, a tree rests for as long as it was held.
            held = [
                2 * hold.ends_at - hold.begun_at
                for hold in self._held
                if hold.root_uuid == root_uuid
            ]
            until = max([self._rests.get(root_uuid, 0.0), *held])
            if until > now:
                raise HoldTooSoon(root_uuid, until - now)

    def grant(self, id: str) -> None:
        """This process was asked for this hold, and says in the log how it ends."""
        with self._lock:
            self._granted.add(id)

    @property
    def has_any(self) -> bool:
        return bool(self._held)

    def of(self, provider_uuids: Iterable[str]) -> list[Hold]:
        """The holds of trees that some of these providers are in."""
        held = self._held
        uuids = frozenset(provider_uuids) if held else frozenset()
        return [hold for hold in held if not hold.provider_uuids.isdisjoint(uuids)]

    def is_held(self, id: str) -> bool:
        now = time.monotonic()
        return any(hold.id == id and hold.ends_at > now for hold in self._held)

    # -----------------------------------------------------------------------------------------
    # Waiting

    def check(self, uuids: Iterable[str] = (), ids: Iterable[int] = ()) -> None:
        """Raise `TreeHeld` for a claim of these providers, by UUID or by id, that has to wait."""
        held = self._held
        if not held or self._stopping.is_set():
            return
        now = time.monotonic()
        patient_until = _PATIENT_UNTIL.get()
        if patient_until is not None and patient_until <= now:
            return
        uuids, ids = frozenset(uuids), frozenset(ids)
        for hold in held:
            concerns = not (
                hold.provider_uuids.isdisjoint(uuids) and hold.provider_ids.isdisjoint(ids)
            )
            if concerns and hold.ends_at > now:
                raise TreeHeld(hold)

    def admit(self, hold: Hold, *, takes_thread: bool) -> "Waiting":
        """Let a request wait for the end of this hold, in its own context."""
        most = WAITING_WITH_THREAD_MAX if takes_thread else WAITING_MAX
        waiting = Waiting(hold, self._leave)
        with self._lock:
            is_full = len(self._waiting) >= most
            if not is_full and hold in self._held:
                self._waiting[waiting] = None
                self._waited[hold.id] = self._waited.get(hold.id, 0) + 1
                metrics.HELD_REQUESTS.inc()
                metrics.HELD_WAITING.inc()
            else:
                waiting.end()
        if is_full:
            _PATIENT_UNTIL.set(waiting.begun_at)
        elif _PATIENT_UNTIL.get() is None:
            # Long enough for this hold and another one.
            _PATIENT_UNTIL.set(waiting.begun_at + 2 * (hold.ends_at - hold.begun_at))
        return waiting

    def _leave(self, waiting: "Waiting") -> None:
        with self._lock:
            self._forget(waiting)

    def _forget(self, waiting: "Waiting") -> None:
        if waiting in self._waiting:
            del self._waiting[waiting]
            metrics.HELD_WAITING.dec()
            metrics.HELD_SECONDS.observe(time.monotonic() - waiting.begun_at)

    # -----------------------------------------------------------------------------------------
    # The thread that ends holds whose time is over

    def _oversee(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            if self._waiting:
                try:
                    self._catch_up()
                except Exception as error:
                    LOG.warning("whether holds have ended could not be found out: %s", error)
            with self._lock:
                now = time.monotonic()
                self._remove([hold for hold in self._held if hold.ends_at <= now], now)
                if not self._held:
                    self._thread = None
                    return
        # Nobody is kept waiting by a process that stops.
        with self._lock:
            self._end_waiting(list(self._waiting))

    def _end_waiting(self, over: Iterable["Waiting"]) -> None:
        """They may go on. The lock is held."""
        for waiting in over:
            self._forget(waiting)
            waiting.end()

    def _remove(self, holds: Collection[Hold], now: float) -> None:
        """These have ended. The lock is held."""
        if not holds:
            return
        self._held = tuple(hold for hold in self._held if hold not in holds)
        for hold in holds:
            end = min(now, hold.ends_at)
            self._rests[hold.root_uuid] = 2 * end - hold.begun_at
            self._ended[hold.id] = now
            waited = self._waited.pop(hold.id, 0)
            LOG.log(
                logging.INFO if waited or hold.id in self._granted else logging.DEBUG,
                "hold %s of tree %s %s after %.2f s: %d requests have waited in this process",
                hold.id,
                hold.root_uuid,
                "ran out" if hold.ends_at <= now else "ended",
                end - hold.begun_at,
                waited,
            )
            self._granted.discard(hold.id)
        self._end_waiting([waiting for waiting in self._waiting if waiting.hold in holds])
        self._rests = {uuid: until for uuid, until in self._rests.items() if until > now}
        self._ended = {id: at for id, at in self._ended.items() if at + ENDED_SECONDS > now}


class Waiting:
    """A request that waits for the end of a hold."""

    def __init__(self, hold: Hold, leave: Callable[["Waiting"], None]) -> None:
        self.hold = hold
        self.begun_at = time.monotonic()
        self._leave = leave
        self._lock = threading.Lock()
        self._wake: Callable[[], None] | None = None
        self._is_over = False

    def start(self, wake: Callable[[], None]) -> None:
        """Call `wake`, in any thread, when the request may go on."""
        with self._lock:
            self._wake = wake
            is_over = self._is_over
        if is_over:
            wake()

    def stop(self) -> None:
        """The request goes on, or its client is gone. May be called at any time, and repeatedly."""
        self._leave(self)

    def end(self) -> None:
        """Called by `Holds`, once."""
        with self._lock:
            self._is_over = True
            wake = self._wake
        if wake is not None:
            wake()

    def wait(self) -> None:
        """Wait in this thread."""
        over = threading.Event()
        self.start(over.set)
        try:
            over.wait()
        finally:
            self.stop()
