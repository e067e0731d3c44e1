"""Claims by concurrent clients: who claims what from where."""

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.durable.clients import Work, measure_rate
from benchmarks.durable.cloud import Cloud
from benchmarks.durable.results import ClaimRate
from benchmarks.durable.work import Claims, Placements
from benchmarks.timings import p50_and_p99

SAME_PROVIDERS = 4
ORDERS = ("spread", "pack")
ORDER_CLIENTS = 4


class RateCase(NamedTuple):
    key: str
    title: str
    clients: int
    make: Callable[[Cloud], Work]


def claims(clients: int) -> RateCase:
    title = f"PUT /allocations, spread over hosts, {count(clients)}"
    return RateCase(f"put-{clients}", title, clients, lambda cloud: Claims(cloud.providers))


def contended_claims(clients: int) -> RateCase:
    title = f"PUT /allocations, the same {SAME_PROVIDERS} providers, {count(clients)}"
    return RateCase(
        f"same-{clients}", title, clients, lambda cloud: Claims(cloud.providers[:SAME_PROVIDERS])
    )


def placements(clients: int, order: str | None = None) -> RateCase:
    title = f"POST /placements of one, {f'order={order}, ' if order else ''}{count(clients)}"
    key = f"{order or 'place'}-{clients}"
    return RateCase(key, title, clients, lambda cloud: Placements(1, order))


def count(clients: int) -> str:
    return "one client" if clients == 1 else f"{clients} clients"


CASES = {
    case.key: case
    for case in (
        *(claims(clients) for clients in (1, 10, 50)),
        contended_claims(50),
        *(placements(clients) for clients in (1, ORDER_CLIENTS, 10)),
        *(placements(ORDER_CLIENTS, order) for order in ORDERS),
    )
}


def measure_case(case: RateCase, cloud: Cloud, seconds: float) -> ClaimRate:
    rate = measure_rate(
        cloud.service.port,
        case.make(cloud),
        clients=case.clients,
        seconds=seconds,
        service_id=cloud.service.process_id,
        database_id=cloud.database.process_id,
    )
    done = [outcome for outcome in rate.outcomes if outcome.status in (200, 204)]
    p50, p99 = p50_and_p99([1000 * outcome.seconds for outcome in done])
    cpu = (rate.cpu_service, rate.cpu_database, rate.cpu_clients)
    service, database, clients = (1000 * spent / max(1, len(done)) for spent in cpu)
    refused = rate.count(409)
    return ClaimRate(
        claims=len(done),
        refused=refused,
        failed=len(rate.outcomes) - len(done) - refused,
        seconds=rate.seconds,
        p50_ms=p50,
        p99_ms=p99,
        cpu_service_ms=service,
        cpu_database_ms=database,
        cpu_clients_ms=clients,
        example=rate.example,
    )
