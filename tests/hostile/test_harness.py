"""The neighbour notices when it is not served, and hostile clients see what a server does."""

import itertools
import socketserver
import threading
from collections.abc import Iterator

import pytest

from tests.support.hostile.cloud import (
    PACKING_DEVICES,
    PACKING_SIZE,
    PUZZLE_COLOURS,
    mycielski_graph,
    packing_amounts,
)
from tests.support.hostile.neighbour import KINDS, Neighbour, served_within
from tests.support.hostile.wire import Body, exchange, whole

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Server(socketserver.ThreadingTCPServer):
    """Answers every request, as soon as it may."""

    daemon_threads = True
    allow_reuse_address = True
    answer = ANSWER

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.port = int(self.server_address[1])


class Handler(socketserver.StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        while self.rfile.readline():
            length = 0
            while (line := self.rfile.readline().strip()) != b"":
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            self.rfile.read(length)
            self.server.may_answer.wait(10)
            self.wfile.write(self.server.answer)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as found:
        threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True).start()
        yield found
        found.may_answer.set()
        found.shutdown()


class TestNeighbour:
    def test_is_served(self, server: Server) -> None:
        with Neighbour(server.port, pace_seconds=0.01) as neighbour:
            neighbour.wait_until_served(3)
        within = list(served_within(neighbour.samples, 0, float("inf")))
        assert {sample.kind for sample in within} == set(KINDS)
        assert {sample.status for sample in neighbour.samples} == {200}

    def test_notices_a_server_that_does_not_answer(self, server: Server) -> None:
        server.may_answer.clear()
        with (
            Neighbour(server.port, pace_seconds=0.01, seconds_max=1) as neighbour,
            pytest.raises(TimeoutError),
        ):
            neighbour.wait_until_served(1, seconds_max=0.2)
        assert list(served_within(neighbour.samples, 0, float("inf"))) == []

    def test_counts_the_wait_of_requests_behind_a_slow_one(self, server: Server) -> None:
        with Neighbour(server.port, pace_seconds=0.02) as neighbour:
            neighbour.wait_until_served(1)
            server.may_answer.clear()
            threading.Timer(0.3, server.may_answer.set).start()
            neighbour.wait_until_served(20)
        late = [sample for sample in neighbour.of_kind("GET /livez") if sample.delay > 0.1]
        assert len(late) > 5


class TestCloud:
    def test_the_puzzle_is_what_it_says(self) -> None:
        """Seven colours are enough; that six are not is Mycielski's theorem."""
        graph = mycielski_graph()
        assert set(graph.colours) == set(range(PUZZLE_COLOURS))
        assert all(graph.colours[one] != graph.colours[other] for one, other in graph.edges)
        neighbours: dict[int, set[int]] = {vertex: set() for vertex in range(len(graph.colours))}
        for one, other in graph.edges:
            neighbours[one].add(other)
            neighbours[other].add(one)
        assert not any(neighbours[one] & neighbours[other] for one, other in graph.edges)

    def test_small_graphs_need_as_many_colours_as_they_say(self) -> None:
        for colours in (3, 4):
            graph = mycielski_graph(colours)
            fewer = itertools.product(range(colours - 1), repeat=len(graph.colours))
            assert all(any(way[a] == way[b] for a, b in graph.edges) for way in fewer)

    def test_the_packing_asks_for_everything(self) -> None:
        assert sum(packing_amounts()) == PACKING_DEVICES * PACKING_SIZE


class TestExchange:
    def test_a_whole_answer(self, server: Server) -> None:
        outcome = exchange(server.port, "POST", "/x", whole(b"x" * 1_000_000), seconds_max=5)
        assert (outcome.status, outcome.body, outcome.problem) == (200, b"{}", "")

    def test_no_answer(self, server: Server) -> None:
        server.may_answer.clear()
        outcome = exchange(server.port, "GET", "/x", seconds_max=0.2)
        assert (outcome.status, outcome.problem) == (None, "no answer in 0.2 s")

    def test_a_body_that_never_ends(self, server: Server) -> None:
        body = Body(iter(lambda: b" ", None), 1000, pause_seconds=0.05)
        outcome = exchange(server.port, "POST", "/x", body, seconds_max=0.3)
        assert (outcome.status, outcome.problem) == (None, "no answer in 0.3 s")

    def test_an_answer_that_is_cut_off(self, server: Server) -> None:
        body = b'{"code": "placement.a"}'
        server.answer = b"HTTP/1.1 400 Bad\r\ncontent-length: 99\r\n\r\n" + body
        outcome = exchange(server.port, "GET", "/x", seconds_max=0.3)
        assert (outcome.status, outcome.code) == (400, "placement.a")
        assert outcome.problem == "no end in 0.3 s"
