"""Whether this process can answer now: checked for real, and within a bounded time."""

import logging
import threading
from collections.abc import Callable
from contextvars import copy_context

from roost.errors import Unavailable
from roost.service.service import Roost

LOG = logging.getLogger(__name__)

# A probe that waits a little longer than this learns which check takes so long.
SECONDS_MAX = 4.0

OK = "ok"
NOT_ASKED = "not asked"
WRITES = "writes"

# Name of a check -> its result.
Checks = dict[str, str]


class Readiness:
    """Reaches the database, asks whether it takes writes, then lets the index catch up.

    A process has one.
    """

    def __init__(self, roost: Roost, seconds_max: float = SECONDS_MAX) -> None:
        self._roost = roost
        self._seconds_max = seconds_max
        self._lock = threading.Lock()
        self._attempt: Attempt | None = None

    def check(self) -> Checks:
        """The result of each check; one that takes too long counts as failed."""
        checks = self._current_attempt().wait(self._seconds_max)
        if not is_ready(checks):
            LOG.warning(
                "not ready: %s", ", ".join(f"{name}: {found}" for name, found in checks.items())
            )
        return checks

    def _current_attempt(self) -> "Attempt":
        # While the database does not answer, further probes share the thread of the first one.
        with self._lock:
            if self._attempt is None or self._attempt.is_over:
                self._attempt = Attempt(
                    {
                        "database": self._reach_database,
                        WRITES: self._roost.store.check_writes,
                        "index": self._roost.catch_up,
                    }
                )
            return self._attempt

    def _reach_database(self) -> None:
        self._roost.open()
        self._roost.store.reach()


def is_ready(checks: Checks) -> bool:
    return all(found == OK for found in checks.values())


class Attempt:
    """Checks that run one after the other, in a thread that the caller may abandon."""

    def __init__(self, steps: dict[str, Callable[[], None]]) -> None:
        self._steps = steps
        self._found = dict.fromkeys(steps, NOT_ASKED)
        self._over = threading.Event()
        # The thread logs under the id of the request that started it.
        run = copy_context().run
        threading.Thread(target=run, args=[self._run], name="readiness", daemon=True).start()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def wait(self, seconds: float) -> Checks:
        self._over.wait(seconds)
        return dict(self._found)

    def _run(self) -> None:
        try:
            for name, step in self._steps.items():
                self._found[name] = "no answer yet"
                if not self._passes(name, step):
                    return
        finally:
            self._over.set()

    def _passes(self, name: str, step: Callable[[], None]) -> bool:
        try:
            step()
        except Unavailable as error:
            # The reason names hosts, and probes need no token: it goes to the log alone.
            LOG.warning("%s: %s", name, error)
            self._found[name] = "refused" if name == WRITES else "unavailable"
            return False
        except Exception:
            LOG.exception("%s cannot be checked", name)
            self._found[name] = "failed"
            return False
        self._found[name] = OK
        return True
