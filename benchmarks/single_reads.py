"""Measures the single requests that a client of the reference must send to read a whole cloud.

They are one for each part of each provider, and one for each consumer. A sample of each kind is
measured, and its time multiplied. roost must say the same of the sample.
"""

import random
import statistics
import time
from typing import Any

import msgspec

from benchmarks.client import Connection, Request
from benchmarks.datasets import Dataset
from benchmarks.measure import send
from benchmarks.results import SingleReads
from benchmarks.services import Service

PARTS = ("inventories", "usages", "traits", "aggregates")


def measure_single_reads(
    dataset: Dataset, service: Service, sample_count: int
) -> dict[str, SingleReads]:
    """How long each kind of request takes that a client of the reference must send."""
    providers, consumers = sample(dataset, sample_count)
    kinds: dict[str, tuple[int, list[str]]] = {
        "GET /resource_providers": (1, ["/resource_providers"]),
        **{
            f"GET its {part}": (
                len(dataset.providers),
                [f"/resource_providers/{uuid}/{part}" for uuid in providers],
            )
            for part in (*PARTS, "allocations")
        },
        "GET /allocations/{consumer}": (
            len(dataset.consumers),
            [f"/allocations/{uuid}" for uuid in consumers],
        ),
    }
    found = {}
    with service.connect() as connection:
        for kind, (count, targets) in kinds.items():
            requests = [Request("GET", target) for target in targets]
            send(connection, requests[0])
            times = [timed(connection, request) for request in requests]
            found[kind] = SingleReads(
                count=count, sample=len(times), mean_ms=1000 * statistics.mean(times)
            )
    return found


def timed(connection: Connection, request: Request) -> float:
    began = time.monotonic()
    send(connection, request)
    return time.monotonic() - began


def sample(dataset: Dataset, count: int) -> tuple[list[str], list[str]]:
    """The UUIDs of some providers and of some consumers, always the same."""
    rng = random.Random("bulk reads")
    uuids = [row[1] for row in dataset.providers], [row[1] for row in dataset.consumers]
    providers, consumers = (rng.sample(each, min(count, len(each))) for each in uuids)
    return providers, consumers


def compare_sample(dataset: Dataset, reference: Service, roost: Service, sample_count: int) -> str:
    """What the services say differently of the sample; empty if nothing."""
    with reference.connect() as theirs, roost.connect() as ours:

        def read(connection: Connection, target: str) -> Any:
            return msgspec.json.decode(send(connection, Request("GET", target)).body)

        providers, _ = sample(dataset, sample_count)
        for uuid in providers:
            single = {
                part: read(theirs, f"/resource_providers/{uuid}/{part}")[part] for part in PARTS
            }
            target = f"/resource_providers?include={','.join(PARTS)}&uuid={uuid}"
            (bulk,) = read(ours, target)["resource_providers"]
            for part in PARTS:
                if comparable(single[part]) != comparable(bulk[part]):
                    return f"{part} of provider {uuid}: {single[part]} and {bulk[part]}"
            consumers = read(ours, f"/allocations?resource_provider={uuid}&limit=10")["consumers"]
            for consumer in consumers:
                expected = read(theirs, f"/allocations/{consumer['uuid']}")
                if {**consumer, **expected} != consumer:
                    return f"consumer {consumer['uuid']}: {expected} and {consumer}"
    return ""


def comparable(part: Any) -> Any:
    """Lists of names have no order."""
    return sorted(part) if isinstance(part, list) else part
