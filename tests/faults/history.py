"""What happened, as the clients saw it."""

import json
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple


class Event(NamedTuple):
    """One request and its outcome."""

    began: float
    ended: float
    client: str
    verb: str
    worker: int
    outcome: str  # ok, refused, unanswered, unknown
    status: int | None
    detail: str
    honest: bool = True


class History:
    """The events of all clients, honest and hostile, and all violations."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self.events: list[Event] = []
        self.faults: list[tuple[float, str]] = []
        self.violations: list[str] = []
        self.batches: Counter[str] = Counter()  # what became of claims that shared a transaction
        self._seen: set[str] = set()

    def now(self) -> float:
        return time.monotonic() - self._started

    def add(self, event: Event) -> None:
        with self._lock:
            self.events.append(event)
        if event.status is not None and event.status >= 500 and event.status != 503:
            self.violate(f"{event.verb} at {event.began:.2f}: {event.status} {event.detail[:300]}")

    def fault(self, what: str) -> None:
        self.faults.append((self.now(), what))

    def violate(self, what: str) -> None:
        """Record a violation, once."""
        with self._lock:
            if what not in self._seen:
                self._seen.add(what)
                self.violations.append(f"{self.now():.2f}: {what}")

    def save(self, path: Path) -> None:
        """Write everything in order of time, one JSON object per line."""
        lines = [
            *((event.began, {"kind": "request", **event._asdict()}) for event in self.events),
            *((at, {"kind": "fault", "began": at, "what": what}) for at, what in self.faults),
        ]
        with path.open("w") as file:
            for _, line in sorted(lines, key=lambda pair: pair[0]):
                file.write(json.dumps(line) + "\n")
            for what in self.violations:
                file.write(json.dumps({"kind": "violation", "what": what}) + "\n")

    def summary(self) -> dict[str, Any]:
        honest = [event for event in self.events if event.honest]
        hostile = [event for event in self.events if not event.honest]
        outcomes = Counter(event.outcome for event in honest)
        return {
            "operations": len(honest),
            **dict(outcomes),
            "by verb": dict(Counter(f"{e.verb} {e.outcome}" for e in honest)),
            "served": dict(Counter(e.client for e in honest if e.outcome == "ok")),
            "hostile": dict(Counter(f"{e.verb} {e.status or e.outcome}" for e in hostile)),
            "faults": len(self.faults),
            "by fault": dict(Counter(what.split(" ")[0] for _, what in self.faults)),
            "batches": dict(self.batches),
            "violations": len(self.violations),
        }
