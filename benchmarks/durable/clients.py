"""Many clients for little processor time, because they share the processors with the service.

A process runs several clients: each has a socket and waits for one answer, and one loop serves
those whose answer has come. What a client sends is made of ready bytes.
"""

import multiprocessing
import select
import socket
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection as Pipe
from typing import NamedTuple, Protocol

from benchmarks.client import RECEIVE_SIZE
from benchmarks.processes import cpu_seconds

PROCESSES = 2
# Before the numbers count: every client has been answered, every worker has its connections.
WARM_UP_SECONDS = 0.5
READY_SECONDS_MAX = 60
# All clients begin at the same moment, a little after the last one is ready.
START_DELAY_SECONDS = 0.2
ANSWER_SECONDS_MAX = 120
EXAMPLE_SIZE = 500


class Work(Protocol):
    """What the clients send. It is sent to other processes, so it has to be picklable."""

    def messages(self, client: int) -> Iterator[bytes]:
        """The requests of one client, in the form that goes over the wire."""


class Outcome(NamedTuple):
    """One answer."""

    ended: float  # on the monotonic clock, which all processes share
    seconds: float
    status: int


class Report(NamedTuple):
    """What the clients of one process saw."""

    outcomes: list[Outcome]
    # An answer that was not successful, as a hint at the reason.
    example: str
    cpu_seconds: float


class Rate(NamedTuple):
    """What all clients saw, and what it cost."""

    done: int
    refused: int
    failed: int
    seconds: float
    # Of each successful request.
    latencies_ms: list[float]
    cpu_service: float  # seconds, like the next two
    cpu_database: float
    cpu_clients: float
    example: str

    @property
    def per_second(self) -> float:
        return self.done / self.seconds


def measure_rate(
    port: int,
    work: Work,
    *,
    clients: int,
    seconds: float,
    service_id: int,
    database_id: int | None,
    warm_up: float = WARM_UP_SECONDS,
) -> Rate:
    """Let the clients work, and count what they finish within that time."""
    context = multiprocessing.get_context("spawn")
    numbers = [range(first, clients, PROCESSES) for first in range(min(PROCESSES, clients))]
    pipes, processes = [], []
    for mine in numbers:
        here, there = context.Pipe()
        process = context.Process(target=run_clients, args=(port, work, mine, there), daemon=True)
        process.start()
        pipes.append(here)
        processes.append(process)
    for pipe in pipes:
        receive(pipe, READY_SECONDS_MAX)
    begin = time.monotonic() + START_DELAY_SECONDS
    first, last = begin + warm_up, begin + warm_up + seconds
    for pipe in pipes:
        pipe.send((begin, last))
    groups = ([service_id], [database_id] if database_id else [])
    sleep_until(first)
    before = [cpu_seconds(ids) for ids in groups]
    sleep_until(last)
    service, database = (
        cpu_seconds(ids) - spent for ids, spent in zip(groups, before, strict=True)
    )
    reports: list[Report] = [receive(pipe, ANSWER_SECONDS_MAX) for pipe in pipes]
    for process in processes:
        process.join()
    counted = [
        outcome
        for report in reports
        for outcome in report.outcomes
        if first <= outcome.ended < last
    ]
    done = [outcome for outcome in counted if outcome.status in (200, 204)]
    refused = sum(outcome.status == 409 for outcome in counted)
    # The clients' own time is that of the whole run.
    share = seconds / (warm_up + seconds)
    return Rate(
        done=len(done),
        refused=refused,
        failed=len(counted) - len(done) - refused,
        seconds=seconds,
        latencies_ms=[outcome.seconds * 1000 for outcome in done],
        cpu_service=service,
        cpu_database=database,
        cpu_clients=sum(report.cpu_seconds for report in reports) * share,
        example=next((report.example for report in reports if report.example), ""),
    )


def run_clients(port: int, work: Work, numbers: Sequence[int], pipe: Pipe) -> None:
    """Runs in a process of its own."""
    clients = [Client(port, work.messages(number)) for number in numbers]
    pipe.send("ready")
    begin, deadline = pipe.recv()
    sleep_until(begin)
    pipe.send(exchange(clients, deadline))


def exchange(clients: Sequence["Client"], deadline: float) -> Report:
    """Send one request after the other for each client, until the deadline or their last one."""
    began_cpu = time.process_time()
    outcomes: list[Outcome] = []
    example = ""
    with select.epoll() as poll:
        waiting = {client.descriptor: client for client in clients if client.send_next()}
        for descriptor in waiting:
            poll.register(descriptor, select.EPOLLIN)
        while waiting:
            events = poll.poll(ANSWER_SECONDS_MAX)
            if not events:
                raise TimeoutError(f"{len(waiting)} clients got no answer")
            for descriptor, _ in events:
                client = waiting[descriptor]
                outcome = client.receive()
                if outcome is None:
                    continue
                outcomes.append(outcome)
                if outcome.status not in (200, 204):
                    example = client.body[:EXAMPLE_SIZE].decode(errors="replace")
                if outcome.ended >= deadline or not client.send_next():
                    poll.unregister(descriptor)
                    waiting.pop(descriptor).close()
    return Report(outcomes, example, time.process_time() - began_cpu)


class Client:
    """A connection on which requests follow each other."""

    def __init__(self, port: int, messages: Iterator[bytes]) -> None:
        self._messages = messages
        self._socket = socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS_MAX)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()
        self._began = 0.0
        # Where the answer that is being received ends; 0 until its head is there.
        self._end = 0
        self._body_begin = 0
        self.descriptor = self._socket.fileno()
        # Of the last answer.
        self.body = b""

    def close(self) -> None:
        self._socket.close()

    def send_next(self) -> bool:
        """Send the next request; False if there is none."""
        message = next(self._messages, None)
        if message is None:
            return False
        self._began = time.monotonic()
        self._socket.sendall(message)
        return True

    def receive(self) -> Outcome | None:
        """Receive what has come; the outcome once the answer is complete."""
        part = self._socket.recv(RECEIVE_SIZE)
        if not part:
            raise ConnectionResetError("the service closed the connection")
        received = self._received
        received += part
        if not self._end:
            self._body_begin = received.find(b"\r\n\r\n") + 4
            if self._body_begin < 4:
                return None
            self._end = self._body_begin + content_length(received[: self._body_begin])
        if len(received) < self._end:
            return None
        ended = time.monotonic()
        status = int(received[9:12])
        self.body = bytes(received[self._body_begin : self._end])
        received.clear()
        self._end = 0
        return Outcome(ended, ended - self._began, status)


def content_length(head: bytes | bytearray) -> int:
    """The size of the body that follows; an answer without a body may say nothing about it."""
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    if found:
        return int(rest.partition(b"\r\n")[0])
    if b"\r\ntransfer-encoding:" in head.lower():
        raise RuntimeError("an answer in chunks, which these clients do not read")
    return 0


def receive(pipe: Pipe, seconds_max: float) -> object:
    if not pipe.poll(seconds_max):
        raise TimeoutError("a process of clients does not answer")
    return pipe.recv()


def sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))
