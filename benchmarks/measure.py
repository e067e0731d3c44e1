"""Measures one case on one service: how long it takes, and how much processor time it costs."""

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.client import Answer, Connection, Request, TooSlow
from benchmarks.datasets import Dataset
from benchmarks.processes import cpu_seconds
from benchmarks.requests import Case
from benchmarks.services import Service
from benchmarks.timings import Timing, percentiles

# One client sends its requests over several connections in turn, as a client with a connection pool
# does. So every process of the service gets some of them, and has to catch up with the others.
CONNECTIONS = 8


# Shows a line of text about what is being measured.
ShowProgress = Callable[[str], None]


class Budget(NamedTuple):
    """How long to measure one case. Whichever limit is reached first ends it."""

    warmups: int
    count_max: int
    seconds_max: float
    request_seconds_max: float


class UnexpectedStatus(Exception):
    """The service refused a request, or failed."""


def measure(
    case: Case,
    dataset: Dataset,
    service: Service,
    database_process_id: int | None,
    budget: Budget,
    advance: Callable[[], None] = lambda: None,
) -> Timing:
    with contextlib.ExitStack() as stack:
        pool = [
            stack.enter_context(service.connect(budget.request_seconds_max))
            for _ in range(CONNECTIONS)
        ]
        before, began = cpu_seconds([service.process_id]), time.monotonic()
        try:
            requests = case.make(dataset, pool[0], budget.warmups + budget.count_max)
            return measure_requests(
                requests, pool, [service.process_id], database_process_id, budget, advance
            )
        except (TooSlow, ConnectionError) as error:
            slow = isinstance(error, TooSlow)
            limit = f"more than {budget.request_seconds_max:g} s"
            # The cost until then is a lower bound, which can still be compared.
            return Timing(
                p50_ms=(time.monotonic() - began) * 1000,
                cpu_service_ms=(cpu_seconds([service.process_id]) - before) * 1000,
                failure=limit if slow else "no answer: the process ended",
            )
        except UnexpectedStatus as error:
            return Timing(failure=str(error))


def measure_requests(
    requests: Sequence[Request],
    pool: Sequence[Connection],
    service_ids: Sequence[int],
    database_id: int | None,
    budget: Budget,
    advance: Callable[[], None] = lambda: None,
) -> Timing:
    """Send these requests one after the other and compute their percentiles."""
    database_ids = [] if database_id is None else [database_id]
    # A case may have fewer requests than the budget allows. Some must remain to be measured.
    warmups = min(budget.warmups, len(requests) // 4)
    began_warming = time.monotonic()
    done = 0
    for number in range(warmups):
        send(pool[number % len(pool)], requests[number])
        done += 1
        if time.monotonic() - began_warming > budget.seconds_max:
            break
    service_before, database_before = cpu_seconds(service_ids), cpu_seconds(database_ids)
    milliseconds: list[float] = []
    answer = Answer(0, b"")
    deadline = time.monotonic() + budget.seconds_max
    for number in range(done, len(requests)):
        began = time.perf_counter()
        answer = send(pool[number % len(pool)], requests[number])
        milliseconds.append((time.perf_counter() - began) * 1000)
        advance()
        if time.monotonic() > deadline or len(milliseconds) == budget.count_max:
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
        raise UnexpectedStatus(f"{request.method} {request.target[:80]}: {answer.status} {text}")
    return answer
