"""Repeats an update that lost a race, and sees to it that a reshape does not lose for ever."""

import logging
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, TypeVar

from roost.agent.report.report_client import ReportClient
from roost.agent.report.tree_update import ReshapeConflict, UpdateConflict

LOG = logging.getLogger(__name__)

Result = TypeVar("Result")

# How often an update is tried in all. Every claim on one of its providers defeats a reshape, and
# another agent of the same host any update.
ATTEMPTS_MAX = 10
# Two agents that are in each other's way each wait for some time up to this.
CONFLICT_SECONDS_MAX = 0.5
# After so many reshapes that were lost, claims on the tree are asked to wait while it is tried.
ATTEMPTS_BEFORE_PAUSE = 3
# For at most so many times as long as the attempt before took.
PAUSE_FACTOR = 3.0
PAUSE_SECONDS_MIN = 1.0
# The service grants less than that.
PAUSE_SECONDS_MAX = 60.0


class Attempts(NamedTuple):
    """How an update succeeded."""

    number: int
    paused: bool  # whether claims waited for the last one
    seconds: float  # in all

    def __str__(self) -> str:
        count = f"{self.number} attempt{'s' if self.number > 1 else ''}"
        waited = ", claims waited for the last one" if self.paused else ""
        return f"{count}{waited}, {self.seconds:.2f} s"


def run_attempts(
    report: ReportClient, name: str, update: Callable[[], Result]
) -> tuple[Result, Attempts]:
    """Run an update until it loses no race, and tell how many attempts that took."""
    began = time.monotonic()
    seconds = 0.0  # that the last attempt took
    reshapes_lost = 0
    try:
        for number in range(1, ATTEMPTS_MAX + 1):
            started = time.monotonic()
            with _pause(report, reshapes_lost, seconds) as paused:
                try:
                    result = update()
                    return result, Attempts(number, paused, time.monotonic() - began)
                except ReshapeConflict as error:
                    if number == ATTEMPTS_MAX:
                        raise
                    reshapes_lost += 1
                    rest = 0.0
                    LOG.info("reshaping %s again after a lost race: %s", name, error)
                except UpdateConflict as error:
                    if number == ATTEMPTS_MAX:
                        raise
                    rest = random.uniform(0, CONFLICT_SECONDS_MAX)
                    LOG.info("updating %s again after a lost race: %s", name, error)
            seconds = time.monotonic() - started
            if paused:
                # The service lets a tree rest for as long as it was held.
                rest = max(rest, min(seconds, PAUSE_SECONDS_MAX))
            time.sleep(rest)
        raise AssertionError("the last attempt returns or raises")
    finally:
        # They are of use to the next attempt alone.
        report.forget_allocations()


def _pause(
    report: ReportClient, reshapes_lost: int, seconds: float
) -> AbstractContextManager[bool]:
    """Let claims wait during this attempt, if several were lost before."""
    if reshapes_lost < ATTEMPTS_BEFORE_PAUSE or report.root is None:
        return nullcontext(False)
    longest = min(max(PAUSE_SECONDS_MIN, PAUSE_FACTOR * seconds), PAUSE_SECONDS_MAX)
    return report.claim_pause.of_tree(report.root, longest)
