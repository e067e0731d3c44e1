"""The summary of the cloud for Prometheus, where the configuration asks for it."""

import logging
import threading

from roost.observe import summary_metrics
from roost.search.bulk.summary import summarize
from roost.service.readiness import Attempt, is_ready
from roost.service.service import Roost
from roost.store.feed.positions import FeedPosition

LOG = logging.getLogger(__name__)

# A scrape has other metrics too, so it does not wait for longer than this.
SECONDS_MAX = 2.0


class SummaryGauges:
    """The gauges as text. A process has one."""

    def __init__(self, roost: Roost, seconds_max: float = SECONDS_MAX) -> None:
        self._roost = roost
        self._seconds_max = seconds_max
        self._kinds = roost.settings.summary_metrics
        self._lock = threading.Lock()
        self._attempt: Attempt | None = None
        # Where the change feed was when the text was made: until it moves, the text is right.
        self._position: FeedPosition | None = None
        self._text = b""
        self._left_out = 0

    def text(self) -> bytes:
        """The gauges now; nothing if none are configured, or while the database fails."""
        if not self._kinds:
            return b""
        # While the database does not answer, further scrapes share the thread of the first one.
        with self._lock:
            if self._attempt is None or self._attempt.is_over:
                self._attempt = Attempt({"summary": self._update})
            attempt = self._attempt
        return self._text if is_ready(attempt.wait(self._seconds_max)) else b""

    def _update(self) -> None:
        self._roost.open()
        index = self._roost.current_index()
        if index.position == self._position:
            return
        found = summary_metrics.expose(
            summarize(index, by=self._kinds),
            self._kinds,
            self._roost.settings.summary_metrics_max,
        )
        self._text, self._position = found.text, index.position
        if found.left_out != self._left_out:
            self._left_out = found.left_out
            LOG.warning(
                "%d series of the summary are left out of /metrics, see "
                "[roost]summary_metrics_max and summary_metrics",
                found.left_out,
            )
