"""Clients that claim all at the same moment, so that their claims share transactions."""

import contextlib
import http.client
import json
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.faults.claimers import Allocations, Claimer, UncertainPlacement, held_by
from tests.faults.clients import REQUEST_SECONDS_MAX, Answer, Unanswered
from tests.faults.cloud import (
    CROWD_PCPUS,
    CROWDS,
    HOST_NAMES,
    OWNER,
    SERVICE_HEADERS,
    STORAGE,
    crowd_provider,
)
from tests.faults.history import History
from tests.faults.service import Worker
from tests.support.names import uid

SINGLE_CLAIMS = 8
# In so many rounds, others want the same providers.
CONTENDED_SHARE = 0.5
# How many consumers are read one by one. A read of a provider shows all who hold something of it.
SAMPLES = 2
READ_ATTEMPTS = 10

HEADERS = {**SERVICE_HEADERS, "content-type": "application/json"}


class UncertainClaims(NamedTuple):
    """Claims for the same consumer, some of unknown outcome: what it may hold."""

    since: float
    before: Mapping[str, Allocations]
    after: Mapping[str, Allocations]
    options: Sequence[Mapping[str, Allocations]]

    def allows(self, held: Mapping[str, Allocations]) -> bool:
        return held in self.options


class Request(NamedTuple):
    """One of the claims: of one consumer, or of several who get all or nothing."""

    after: Mapping[str, Allocations]  # what they hold if it is accepted
    is_duplicate: bool = False  # another claim names the same consumer
    is_placement: bool = False  # the service chooses

    @property
    def method(self) -> str:
        return "PUT" if len(self.after) == 1 and not self.is_placement else "POST"

    @property
    def path(self) -> str:
        if self.is_placement:
            return "/placements"
        return "/allocations" + (f"/{next(iter(self.after))}" if self.method == "PUT" else "")

    @property
    def body(self) -> Any:
        if self.is_placement:
            return {
                "query": "resources=VCPU:1,MEMORY_MB:1",
                "consumers": dict.fromkeys(self.after, OWNER),
            }
        bodies = {
            consumer: {
                "allocations": {key: {"resources": held} for key, held in allocations.items()},
                "consumer_generation": None,
                **OWNER,
            }
            for consumer, allocations in self.after.items()
        }
        return bodies[next(iter(self.after))] if self.method == "PUT" else bodies


class Crowd(Claimer):
    """Claims for new consumers through one worker at once, checks each of them, gives all back.

    It has a provider that nobody else claims, and which is too small for all of them.
    """

    def __init__(self, number: int, workers: Sequence[Worker], history: History, seed: int) -> None:
        super().__init__(f"crowd {number}", workers, history, seed)
        self.provider = uid(crowd_provider(number))
        # How many claims of each provider were acknowledged.
        self.acknowledged: Counter[str] = Counter()
        self._is_contended = False
        self._is_checked = False

    def _refill(self) -> None:
        """Each round has its own consumers."""

    def step(self) -> None:
        # What the last round left is checked first, if it was interrupted.
        if not self.known:
            self.claim_together()
            self._is_checked = False
        if not self._is_checked:
            self.check_together()
            self._is_checked = True
        holding = [consumer for consumer, (held, _) in self.known.items() if held]
        if holding:
            self.write("give back", {consumer: {} for consumer in holding}, post=True)
        self.known = {key: state for key, state in self.known.items() if state[0]}
        self.check_uncertain_write()
        self.delete_abandoned()

    # -- what to claim -------------------------------------------------------------------------

    def requests(self) -> list[Request]:
        self._is_contended = self.random.random() < CONTENDED_SHARE
        twice = self._consumer()
        found = [
            *(Request({self._consumer(): self.some_allocations()}) for _ in range(SINGLE_CLAIMS)),
            *(Request({twice: self.some_allocations()}, is_duplicate=True) for _ in range(2)),
            Request({self._consumer(): self.some_allocations() for _ in range(2)}),
        ]
        if self._is_contended:
            found.append(Request({self._consumer(): {}}, is_placement=True))
        self.random.shuffle(found)
        return found

    def _consumer(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def some_allocations(self) -> Allocations:
        if self._is_contended and self.random.random() < 0.5:
            return {uid(self.random.choice(HOST_NAMES)): {"VCPU": 1}}
        found = {self.provider: {"PCPU": self.random.randint(1, 3)}}
        if self._is_contended and self.random.random() < 0.3:
            found[uid(STORAGE)] = {"DISK_GB": self.random.randint(1, 3)}
        return found

    # -- claiming ------------------------------------------------------------------------------

    def claim_together(self) -> None:
        requests = self.requests()
        # Nothing of its own provider is in use, nor can be.
        is_alone = not self.uncertain_writes and not self.abandoned
        outcomes = self.send_together(requests)
        pairs = list(zip(requests, outcomes, strict=True))
        by_consumers: dict[tuple[str, ...], list[tuple[Request, Answer | str]]] = {}
        for request, outcome in pairs:
            by_consumers.setdefault(tuple(request.after), []).append((request, outcome))
        for attempts in by_consumers.values():
            self._record_outcomes(attempts)
        if is_alone and "unknown" not in outcomes:
            self._check_refusals(pairs)

    def _record_outcomes(self, attempts: Sequence[tuple[Request, Answer | str]]) -> None:
        """Note what the consumers of these claims, which are the same, hold from now on."""
        accepted: list[Mapping[str, Allocations]] = []
        possible: list[Request] = []
        for request, outcome in attempts:
            if outcome == "unknown":
                possible.append(request)
            elif isinstance(outcome, Answer):
                if outcome.status in (200, 204):
                    accepted.append(self._accepted(request, outcome))
                else:
                    self._check_refusal(request, outcome)
        consumers = attempts[0][0].after
        if len(accepted) > 1:
            self.history.violate(f"{self.name}: {consumers.keys()} were created twice: {accepted}")
        nothing: dict[str, Allocations] = {consumer: {} for consumer in consumers}
        if possible:
            after = possible[0].after
            options = accepted or [nothing, *(request.after for request in possible)]
            now = self.history.now()
            self.uncertain_writes.append(
                UncertainPlacement(now, nothing, nothing)
                if possible[0].is_placement
                else UncertainClaims(now, nothing, after, options)
            )
            return
        [held] = accepted[:1] or [nothing]
        for consumer, allocations in held.items():
            self.known[consumer] = allocations, 1 if allocations else None

    def _accepted(self, request: Request, answer: Answer) -> Mapping[str, Allocations]:
        held = request.after
        if request.is_placement:
            held = {key: held_by(placed) for key, placed in answer.body["placements"].items()}
        self.acknowledged.update({provider for each in held.values() for provider in each})
        return held

    def _check_refusal(self, request: Request, answer: Answer) -> None:
        if answer.status != 409:
            self.history.violate(f"{self.name}: {answer.status} {answer.text[:300]}")
        elif "consumer generation conflict" in answer.text and not request.is_duplicate:
            # No other client writes these consumers.
            self.history.violate(
                f"{self.name}: a conflict about {request.after}: {answer.text[:300]}"
            )

    def _check_refusals(self, pairs: Iterable[tuple[Request, Answer | str]]) -> None:
        """A claim that fits beside all that were accepted is not refused for want of room."""
        used = sum(held.get(self.provider, {}).get("PCPU", 0) for held, _ in self.known.values())
        for request, outcome in pairs:
            wanted = {key for each in request.after.values() for key in each}
            if wanted != {self.provider} or not isinstance(outcome, Answer):
                continue
            amount = sum(each[self.provider]["PCPU"] for each in request.after.values())
            if "exceed the capacity" in outcome.text and used + amount <= CROWD_PCPUS:
                self.history.violate(
                    f"{self.name}: {used} of {CROWD_PCPUS} used, {amount} refused: {outcome.text}"
                )

    def check_together(self) -> None:
        """All consumers hold what they were told, and nothing if they were refused."""
        names = [*HOST_NAMES, STORAGE] if self._is_contended else []
        found: dict[str, dict[str, Any]] = {consumer: {} for consumer in self.known}
        for provider in [self.provider, *map(uid, names)]:
            seen = self.read("read holders", f"/resource_providers/{provider}/allocations")
            for consumer in found.keys() & seen["allocations"].keys():
                found[consumer][provider] = seen["allocations"][consumer]["resources"]
        for consumer, (held, _) in self.known.items():
            if found[consumer] != held:
                self.history.violate(
                    f"{self.name}: {consumer} holds {found[consumer]}, was told {held}"
                )
        for consumer in self.random.sample(list(self.known), min(len(self.known), SAMPLES)):
            self.compare(consumer, self.read("read", f"/allocations/{consumer}"))

    def read(self, verb: str, path: str) -> Any:
        """As any client, but again if there was no answer: all reads of a round must succeed."""
        for _ in range(READ_ATTEMPTS - 1):
            with contextlib.suppress(Unanswered):
                return super().read(verb, path)
            time.sleep(0.05)
        return super().read(verb, path)

    # -- requests ------------------------------------------------------------------------------

    def send_together(self, requests: Sequence[Request]) -> list[Answer | str]:
        """Send all requests before any answer is read; an answer or "unanswered" or "unknown"."""
        worker = self.random.choice(self.workers)
        began = self.history.now()
        deadline = time.monotonic() + REQUEST_SECONDS_MAX
        texts = [json.dumps(request.body) for request in requests]
        connections = []
        outcomes: list[Answer | str] = []
        try:
            try:
                for _ in requests:
                    connection = http.client.HTTPConnection(
                        "127.0.0.1", worker.port, timeout=REQUEST_SECONDS_MAX
                    )
                    connections.append(connection)
                    connection.connect()
            except OSError as error:
                for request in requests:
                    self._note(began, request, worker, "unanswered", repr(error))
                return ["unanswered"] * len(requests)
            sent = []
            for connection, request, text in zip(connections, requests, texts, strict=True):
                try:
                    connection.request(request.method, request.path, text, HEADERS)
                    sent.append(True)
                except (OSError, http.client.HTTPException):
                    sent.append(False)
            for connection, request, is_sent in zip(connections, requests, sent, strict=True):
                outcomes.append(
                    self._read_answer(connection, request, worker, began, deadline)
                    if is_sent
                    else self._note(began, request, worker, "unknown", "not sent")
                )
        finally:
            for connection in connections:
                connection.close()
        return outcomes

    def _read_answer(
        self,
        connection: http.client.HTTPConnection,
        request: Request,
        worker: Worker,
        began: float,
        deadline: float,
    ) -> Answer | str:
        try:
            connection.sock.settimeout(max(deadline - time.monotonic(), 0.01))
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return self._note(began, request, worker, "unknown", repr(error))
        status = response.status
        if status in (502, 503, 504):
            return self._note(began, request, worker, "unknown", text, status)
        self._note(began, request, worker, "ok" if status < 400 else "refused", text, status)
        return Answer(status, json.loads(text) if text else None, text)

    def _note(
        self,
        began: float,
        request: Request,
        worker: Worker,
        outcome: str,
        detail: str,
        status: int | None = None,
    ) -> str:
        verb = "place together" if request.is_placement else "claim together"
        self._record(began, verb, worker, outcome, status, "" if outcome == "ok" else detail)
        return outcome


def crowds(workers: Sequence[Worker], history: History, seed: int) -> list[Crowd]:
    return [Crowd(number, workers, history, seed) for number in range(CROWDS)]
