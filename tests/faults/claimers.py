"""Clients that claim, which know what they wrote and notice when the service says otherwise.

Each consumer belongs to one client, which knows its state: the last acknowledged write made it. If
nothing tells whether a write took place, the client sets its consumers aside, to be checked later,
and continues with new ones.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tests.faults.clients import Client, Unknown
from tests.faults.cloud import HOST_NAMES, OWNER, STORAGE, TREE_CHILD, TREE_ROOT
from tests.faults.history import History
from tests.faults.service import Worker
from tests.support.names import uid

CONSUMERS_EACH = 3

# A worker may take so long to process a request; afterwards the write took place or never will.
SETTLE_SECONDS = 12.0

Allocations = Mapping[str, Mapping[str, int]]  # provider UUID -> class -> amount


class Uncertain(Protocol):
    """Something of unknown outcome, that some consumers wanted."""

    @property
    def since(self) -> float: ...

    @property
    def before(self) -> Mapping[str, Allocations]: ...

    @property
    def after(self) -> Mapping[str, Allocations]: ...

    def allows(self, held: Mapping[str, Allocations]) -> bool:
        """Whether its consumers may hold this, once the outcome can no longer change."""
        ...


class UncertainWrite(NamedTuple):
    """A write of unknown outcome: all of its consumers are in the state before it or after it."""

    since: float
    before: Mapping[str, Allocations]
    after: Mapping[str, Allocations]

    def allows(self, held: Mapping[str, Allocations]) -> bool:
        return held in (self.before, self.after)


class UncertainPlacement(NamedTuple):
    """A placement of unknown outcome: all of its consumers hold something, or none does."""

    since: float
    before: Mapping[str, Allocations]
    after: Mapping[str, Allocations]  # the service chooses what they hold

    def allows(self, held: Mapping[str, Allocations]) -> bool:
        return len({bool(each) for each in held.values()}) == 1


class Claimer(Client):
    """Claims, replaces, moves and releases, and reads what it wrote through any worker."""

    def __init__(self, name: str, workers: Sequence[Worker], history: History, seed: int) -> None:
        super().__init__(name, workers, history, seed)
        self.known: dict[str, tuple[Allocations, int | None]] = {}
        self.uncertain_writes: list[Uncertain] = []
        self.abandoned: list[str] = []
        self._refill()

    def _refill(self) -> None:
        while len(self.known) < CONSUMERS_EACH:
            self.known[str(uuid.UUID(int=self.random.getrandbits(128), version=4))] = ({}, None)

    def step(self) -> None:
        actions: list[Callable[[], None]] = [
            *[self.claim] * 4,
            *[self.check] * 4,
            *[self.move_two] * 2,
            self.release,
            self.search_and_claim,
            *[self.check_uncertain_write] * 3,
            self.delete_abandoned,
        ]
        self.random.choice(actions)()

    def some_allocations(self) -> Allocations:
        found = {uid(self.random.choice(HOST_NAMES)): {"VCPU": self.random.randint(1, 3)}}
        if self.random.random() < 0.7:
            found[uid(STORAGE)] = {"DISK_GB": self.random.randint(1, 5)}
        return found

    def claim(self) -> None:
        self.write("claim", {self.random.choice(list(self.known)): self.some_allocations()})

    def release(self) -> None:
        holding = [key for key, (held, _) in self.known.items() if held]
        if holding:
            self.write("give back", {self.random.choice(holding): {}})

    def move_two(self) -> None:
        """Exchange what two consumers hold, in one POST."""
        one, other = self.random.sample(list(self.known), 2)
        held, to_hold = self.known[one][0], self.known[other][0]
        if held or to_hold:
            self.write("move", {one: to_hold, other: held or self.some_allocations()}, post=True)

    def search_and_claim(self) -> None:
        query = "/allocation_candidates?resources=VCPU:1&limit=5"
        candidates = self.read("search", query)["allocation_requests"]
        mine = [c for c in candidates if uid(TREE_ROOT) not in c["allocations"]]
        mine = [c for c in mine if uid(TREE_CHILD) not in c["allocations"]]
        if mine:
            chosen = self.random.choice(mine)["allocations"]
            found = {key: value["resources"] for key, value in chosen.items()}
            self.write("claim found", {self.random.choice(list(self.known)): found})

    def check_uncertain_write(self) -> None:
        """Check a write of unknown outcome, once that outcome can no longer change."""
        if (
            not self.uncertain_writes
            or self.uncertain_writes[0].since > self.history.now() - SETTLE_SECONDS
        ):
            return
        uncertain = self.uncertain_writes[0]
        held = {
            consumer: held_by(self.read("read", f"/allocations/{consumer}"))
            for consumer in uncertain.after
        }
        if not uncertain.allows(held):
            self.history.violate(f"neither {uncertain.before} nor {uncertain.after}: {held}")
        self.uncertain_writes.pop(0)
        self.abandoned += [consumer for consumer in held if held[consumer]]

    def delete_abandoned(self) -> None:
        """Delete the allocations of consumers that were set aside."""
        while self.abandoned:
            self.send("delete", "DELETE", f"/allocations/{self.abandoned[-1]}")
            self.abandoned.pop()

    def write(self, verb: str, after: Mapping[str, Allocations], *, post: bool = False) -> None:
        bodies = {
            consumer: {
                "allocations": {key: {"resources": held} for key, held in allocations.items()},
                "consumer_generation": self.known[consumer][1],
                **OWNER,
            }
            for consumer, allocations in after.items()
        }
        try:
            if post:
                answer = self.send(verb, "POST", "/allocations", bodies)
            else:
                [(consumer, body)] = bodies.items()
                answer = self.send(verb, "PUT", f"/allocations/{consumer}", body)
        except Unknown:
            before = {consumer: self.known.pop(consumer)[0] for consumer in after}
            self.uncertain_writes.append(UncertainWrite(self.history.now(), before, after))
            self._refill()
            raise
        if answer.status == 204:
            for consumer, allocations in after.items():
                generation = (self.known[consumer][1] or 0) + 1 if allocations else None
                self.known[consumer] = allocations, generation
        elif answer.status != 409:
            self.history.violate(f"{verb}: {answer.status} {answer.text[:300]}")
        elif "consumer generation conflict" in answer.text:
            # No other client writes these consumers.
            self.history.violate(f"{verb}: a conflict about {after}: {answer.text[:300]}")

    def check(self) -> None:
        consumer = self.random.choice(list(self.known))
        self.compare(consumer, self.read("read", f"/allocations/{consumer}"))

    def compare(self, consumer: str, seen: Any) -> None:
        held, generation = self.known[consumer]
        found = held_by(seen)
        if found != held or seen.get("consumer_generation") != generation:
            self.history.violate(
                f"{self.name}: {consumer} holds {found} at {seen.get('consumer_generation')}, "
                f"was told {held} at {generation}"
            )


def held_by(seen: Any) -> Allocations:
    return {key: value["resources"] for key, value in seen["allocations"].items()}


class Placer(Claimer):
    """Lets the service choose hosts, and repeats a request under its key until it is answered."""

    query = "resources=VCPU:1,MEMORY_MB:1"  # classes that only hosts have
    holding_max = 4

    def __init__(self, name: str, workers: Sequence[Worker], history: History, seed: int) -> None:
        super().__init__(name, workers, history, seed)
        self._pending: tuple[Any, UncertainPlacement] | None = None  # the request without an answer

    def _refill(self) -> None:
        """A placement creates its consumers."""

    def step(self) -> None:
        if self._pending is not None:
            self.send_placement(*self._pending)
            return
        self.known = {key: state for key, state in self.known.items() if state[0]}
        if len(self.known) < self.holding_max:
            self.place()
        else:
            self.release()
        if self.known:
            self.check()
        self.check_uncertain_write()
        self.delete_abandoned()

    def place(self) -> None:
        consumers = [
            str(uuid.UUID(int=self.random.getrandbits(128), version=4))
            for _ in range(self.random.randint(1, 2))
        ]
        body = {
            "query": self.query,
            "consumers": dict.fromkeys(consumers, OWNER),
            "idempotency_key": consumers[0],
        }
        if self.random.random() < 0.5:
            body["spread"] = "root"
        nothing: dict[str, Allocations] = {consumer: {} for consumer in consumers}
        self.send_placement(body, UncertainPlacement(self.history.now(), nothing, nothing))

    def send_placement(self, body: Any, uncertain: UncertainPlacement) -> None:
        try:
            answer = self.send("place", "POST", "/placements", body)
        except Unknown:
            if self._pending is None:
                self.uncertain_writes.append(uncertain)
            self._pending = body, uncertain
            raise
        if self._pending is not None:
            self.uncertain_writes.remove(uncertain)
            self._pending = None
        if answer.status == 200:
            self.record_placements(body, answer.body["placements"])
        elif answer.code not in ("placement.no_candidates", "placement.concurrent_update"):
            self.history.violate(f"place: {answer.status} {answer.text[:300]}")
        elif "consumer generation" in answer.text:
            self.history.violate(f"placed twice: {body} {answer.text[:300]}")

    def record_placements(self, body: Any, placements: Any) -> None:
        for consumer, placed in placements.items():
            self.known[consumer] = held_by(placed), 1
        hosts = [host for placed in placements.values() for host in placed["allocations"]]
        if placements.keys() != body["consumers"].keys():
            self.history.violate(f"{self.name}: placed {placements}, asked for {body}")
        if "spread" in body and len(set(hosts)) != len(hosts):
            self.history.violate(f"{self.name}: not apart: {placements}")

    def check_uncertain_write(self) -> None:
        if self._pending is None:
            super().check_uncertain_write()
