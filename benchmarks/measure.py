"""One case on one side: how long it takes, and how much processor time it costs."""

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.client import Answer, Connection, Request, TooSlow
from benchmarks.processes import cpu_seconds
from benchmarks.requests import Case
from benchmarks.results import Timing, percentiles
from benchmarks.sides import Side
from benchmarks.worlds import World

# One client, but over several connections in turn, as clients with a pool have them: so every
# process of the service gets its part, and has to learn what the others wrote.
CONNECTIONS = 8


class Effort(NamedTuple):
    """How long to measure: whatever ends first."""

    warmups: int
    count_max: int
    seconds_max: float
    request_seconds_max: float


class Refused(Exception):
    """The service said no, or failed."""


def measure(
    case: Case,
    world: World,
    side: Side,
    database_process_id: int | None,
    effort: Effort,
    advance: Callable[[], None] = lambda: None,
) -> Timing:
    with contextlib.ExitStack() as stack:
        pool = [
            stack.enter_context(side.connect(effort.request_seconds_max))
            for _ in range(CONNECTIONS)
        ]
        before, began = cpu_seconds([side.process_id]), time.monotonic()
        try:
            requests = case.make(world, pool[0], effort.warmups + effort.count_max)
            return measure_requests(
                requests, pool, [side.process_id], database_process_id, effort, advance
            )
        except (TooSlow, ConnectionError) as error:
            slow = isinstance(error, TooSlow)
            limit = f"more than {effort.request_seconds_max:g} s"
            # What it cost until then is at least something to compare with.
            return Timing(
                p50_ms=(time.monotonic() - began) * 1000,
                cpu_service_ms=(cpu_seconds([side.process_id]) - before) * 1000,
                failure=limit if slow else "no answer: the process ended",
            )
        except Refused as refused:
            return Timing(failure=str(refused))


def measure_requests(
    requests: Sequence[Request],
    pool: Sequence[Connection],
    service_ids: Sequence[int],
    database_id: int | None,
    effort: Effort,
    advance: Callable[[], None] = lambda: None,
) -> Timing:
    """The median and so on of these requests, sent one after the other."""
    database_ids = [] if database_id is None else [database_id]
    # A case may have fewer requests than wanted; some must be left to be measured.
    warmups = min(effort.warmups, len(requests) // 4)
    began_warming = time.monotonic()
    done = 0
    for number in range(warmups):
        send(pool[number % len(pool)], requests[number])
        done += 1
        if time.monotonic() - began_warming > effort.seconds_max:
            break
    service_before, database_before = cpu_seconds(service_ids), cpu_seconds(database_ids)
    milliseconds: list[float] = []
    answer = Answer(0, b"")
    deadline = time.monotonic() + effort.seconds_max
    for number in range(done, len(requests)):
        began = time.perf_counter()
        answer = send(pool[number % len(pool)], requests[number])
        milliseconds.append((time.perf_counter() - began) * 1000)
        advance()
        if time.monotonic() > deadline or len(milliseconds) == effort.count_max:
            break
    count = len(milliseconds)
    service = (cpu_seconds(service_ids) - service_before) * 1000 / count
    database = (cpu_seconds(database_ids) - database_before) * 1000 / count
    p50, p95 = percentiles(milliseconds)
    return Timing(
        count=count,
        p50_ms=p50,
        p95_ms=p95,
        cpu_service_ms=service,
        cpu_database_ms=database,
        answer_bytes=len(answer.body),
    )


def send(connection: Connection, request: Request) -> Answer:
    answer = connection.send(request)
    if answer.status not in (200, 204):
        text = answer.body[:300].decode(errors="replace")
        raise Refused(f"{request.method} {request.target[:80]}: {answer.status} {text}")
    return answer
