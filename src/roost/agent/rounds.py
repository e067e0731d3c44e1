"""Updates of all nodes of a driver, once or periodically.

Each node is by itself: one that fails, or that takes long, neither stops nor holds up another.
"""

import heapq
import itertools
import logging
import queue
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from roost.agent.driver import DriverError
from roost.agent.guarded_driver import message
from roost.agent.report.tree_update import UpdateFailed
from roost.agent.stopping import Stopped
from roost.agent.tracker import Plan, ReshapeForbidden, Tracker
from roost.client import ClientError

LOG = logging.getLogger(__name__)

INTERVAL_SECONDS = 60.0
# Each pause is up to this share longer or shorter, so that a thousand hosts that were started
# together do not send their updates together.
JITTER = 0.1
BACK_OFF_SECONDS_MAX = 600.0
# Nodes that are updated at the same time. Calls of the driver take turns; requests overlap.
WORKERS = 8

MakeTracker = Callable[[str], Tracker]
# What to do with a node. Returns what was sent, or would be; None if there is nothing to send.
Act = Callable[[Tracker], Plan | None]


class Update(NamedTuple):
    """How one update of a node ended."""

    nodename: str
    plan: Plan | None  # what was sent; None if there was nothing to send, or after a failure
    error: Exception | None = None
    seconds: float = 0.0


def update_at_start(tracker: Tracker) -> Plan | None:
    """An update that may reshape."""
    return tracker.update(startup=True)


def update_later(tracker: Tracker) -> Plan | None:
    """An update that may not."""
    return tracker.update(startup=False)


class TrackedNode:
    """One node of a driver, and how its updates have ended. One thread at a time uses it."""

    def __init__(self, name: str, make_tracker: MakeTracker) -> None:
        self.name = name
        self.failures = 0  # since the last success
        self.is_started = False
        self._make_tracker = make_tracker
        self._tracker: Tracker | None = None

    def attempt(self, act: Act) -> Update:
        """Act on the node. Whatever that raises, but for `Stopped`, is a failure of this node."""
        began = time.monotonic()
        plan, failure = None, None
        try:
            if self._tracker is None:
                # The driver is asked for the UUID of the root, and may fail for this one alone.
                self._tracker = self._make_tracker(self.name)
            plan = act(self._tracker)
        except Stopped:
            raise
        except Exception as error:
            LOG.debug("%s could not be updated", self.name, exc_info=True)
            failure = error
        self.failures = 0 if failure is None else self.failures + 1
        self.is_started = self.is_started or failure is None
        return Update(self.name, plan, failure, time.monotonic() - began)


def run_once(
    nodenames: Iterable[str], make_tracker: MakeTracker, act: Act, *, in_order: bool = False
) -> Generator[Update]:
    """Act on every node once. Yields each result as soon as it is there, or in the order of nodes.

    Nodes that `Stopped` interrupts have no result.
    """
    nodes = [TrackedNode(name, make_tracker) for name in nodenames]
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="update")
    # A result that was taken is kept nowhere: it may have all consumers of a node.
    results = deque(pool.submit(node.attempt, act) for node in nodes)
    try:
        for result in _taken(results) if in_order else as_completed(_taken(results)):
            with suppress(Stopped):
                yield result.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _taken(results: deque[Future[Update]]) -> Iterator[Future[Update]]:
    while results:
        yield results.popleft()


# ---------------------------------------------------------------------------------------------
# Periodically


class Rounds:
    """Updates every node at start and then once per interval, until it is asked to stop.

    A node that cannot be updated is tried again after a longer pause, and if that was its start,
    as a start, which may reshape. In each round the driver is asked which nodes it describes.
    """

    def __init__(
        self,
        nodenames: Iterable[str],
        make_tracker: MakeTracker,
        *,
        find_nodenames: Callable[[], list[str]] | None = None,  # None: they are always the same
        interval: float = INTERVAL_SECONDS,
        report: Callable[[Update], None] = lambda _: None,  # is told of each update
        stop: threading.Event,
    ) -> None:
        self._make_tracker = make_tracker
        self._find_nodenames = find_nodenames
        self._interval = interval
        self._report = report
        self._stop = stop
        self._nodes: dict[str, TrackedNode] = {}
        # Which node is due when, the earliest first; None stands for the list of nodes. The number
        # decides between two of the same time.
        self._due: list[tuple[float, int, TrackedNode | None]] = []
        self._numbers = itertools.count()
        # What to do after a piece of work has ended. Only the thread of `run` does that.
        self._ended: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._add(nodenames)
        if find_nodenames is not None:
            self._schedule(None, _pause(interval, 0))

    def stop(self) -> None:
        """Stop soon. May be called by another thread, or by the handler of a signal."""
        self._stop.set()
        self._ended.put(lambda: None)

    def run(self) -> None:
        """Update until `stop` is called. What is under way then ends with its current request."""
        with ThreadPoolExecutor(WORKERS, thread_name_prefix="update") as pool:
            while not self._stop.is_set():
                now = time.monotonic()
                while self._due and self._due[0][0] <= now:
                    _, _, node = heapq.heappop(self._due)
                    if node is None or self._nodes.get(node.name) is node:
                        pool.submit(self._work, node)
                pause = max(0.0, self._due[0][0] - now) if self._due else None
                with suppress(queue.Empty):
                    self._ended.get(timeout=pause)()
            pool.shutdown(cancel_futures=True)

    def _work(self, node: TrackedNode | None) -> None:
        """In a thread of its own."""
        with suppress(Stopped):
            if node is None:
                self._ended.put(partial(self._after_listing, *self._list_nodes()))
                return
            update = node.attempt(update_later if node.is_started else update_at_start)
            self._ended.put(partial(self._after_update, node, update))

    def _after_update(self, node: TrackedNode, update: Update) -> None:
        if isinstance(update.error, ReshapeForbidden):
            LOG.error("%s", update.error)
        elif update.error is not None:
            LOG.warning("%s could not be updated: %s", node.name, describe(update.error))
        self._report(update)
        self._schedule(node, _pause(self._interval, node.failures))

    # -- the list of nodes ---------------------------------------------------------------------

    def _list_nodes(self) -> tuple[list[str], Exception | None]:
        assert self._find_nodenames is not None, "it is scheduled only then"
        try:
            return self._find_nodenames(), None
        except Stopped:
            raise
        except Exception as error:
            LOG.debug("the nodes cannot be listed", exc_info=True)
            return [], error

    def _after_listing(self, found: list[str], error: Exception | None) -> None:
        if error is not None:
            # Those that are known are still updated.
            LOG.warning("the nodes cannot be listed: %s", describe(error))
        else:
            for name in self._nodes.keys() - found:
                LOG.info("%s is no longer among the nodes of the driver", name)
                del self._nodes[name]
            self._add([name for name in found if name not in self._nodes])
        self._schedule(None, _pause(self._interval, 0))

    def _add(self, names: Iterable[str]) -> None:
        for name in names:
            self._nodes[name] = TrackedNode(name, self._make_tracker)
            self._schedule(self._nodes[name], 0)

    def _schedule(self, node: TrackedNode | None, pause: float) -> None:
        heapq.heappush(self._due, (time.monotonic() + pause, next(self._numbers), node))


def describe(error: Exception) -> str:
    """An error in a line, with its type unless its message is made for people."""
    is_for_people = isinstance(error, DriverError | UpdateFailed | ReshapeForbidden | ClientError)
    text = str(error) if is_for_people else ""
    return " ".join((text or message(error)).split())


def _pause(interval: float, failures: int) -> float:
    longest = max(interval, BACK_OFF_SECONDS_MAX)
    pause: float = min(longest, interval * 2 ** min(failures, 10))
    return pause * random.uniform(1 - JITTER, 1 + JITTER)
