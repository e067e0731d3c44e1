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
from typing import Any, NamedTuple, Protocol

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

    def messages(self, number: int, client: "Client") -> Iterator[bytes]:
        """The requests of the client of that number, in the form that goes over the wire.

        When the next one is made, the client has the answer to the one before.
        """


class Outcome(NamedTuple):
    """One answer, or the lack of one."""

    ended: float  # on the monotonic clock, which all processes share
    seconds: float
    status: int  # 0 if the connection broke, or the time was up


class Report(NamedTuple):
    """What the clients of one process saw."""

    outcomes: list[Outcome]
    # An answer that was not successful, as a hint at the reason.
    example: str
    cpu_seconds: float


class Rate(NamedTuple):
    """What all clients saw, and what it cost."""

    outcomes: list[Outcome]
    seconds: float
    cpu_service: float  # seconds, like the next two
    cpu_database: float
    cpu_clients: float
    example: str

    def count(self, *statuses: int) -> int:
        return sum(outcome.status in statuses for outcome in self.outcomes)


def measure_rate(
    port: int,
    work: Work,
    *,
    clients: int,
    seconds: float,
    service_id: int,
    database_id: int | None,
    to_the_end: bool = False,
) -> Rate:
    """Let the clients work for that long, after a while that does not count.

    `to_the_end`: count from the first request to the last answer instead, however late. That is
    fairer to a service of which a request takes a good part of the time.
    """
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for first in range(min(PROCESSES, clients)):
        here, there = context.Pipe()
        numbers = range(first, clients, PROCESSES)
        process = context.Process(
            target=run_clients, args=(port, work, numbers, there), daemon=True
        )
        process.start()
        # So that the end of the process is the end of the pipe.
        there.close()
        pipes.append(here)
        processes.append(process)
    for pipe in pipes:
        receive(pipe, READY_SECONDS_MAX)
    begin = time.monotonic() + START_DELAY_SECONDS
    since = begin if to_the_end else begin + WARM_UP_SECONDS
    until = since + seconds
    for pipe in pipes:
        pipe.send((begin, until))
    groups = ([service_id], [database_id] if database_id else [])
    sleep_until(since)
    before = [cpu_seconds(ids) for ids in groups]
    reports: list[Report] = []
    if to_the_end:
        reports = [receive(pipe, seconds + 2 * ANSWER_SECONDS_MAX) for pipe in pipes]
        until = max(outcome.ended for report in reports for outcome in report.outcomes)
    else:
        sleep_until(until)
    service, database = (
        cpu_seconds(ids) - spent for ids, spent in zip(groups, before, strict=True)
    )
    reports = reports or [receive(pipe, 2 * ANSWER_SECONDS_MAX) for pipe in pipes]
    for process in processes:
        process.join()
    return Rate(
        outcomes=[
            outcome
            for report in reports
            for outcome in report.outcomes
            if since <= outcome.ended <= until
        ],
        seconds=until - since,
        cpu_service=service,
        cpu_database=database,
        # That of the whole run, of which this part counts.
        cpu_clients=sum(report.cpu_seconds for report in reports)
        * (until - since)
        / (until - begin),
        example=next((report.example for report in reports if report.example), ""),
    )


def run_clients(port: int, work: Work, numbers: Sequence[int], pipe: Pipe) -> None:
    """Runs in a process of its own."""
    clients = [Client(port, work, number) for number in numbers]
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
                # None of them has an answer, although one has waited for that long.
                outcomes += [client.give_up() for client in waiting.values()]
                break
            for descriptor, _ in events:
                outcome = waiting[descriptor].receive()
                if outcome is None:
                    continue
                # A new connection may have the same descriptor, so this one is forgotten first.
                poll.unregister(descriptor)
                client = waiting.pop(descriptor)
                outcomes.append(outcome)
                if outcome.status not in (200, 204):
                    example = client.body[:EXAMPLE_SIZE].decode(errors="replace")
                if outcome.ended < deadline and client.send_next():
                    waiting[client.descriptor] = client
                    poll.register(client.descriptor, select.EPOLLIN)
    for client in clients:
        client.close()
    return Report(outcomes, example, time.process_time() - began_cpu)


class Client:
    """A connection on which requests follow each other."""

    def __init__(self, port: int, work: Work, number: int) -> None:
        self._port = port
        self._messages = work.messages(number, self)
        self._received = bytearray()
        self._began = 0.0
        # Where the answer that is being received ends; 0 until its head is there.
        self._end = 0
        self._body_begin = 0
        self._connect()
        # Of the last answer.
        self.status = 0
        self.body = b""

    @property
    def descriptor(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send_next(self) -> bool:
        """Send the next request; False if there is none."""
        message = next(self._messages, None)
        if message is None:
            return False
        if self.descriptor < 0:
            self._connect()
        self._began = time.monotonic()
        self._socket.sendall(message)
        return True

    def receive(self) -> Outcome | None:
        """Receive what has come; the outcome once the answer is complete."""
        received = self._received
        try:
            part = self._socket.recv(RECEIVE_SIZE)
        except OSError:
            part = b""
        if not part:
            return self.give_up()
        received += part
        if not self._end:
            self._body_begin = received.find(b"\r\n\r\n") + 4
            if self._body_begin < 4:
                return None
            self._end = self._body_begin + content_length(received[: self._body_begin])
        if len(received) < self._end:
            return None
        self.body = bytes(received[self._body_begin : self._end])
        return self._finish(int(received[9:12]))

    def give_up(self) -> Outcome:
        """There is no answer. The next request uses a new connection."""
        self.close()
        self.body = b"no answer"
        return self._finish(0)

    def _finish(self, status: int) -> Outcome:
        self.status = status
        if b"\r\nconnection: close\r\n" in self._received[: self._body_begin].lower():
            self.close()
        self._received.clear()
        self._end = self._body_begin = 0
        ended = time.monotonic()
        return Outcome(ended, ended - self._began, status)

    def _connect(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self._port), ANSWER_SECONDS_MAX)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def content_length(head: bytes | bytearray) -> int:
    """The size of the body that follows; an answer without a body may say nothing about it."""
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    if found:
        return int(rest.partition(b"\r\n")[0])
    if b"\r\ntransfer-encoding:" in head.lower():
        raise RuntimeError("an answer in chunks, which these clients do not read")
    return 0


def receive(pipe: Pipe, seconds_max: float) -> Any:
    if not pipe.poll(seconds_max):
        raise TimeoutError("a process of clients does not answer")
    return pipe.recv()


def sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))
