"""Clients that claim, search and read concurrently, and remember the answers."""

import random
import threading
import time
import uuid
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import httpx
import sqlalchemy as sa

from tests.support.headers import HEADERS

PROJECT = "11111111-1111-4111-8111-111111111111"
CLAIMED_VCPU = 3
HOSTS = 8
# So small that clients compete, and that hosts become full.
VCPU_TOTAL = 20
ANSWER_SECONDS_MAX = 60

# provider UUID -> VCPU; empty if nothing is allocated
Claim = dict[str, int]


class Claimer:
    """One client. Any process may answer a request."""

    def __init__(self, url: str, seed: int, transport: httpx.BaseTransport | None) -> None:
        self.problems: list[str] = []
        self.acknowledged = 0
        self.unanswered = 0
        self.refused = 0
        # consumer UUID -> what may be allocated to it: one claim, or two if an answer is missing
        self.claims: dict[str, list[Claim]] = {}
        self._random = random.Random(seed)
        self._http = httpx.Client(
            base_url=url, headers=HEADERS, timeout=ANSWER_SECONDS_MAX, transport=transport
        )

    def step(self) -> None:
        """Search, claim what was found, check that it is there, and sometimes release it."""
        found = self._send("GET", f"/allocation_candidates?resources=VCPU:{CLAIMED_VCPU}&limit=5")
        candidates = found.json()["allocation_requests"] if found is not None else []
        if candidates:
            chosen = self._random.choice(candidates)["allocations"]
            self._claim(str(uuid.uuid4()), chosen)
        if not candidates or self._random.random() < 0.4:
            self._release()

    def _claim(self, consumer: str, allocations: dict[str, Any]) -> None:
        claim = {provider: item["resources"]["VCPU"] for provider, item in allocations.items()}
        body = {
            "allocations": allocations,
            "project_id": PROJECT,
            "user_id": PROJECT,
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        self.claims[consumer] = [{}, claim]
        answer = self._send("PUT", f"/allocations/{consumer}", body)
        if answer is not None:
            self._record(consumer, claim if answer.status_code == 204 else {})

    def _release(self) -> None:
        held = [consumer for consumer, claims in self.claims.items() if len(claims) == 1]
        held = [consumer for consumer in held if self.claims[consumer] != [{}]]
        if not held:
            return
        consumer = self._random.choice(held)
        self.claims[consumer].append({})
        answer = self._send("DELETE", f"/allocations/{consumer}")
        if answer is not None:
            self._record(consumer, {} if answer.status_code == 204 else self.claims[consumer][0])

    def _record(self, consumer: str, claim: Claim) -> None:
        """Record what an answer says is allocated; all processes must say the same from now on."""
        self.claims[consumer] = [claim]
        seen = self._send("GET", f"/allocations/{consumer}")
        if seen is not None:
            allocated = {
                provider: item["resources"]["VCPU"]
                for provider, item in seen.json()["allocations"].items()
            }
            if allocated != claim:
                self.problems.append(f"{consumer} was told {claim} and then shown {allocated}")
        for provider, amount in claim.items():
            usages = self._send("GET", f"/resource_providers/{provider}/usages")
            if usages is not None and usages.json()["usages"]["VCPU"] < amount:
                self.problems.append(f"{provider} does not show {amount} of {consumer}")

    def _send(self, method: str, path: str, body: object = None) -> httpx.Response | None:
        """The answer, or None if there was none."""
        try:
            answer = self._http.request(method, path, json=body)
        except httpx.TransportError:
            self.unanswered += 1
            return None
        if answer.status_code not in (200, 204, 409):
            self.problems.append(f"{method} {path}: {answer.status_code} {answer.text}")
            return None
        self.refused += answer.status_code == 409
        self.acknowledged += answer.status_code == 204
        return answer

    def close(self) -> None:
        self._http.close()


class Claimers:
    """Several clients, each in a thread of its own, that work until the block ends.

    `transport` sends their requests, to the server at the URL or to another one. Without a pause
    they use all of the processor.
    """

    def __init__(
        self,
        url: str,
        count: int,
        *,
        transport: httpx.BaseTransport | None = None,
        pause_seconds: float = 0,
    ) -> None:
        self._pause_seconds = pause_seconds
        self.members = [Claimer(url, seed, transport) for seed in range(count)]
        self._end = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=[member], name=f"claimer {number}")
            for number, member in enumerate(self.members)
        ]

    def _run(self, member: Claimer) -> None:
        while not self._end.is_set():
            try:
                member.step()
            except Exception as error:
                member.problems.append(repr(error))
                return
            # If the server is down, requests without a pause would only use the processor.
            time.sleep(0.05 if member.unanswered else self._pause_seconds)

    def work(self, acknowledged: int, seconds_max: float = 60) -> None:
        """Wait until so many more writes were acknowledged."""
        aim = self.acknowledged + acknowledged
        deadline = time.monotonic() + seconds_max
        while self.acknowledged < aim and not self.problems:
            assert time.monotonic() < deadline, f"{self.acknowledged} of {aim} writes"
            time.sleep(0.05)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()
        for member in self.members:
            member.close()

    @property
    def acknowledged(self) -> int:
        return sum(member.acknowledged for member in self.members)

    @property
    def unanswered(self) -> int:
        return sum(member.unanswered for member in self.members)

    @property
    def problems(self) -> Sequence[str]:
        return [problem for member in self.members for problem in member.problems]

    @property
    def claims(self) -> dict[str, list[Claim]]:
        return {
            consumer: claims
            for member in self.members
            for consumer, claims in member.claims.items()
        }


def add_hosts(server_url: str) -> None:
    """Add hosts that are empty."""
    with httpx.Client(base_url=server_url, headers=HEADERS, timeout=30) as http:
        for _ in range(HOSTS):
            created = http.post("/resource_providers", json={"name": f"host-{uuid.uuid4()}"})
            assert created.status_code == 200, created.text
            path = f"/resource_providers/{created.json()['uuid']}/inventories"
            inventories = {"VCPU": {"total": VCPU_TOTAL}}
            body = {"resource_provider_generation": 0, "inventories": inventories}
            http.put(path, json=body).raise_for_status()


def check_tables(database_url: str, claims: dict[str, list[Claim]]) -> None:
    """Nothing is over-allocated, and every answer that a client got was true."""
    engine = sa.create_engine(database_url)
    with engine.connect() as connection:
        rows = connection.execute(
            sa.text(
                "SELECT a.consumer_id, p.uuid, a.used FROM allocations a "
                "JOIN resource_providers p ON p.id = a.resource_provider_id"
            )
        ).all()
    engine.dispose()
    stored: dict[str, Claim] = {}
    used: Claim = {}
    for consumer, provider, amount in rows:
        stored.setdefault(consumer, {})[provider] = amount
        used[provider] = used.get(provider, 0) + amount
    assert all(amount <= VCPU_TOTAL for amount in used.values()), used
    assert stored.keys() <= claims.keys()
    for consumer, possible in claims.items():
        assert stored.get(consumer, {}) in possible
