"""Reports a host to the service, once at start and then periodically."""

import copy
import heapq
import logging
import random
import threading
import time
from typing import NamedTuple

from roost.agent.driver import Allocations, Driver, ReshapeNeeded
from roost.agent.provider_tree import ProviderTree
from roost.agent.report_client import ReportClient
from roost.agent.tree_update import ReshapeConflict
from roost.client import Client

LOG = logging.getLogger(__name__)

INTERVAL_SECONDS = 60.0
# Each pause is up to this share longer or shorter, so that a thousand hosts that were started
# together do not send their updates together.
JITTER = 0.1
BACK_OFF_SECONDS_MAX = 600.0

# How often a reshape that loses a race against claims is planned again.
RESHAPE_ATTEMPTS = 10


class ReshapeForbidden(Exception):
    """A reshape is needed, but the agent reshapes only at start."""


class Plan(NamedTuple):
    """What an update would change."""

    before: ProviderTree  # as the service has it; empty if it does not know the host
    after: ProviderTree
    held_before: Allocations | None  # None if no reshape is needed
    held_after: Allocations | None


class Tracker:
    """Carries what a driver says of one host to the service."""

    def __init__(
        self, client: Client, driver: Driver, nodename: str, *, uuid: str | None = None
    ) -> None:
        self._report = ReportClient(client)
        self._driver = driver
        self.nodename = nodename
        self._uuid = uuid

    def plan(self) -> Plan:
        """What an update at start would change. Writes nothing."""
        found = self._report.get_provider_tree(self.nodename, self._uuid)
        # Drivers expect a root, also one that the service does not know yet.
        before, after = self._report.last_read_tree(), found.copy()
        try:
            self._driver.update_provider_tree(after, self.nodename)
            return Plan(before, after, None, None)
        except ReshapeNeeded:
            after = found.copy()
            held = self._report.get_allocations_for_provider_tree()
            moved = copy.deepcopy(held)
            self._driver.update_provider_tree(after, self.nodename, allocations=moved)
            return Plan(before, after, held, moved)

    def update(self, *, startup: bool) -> bool:
        """Write to the service what the driver describes. Returns whether anything was sent.

        Only an update at start moves inventories that consumers may hold.
        """
        for _ in range(RESHAPE_ATTEMPTS - 1):
            try:
                return self._update(startup=startup)
            except ReshapeConflict as error:
                LOG.info("reshaping %s again after a lost race: %s", self.nodename, error)
        return self._update(startup=startup)

    def _update(self, *, startup: bool) -> bool:
        tree = self._read()
        try:
            self._driver.update_provider_tree(tree, self.nodename)
            allocations = None
        except ReshapeNeeded as needed:
            if not startup:
                raise ReshapeForbidden(
                    f"the resources of {self.nodename} have another shape than the service knows "
                    f"({needed}), and consumers hold some of them. They are moved at start only: "
                    "restart the agent, or run `roost agent reshape`"
                ) from needed
            LOG.info("reshaping %s: %s", self.nodename, needed)
            tree = self._read()
            allocations = self._report.get_allocations_for_provider_tree()
            self._driver.update_provider_tree(tree, self.nodename, allocations=allocations)
        return self._report.update_from_provider_tree(tree, allocations)

    def _read(self) -> ProviderTree:
        return self._report.get_provider_tree_and_ensure_root(self.nodename, self._uuid)


def run_periodically(
    trackers: list[Tracker], stop: threading.Event, *, interval: float = INTERVAL_SECONDS
) -> None:
    """Update every node once per interval until `stop` is set.

    A node that cannot be updated is logged and tried again after a longer pause. Each node has
    its own pauses, so that one that fails does not hold up the others.
    """
    failures = [0] * len(trackers)
    # When each node is due, the earliest first.
    queue = [(time.monotonic() + _pause(interval, 0), node) for node in range(len(trackers))]
    heapq.heapify(queue)
    while queue:
        due, node = queue[0]
        if stop.wait(max(0.0, due - time.monotonic())):
            return
        failures[node] = 0 if _try_update(trackers[node]) else failures[node] + 1
        heapq.heapreplace(queue, (time.monotonic() + _pause(interval, failures[node]), node))


def _try_update(tracker: Tracker) -> bool:
    """Whether a node could be updated; if not, the reason is logged."""
    try:
        tracker.update(startup=False)
    except ReshapeForbidden as error:
        LOG.error("%s", error)
        return False
    except Exception as error:
        # A driver may raise anything, and the next attempt may find the cause gone.
        LOG.warning("%s could not be updated: %s", tracker.nodename, error, exc_info=True)
        return False
    return True


def _pause(interval: float, failures: int) -> float:
    longest = max(interval, BACK_OFF_SECONDS_MAX)
    pause: float = min(longest, interval * 2 ** min(failures, 10))
    return pause * random.uniform(1 - JITTER, 1 + JITTER)
