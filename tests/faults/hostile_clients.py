"""Clients that try to stop the service: by hard searches, bodies, streams and broken connections.

They write nothing. Whatever they send, the invariants of the run hold, honest clients are served,
and no answer is a 500, which `History.add` checks.
"""

import contextlib
import http.client
import json
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from tests.faults.clients import ClientThread
from tests.faults.cloud import OWNER, SERVICE_HEADERS
from tests.faults.history import Event, History
from tests.faults.service import Worker
from tests.support.hostile import searches
from tests.support.hostile.attacks import quoted
from tests.support.hostile.streams import STREAM_HEADERS
from tests.support.hostile.wire import Body, Outcome, connect, exchange, head, whole
from tests.support.names import uid

# Longer than any limit of the workers, so that it is they who end a request.
ANSWER_SECONDS_MAX = 20.0
# In between, others have their turn. There are two processors for all of this.
PAUSE_SECONDS = 0.5
LARGE_BYTES = 4_000_000
STREAMS = 5
# Closes a connection with a reset, like a client that crashed.
_RESET = struct.pack("ii", 1, 0)


class HostileClient(ClientThread):
    """Does harm, one step after the other."""

    verb: ClassVar[str]

    def _run(self) -> None:
        while not self._stop.wait(self.random.uniform(0, 2 * PAUSE_SECONDS)):
            worker = self.random.choice(self.workers)
            began = self.history.now()
            try:
                status, detail = self.step(worker)
            except (OSError, http.client.HTTPException) as error:
                # Workers are killed and frozen in a run with faults.
                status, detail = None, repr(error)
            without_answer = "unanswered" if detail else "left early"
            self.history.add(
                Event(
                    began,
                    self.history.now(),
                    self.name,
                    self.verb,
                    worker.number,
                    without_answer if status is None else "answered",
                    status,
                    detail,
                    honest=False,
                )
            )

    def step(self, worker: Worker) -> tuple[int | None, str]:
        """The status of the answer, and a text about it; no text if nobody waited for it."""
        raise NotImplementedError

    def send(self, worker: Worker, method: str, path: str, body: Body | None = None) -> Outcome:
        return exchange(
            worker.port,
            method,
            path,
            body,
            headers=SERVICE_HEADERS,
            seconds_max=ANSWER_SECONDS_MAX,
        )


class HardSearcher(HostileClient):
    """Asks what no search can decide."""

    verb = "hard search"

    def step(self, worker: Worker) -> tuple[int | None, str]:
        kinds: list[Callable[[Worker], Outcome]] = [self.search, self.ask, self.place]
        outcome = self.random.choice(kinds)(worker)
        return outcome.status, outcome.text

    def search(self, worker: Worker) -> Outcome:
        limit = self.random.choice(["", "&limit=1", "&limit=1000"])
        return self.send(worker, "GET", f"/allocation_candidates?{searches.puzzle()}{limit}")

    def ask(self, worker: Worker) -> Outcome:
        path = self.random.choice(["/allocation_candidates/explain", "/capacity"])
        return self.send(worker, "GET", quoted(f"{path}?{searches.puzzle()}"))

    def place(self, worker: Worker) -> Outcome:
        consumer = uid(f"{self.name} {self.random.random()}")
        body = {"query": searches.puzzle(), "consumers": {consumer: OWNER}}
        outcome = self.send(worker, "POST", "/placements", whole(json.dumps(body).encode()))
        if outcome.status is not None and outcome.status < 400:
            self.history.violate(f"{self.name}: placed what does not fit: {outcome.body!r}")
        return outcome


class SlowSender(HostileClient):
    """Begins bodies that never end."""

    verb = "slow body"

    def step(self, worker: Worker) -> tuple[int | None, str]:
        length = self.random.choice([None, 100_000])
        body = Body(iter(lambda: b" ", None), length, pause_seconds=0.5)
        method, path = self.random.choice(
            [("POST", "/allocations"), ("PUT", f"/allocations/{uid(self.name)}"), ("GET", "/")]
        )
        outcome = self.send(worker, method, path, body)
        return outcome.status, outcome.text


class OversizeSender(HostileClient):
    """Sends bodies that are larger than any that is allowed, and names that fill them."""

    verb = "large body"

    def step(self, worker: Worker) -> tuple[int | None, str]:
        data = self.random.choice([b"x" * LARGE_BYTES, b'{"name": "%s"}' % (b"x" * LARGE_BYTES)])
        outcome = self.send(worker, "POST", "/resource_providers", whole(data))
        if outcome.status is not None and outcome.status < 400:
            self.history.violate(f"{self.name}: accepted a body of {len(data)} bytes")
        return outcome.status, outcome.text


class StreamAbandoner(HostileClient):
    """Opens event streams, and goes away without a word."""

    verb = "abandoned stream"

    def step(self, worker: Worker) -> tuple[int | None, str]:
        request = head("GET", "/events", {**SERVICE_HEADERS, **STREAM_HEADERS})
        with contextlib.ExitStack() as stack:
            opened = [connect(worker.port, ANSWER_SECONDS_MAX) for _ in range(STREAMS)]
            for connection in opened:
                stack.callback(reset, connection)
            for connection in opened:
                connection.sendall(request)
            status = read_status(opened[0])
            time.sleep(self.random.uniform(0, 1))
        return status, ""


class AnswerBreaker(HostileClient):
    """Asks for a large answer, and closes the connection in the middle of it."""

    verb = "broken answer"

    def step(self, worker: Worker) -> tuple[int | None, str]:
        path = f"/allocation_candidates?{searches.combinations(5)}"  # 20 MB
        with contextlib.ExitStack() as stack:
            connection = connect(worker.port, ANSWER_SECONDS_MAX, receive_bytes=4096)
            stack.callback(reset, connection)
            connection.sendall(head("GET", path, SERVICE_HEADERS))
            # Sometimes before the answer has begun.
            status = read_status(connection) if self.random.random() < 0.8 else None
        return status, ""


def read_status(connection: socket.socket) -> int:
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.status


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    connection.close()


HOSTILE_KINDS: tuple[type[HostileClient], ...] = (
    HardSearcher,
    SlowSender,
    OversizeSender,
    StreamAbandoner,
    AnswerBreaker,
)
# There are more slow senders than threads in all workers.
COUNTS = {SlowSender: 24, HardSearcher: 2}


def hostile_clients(
    workers: Sequence[Worker], history: History, seed: int
) -> Sequence[HostileClient]:
    return [
        kind(f"{kind.verb} {number}", workers, history, seed)
        for kind in HOSTILE_KINDS
        for number in range(COUNTS.get(kind, 1))
    ]
