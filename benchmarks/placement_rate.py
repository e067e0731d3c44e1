"""Measures ten concurrent clients that each search, choose a candidate at random, and claim it."""

import itertools
import random
from collections.abc import Iterator

import msgspec

from benchmarks.client import Request, encode
from benchmarks.durable.clients import Client, measure_rate
from benchmarks.durable.work import uuid_prefix
from benchmarks.load import CONSUMER_TYPE
from benchmarks.requests import MACHINE
from benchmarks.services import Service
from benchmarks.timings import PlacementRate

CLIENTS = 10
# Few enough that the smallest cloud in docs/explanation/performance.md is far from full afterwards.
PLACEMENTS_MAX = 5_000
SEARCH = encode(Request("GET", f"/allocation_candidates?resources={MACHINE}&limit=10"))

# The rest of a claim. The client sends the bytes of the chosen candidate back unchanged.
CLAIM_END = (
    b',"project_id":"project-1","user_id":"user-1","consumer_generation":null,'
    b'"consumer_type":"' + CONSUMER_TYPE.encode() + b'"}'
)


class Candidates(msgspec.Struct):
    """The only part of an answer that the client reads."""

    allocation_requests: list[msgspec.Raw]


class SearchesThenClaims:
    """Each search is followed by a claim of one of its candidates, unless there is none."""

    def messages(self, number: int, client: Client) -> Iterator[bytes]:
        rng = random.Random(number)
        decoder = msgspec.json.Decoder(Candidates)
        prefix = uuid_prefix().decode()
        placements = 0
        for consumer in itertools.count():
            yield SEARCH
            if client.status != 200:
                continue
            candidates = decoder.decode(client.body).allocation_requests
            if not candidates:
                # The cloud is full, after a long run on a small one.
                return
            body = bytes(rng.choice(candidates)).rstrip()[:-1] + CLAIM_END
            yield encode(Request("PUT", f"/allocations/{prefix}{consumer:012x}", body))
            placements += client.status == 204
            if placements == PLACEMENTS_MAX // CLIENTS:
                return


def measure_placement_rate(
    service: Service, database_id: int | None, seconds: float
) -> PlacementRate:
    """Run ten clients for that long and until their last answer."""
    rate = measure_rate(
        service.port,
        SearchesThenClaims(),
        clients=CLIENTS,
        seconds=seconds,
        service_id=service.process_id,
        database_id=database_id,
        to_the_end=True,
    )
    placements, conflicts = rate.count(204), rate.count(409)
    return PlacementRate(
        placements=placements,
        conflicts=conflicts,
        # A successful search is not counted, but one that fails is.
        failures=len(rate.outcomes) - rate.count(200, 204, 409),
        seconds=rate.seconds,
        example=rate.example,
        cpu_service_ms=rate.cpu_service * 1000 / max(1, placements),
        cpu_database_ms=rate.cpu_database * 1000 / max(1, placements),
    )
