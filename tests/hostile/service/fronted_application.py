"""An application that does what tests of the front need, behind a real front in its own process.

`python -m tests.hostile.service.fronted_application PORT THREADS SECONDS` serves it. SECONDS is how
long a client may not read.
"""

import json
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from roost.api.http.error_table import to_http
from roost.api.http.exchange import EXCHANGE
from roost.api.http.messages import Environ, StartResponse
from roost.errors import RoostError, Unavailable
from roost.server.connections import allow_open_files, connections_max
from roost.server.front import Front
from roost.server.http import connection
from roost.server.http.server import HttpServer
from roost.server.listening import BACKLOG
from roost.service.search_time import SearchTime
from roost.settings import Settings

PIECE = b"x" * 65536
PIECES_MAX = 1024
HARD_SECONDS = 60.0

COUNTS: Counter[str] = Counter()
RELEASED = threading.Event()
STOPPING = threading.Event()
DELIVERS: list[Callable[[bytes | None], None]] = []


def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    path = environ["PATH_INFO"]
    if path in ANSWERS:
        return ANSWERS[path](environ, start_response)
    return answer(start_response, json.dumps(texts(environ)).encode())


def answer(start_response: StartResponse, body: bytes, status: str = "200 OK") -> list[bytes]:
    start_response(status, [("content-length", str(len(body)))])
    return [body]


def texts(environ: Environ) -> dict[str, str]:
    """The environment, with the body."""
    shown = {key: value for key, value in environ.items() if isinstance(value, str)}
    length = int(environ.get("CONTENT_LENGTH") or 0)
    shown["body"] = environ["wsgi.input"].read(length).decode() if length else ""
    return shown


def search(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """A search that lasts until it is released; or a small one."""
    if environ["QUERY_STRING"] == "small":
        return answer(start_response, b"small")
    COUNTS["searches"] += 1
    search_time = SearchTime(HARD_SECONDS)
    try:
        while search_time.may_go_on() and not RELEASED.is_set():
            COUNTS["questions"] += 1
            work_until = time.thread_time() + 0.001
            while time.thread_time() < work_until:
                pass
    except RoostError as error:
        COUNTS["refused"] += 1
        refusal = to_http(error)
        return answer(start_response, refusal.message.encode(), f"{refusal.status} refused")
    return answer(start_response, b"found")


def wait(_: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """A request that never asks whether it may go on, as one that waits for the database."""
    COUNTS["waiting"] += 1
    RELEASED.wait(HARD_SECONDS)
    return answer(start_response, b"waited")


def release(_: Environ, start_response: StartResponse) -> Iterable[bytes]:
    RELEASED.set()
    return answer(start_response, b"")


def pieces(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    try:
        environ[EXCHANGE].hold_pieces(len(PIECE) * PIECES_MAX)
    except RoostError:
        return answer(start_response, b"", "503 refused")
    start_response("200 OK", [("content-length", str(len(PIECE) * PIECES_MAX))])
    return Pieces()


class Pieces:
    def __iter__(self) -> Iterator[bytes]:
        for _ in range(PIECES_MAX):
            COUNTS["pieces"] += 1
            yield PIECE

    def close(self) -> None:
        COUNTS["closed"] += 1


def pieces_that_fail(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [("content-type", "application/json")])
    return failing_pieces(environ["QUERY_STRING"])


def failing_pieces(how: str) -> Iterator[bytes]:
    yield PIECE
    yield PIECE
    raise Unavailable("the database is gone") if how == "refused" else ValueError("a mistake")


def watch(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [("content-type", "text/event-stream")])
    environ[EXCHANGE].watch = Watch()
    return []


class Watch:
    def start(self, deliver: Callable[[bytes | None], None]) -> None:
        COUNTS["watches"] += 1
        DELIVERS.append(deliver)

    def stop(self) -> None:
        COUNTS["stopped"] += 1


def deliver(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Deliver what the query string says to all watches; nothing ends them."""
    text = environ["QUERY_STRING"]
    piece = PIECE if text == "piece" else text.encode() or None
    for each in DELIVERS:
        each(piece)
    return answer(start_response, b"")


def stop(_: Environ, start_response: StartResponse) -> Iterable[bytes]:
    STOPPING.set()
    return answer(start_response, b"")


def counts(_: Environ, start_response: StartResponse) -> Iterable[bytes]:
    return answer(start_response, json.dumps(COUNTS).encode())


def threads(_: Environ, start_response: StartResponse) -> Iterable[bytes]:
    names = Counter(thread.name for thread in threading.enumerate())
    return answer(start_response, json.dumps(names).encode())


ANSWERS: dict[str, Callable[[Environ, StartResponse], Iterable[bytes]]] = {
    "/allocation_candidates": search,
    "/wait": wait,
    "/usages": wait,
    "/release": release,
    "/pieces": pieces,
    "/pieces-that-fail": pieces_that_fail,
    "/watch": watch,
    "/deliver": deliver,
    "/stop": stop,
    "/counts": counts,
    "/threads": threads,
}


def main() -> None:
    port, threads, stalled_seconds_max = sys.argv[1:]
    connection.STALLED_SECONDS_MAX = float(stalled_seconds_max)
    allow_open_files()
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=BACKLOG)
    front = Front(application, Settings(), threads=int(threads), stopping=STOPPING)
    # What is to stop here are streams. The server is ended with its process.
    HttpServer(front, listener, connections_max=connections_max()).run(threading.Event())


if __name__ == "__main__":
    main()
