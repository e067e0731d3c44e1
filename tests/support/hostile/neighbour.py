"""An ordinary client, which is served as if nobody else was there; or notices that it is not."""

import http.client
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from tests.support.headers import HEADERS
from tests.support.hostile.cloud import HOST
from tests.support.names import uid

PACE_SECONDS = 0.1


class Sample(NamedTuple):
    """One request of the neighbour."""

    kind: str
    due: float  # when it was to be sent, on the clock of time.monotonic
    began: float  # when it was sent: later than that if the one before took too long
    ended: float
    status: int | None  # None: no answer

    @property
    def delay(self) -> float:
        # From the time at which it was due, or one long wait would hide those behind it.
        return self.ended - self.due


class Neighbour:
    """Sends each kind of request at a fixed pace, on a connection of its own."""

    def __init__(
        self, port: int, *, pace_seconds: float = PACE_SECONDS, seconds_max: float = 30.0
    ) -> None:
        self._port = port
        self._pace_seconds = pace_seconds
        self._seconds_max = seconds_max
        self._stop = threading.Event()
        self.samples: list[Sample] = []
        self._threads = [
            threading.Thread(target=self._run, args=(kind, send), name=kind, daemon=True)
            for kind, send in KINDS.items()
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(self._seconds_max + 5)

    def wait_until_served(self, count: int, seconds_max: float = 30.0) -> None:
        """Wait until each kind of request was answered so often."""
        deadline = time.monotonic() + seconds_max
        while any(len(self.of_kind(kind)) < count for kind in KINDS):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the neighbour was not served: {self.samples[-10:]}")
            time.sleep(self._pace_seconds / 4)

    def of_kind(self, kind: str) -> list[Sample]:
        return [sample for sample in list(self.samples) if sample.kind == kind]

    def _run(self, kind: str, send: Callable[[http.client.HTTPConnection], int]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=self._seconds_max)
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            began = time.monotonic()
            try:
                status: int | None = send(connection)
            except (OSError, http.client.HTTPException):
                status = None
                connection.close()
            ended = time.monotonic()
            self.samples.append(Sample(kind, due, began, ended, status))
            due += self._pace_seconds
            # What was due while there was no answer got none either, and is not sent late.
            while status is None and due < ended:
                self.samples.append(Sample(kind, due, due, ended, None))
                due += self._pace_seconds
        connection.close()


def served_within(samples: Sequence[Sample], began: float, ended: float) -> Iterator[Sample]:
    """Requests that were sent after `began` and answered before `ended`."""
    for sample in samples:
        if sample.status is not None and began < sample.began and sample.ended < ended:
            yield sample


# ---------------------------------------------------------------------------------------------
# The kinds of requests


def _request(
    connection: http.client.HTTPConnection, method: str, path: str, body: object = None
) -> int:
    # A client of its own: clients are told apart by their tokens.
    headers = {**HEADERS, "x-auth-token": "admin:neighbour"}
    data = None
    if body is not None:
        headers["content-type"] = "application/json"
        data = json.dumps(body)
    connection.request(method, path, body=data, headers=headers)
    response = connection.getresponse()
    response.read()
    return response.status


def _probe(connection: http.client.HTTPConnection) -> int:
    return _request(connection, "GET", "/livez")


def _read(connection: http.client.HTTPConnection) -> int:
    return _request(connection, "GET", f"/resource_providers/{uid(HOST)}")


def _search(connection: http.client.HTTPConnection) -> int:
    path = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:64&limit=10"
    return _request(connection, "GET", path)


def _claim(connection: http.client.HTTPConnection) -> int:
    """Claim, and give back with the next request: the worse of the two statuses."""
    body = {
        "allocations": {uid(HOST): {"resources": {"VCPU": 1}}},
        "project_id": "project",
        "user_id": "user",
        "consumer_type": "INSTANCE",
        "consumer_generation": None,
    }
    path = f"/allocations/{uuid.uuid4()}"
    claimed = _request(connection, "PUT", path, body)
    return max(claimed, _request(connection, "DELETE", path))


KINDS: dict[str, Callable[[http.client.HTTPConnection], int]] = {
    "GET /livez": _probe,
    "GET provider": _read,
    "search with limit": _search,
    "claim and release": _claim,
}
