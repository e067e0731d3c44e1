"""Claims of new consumers: of one client, or of many in one transaction.

They share a transaction and never a fate. A batch only ever accepts claims. One that does not fit
by the index, or meets anything else that is unusual, is left out of it and goes its own way
(`operations/optimistic.py`), where the tables decide whether it is refused, and with what words.

A batch is judged by the index. How that is verified depends:

at once     The guard on generations, the rows, the announcement and COMMIT are one round trip. For
            what most claims are: names that this process knows, and standard classes.
optimistic  The same in a transaction, which can also add names, and read those of custom classes.
in turn     One of these while no sibling, a process of the same service, claims. In its turn a
            process knows what the siblings have claimed, from memory. For a batch that was lost to
            another process, and for all while too many are.
locked      Lock the providers, and bring the snapshots up to date from the change feed. For what
            loses even so, to other services, and where there are no siblings.
"""

import enum
from collections.abc import Collection, Sequence

import msgspec

from roost.errors import RoostError
from roost.model import ConsumerChange
from roost.observe import metrics
from roost.operations.claiming.judgement import (
    Claim,
    IndexedState,
    Judged,
    judge,
    named_providers,
    owner_names,
    read_state,
)
from roost.operations.state_readers import advance_snapshots, creates_consumer
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.connection.driver_errors import LostRace, OutcomeUnknown, RowExists
from roost.store.tables.catalog import is_standard_class
from roost.store.tables.consumer_references import References
from roost.store.transaction import Transaction
from roost.uuids import canonical_uuid

# A claim for more consumers than this is a batch by itself, and small ones do not wait for it.
SMALL_MAX = 32

# How long a large claim waits for another one of this process. They would meet at many providers.
LARGE_PATIENCE_SECONDS = 2.0

# How many providers a batch reads of the index while nobody changes it; more, of a snapshot.
READ_AT_ONCE_MAX = 64

# How long a batch waits for its turn. Usually that of a sibling takes as long as a COMMIT.
TURN_SECONDS_MAX = 0.02

# How often a batch is tried: others may be quicker, or some of its consumers may exist already.
ATTEMPTS = 3


class Outcome(enum.Enum):
    """What became of a claim in its batch."""

    WRITTEN = enum.auto()  # and durable
    LEFT_OUT = enum.auto()  # nothing was written: the claim goes its own way
    NO_ROOM = enum.auto()  # left out because it does not fit by the index, which may be stale
    EXISTS = enum.auto()  # left out because one of its consumers exists already
    UNKNOWN = enum.auto()  # perhaps written: if it went its own way, it would meet itself


def claim_new(roost: Roost, changes: Sequence[ConsumerChange]) -> Outcome:
    """Claim for consumers that do not exist yet, together with what others claim now.

    Raises `OutcomeUnknown` if nobody can tell what became of it.
    """
    if not all(map(_may_share, changes)):
        return Outcome.LEFT_OUT
    outcome = _claim_new(roost, changes)
    if outcome is Outcome.UNKNOWN:
        raise OutcomeUnknown
    return outcome


def _claim_new(roost: Roost, changes: Sequence[ConsumerChange]) -> Outcome:
    if len(changes) <= SMALL_MAX:
        outcome = roost.claim_queue.run(changes, lambda claims: write_batch(roost, claims))
        return Outcome.LEFT_OUT if outcome is None else outcome
    has_turn = roost.large_claims.acquire(timeout=LARGE_PATIENCE_SECONDS)
    try:
        return write_batch(roost, [changes], is_large=True)[0]
    finally:
        if has_turn:
            roost.large_claims.release()


def _may_share(change: ConsumerChange) -> bool:
    """Whether it is certain that inserting the consumer's row fails if the consumer exists."""
    return creates_consumer(change) and canonical_uuid(change.consumer_uuid) == change.consumer_uuid


def write_batch(
    roost: Roost, claims: Sequence[Claim], *, is_large: bool = False
) -> Sequence[Outcome]:
    """Write those of the claims that fit; an outcome for each."""
    batch = _Batch(roost, claims, is_large=is_large)
    for _ in range(ATTEMPTS):
        if not batch.remaining:
            break
        try:
            if _attempt(roost, batch):
                break
        except OutcomeUnknown:
            batch.leave_unknown()
            break
        except RoostError:
            # The database cannot be reached, or one of them has a text that it cannot store.
            break
    return batch.outcomes


def _attempt(roost: Roost, batch: "_Batch") -> bool:
    """Whether that was it. If not, nothing was written, and another attempt may succeed."""
    try:
        batch.attempt()
        return True
    except RowExists:
        metrics.RETRY_PROPOSAL.inc()
        batch.leave_out_existing()
    except LostRace:
        (metrics.RETRY_RACE if batch.locks else metrics.RETRY_PROPOSAL).inc()
        batch.be_careful()
        # Other claims that chose the same provider wait already. With what the index knows now,
        # they would lose one race after the other.
        roost.catch_up()
    return False


class _Batch:
    """Claims of several clients on their way into one transaction."""

    def __init__(self, roost: Roost, claims: Sequence[Claim], *, is_large: bool) -> None:
        self._roost = roost
        self._is_large = is_large
        self._claims = claims
        # A tree that is held is none of the batch's business: how long somebody may be made to wait
        # depends on the request.
        self.remaining = list(claims)
        if roost.holds.has_any:
            self.remaining = [
                claim for claim in claims if not roost.holds.of(named_providers([claim]))
            ]
        self._written: set[int] = set()  # by identity
        self._without_room: set[int] = set()
        self._existing: set[int] = set()
        self._unknown: set[int] = set()
        is_contended = (
            roost.contention.includes_any(named_providers(claims)) or roost.contention.loses_batches
        )
        self._siblings = roost.store.siblings
        self._takes_turns = is_contended and self._siblings is not None
        self.locks = is_contended and (self._siblings is None or roost.contention.loses_turns)

    @property
    def outcomes(self) -> list[Outcome]:
        return [self._outcome(claim) for claim in self._claims]

    def _outcome(self, claim: Claim) -> Outcome:
        if id(claim) in self._written:
            return Outcome.WRITTEN
        if id(claim) in self._unknown:
            return Outcome.UNKNOWN
        if id(claim) in self._existing:
            return Outcome.EXISTS
        return Outcome.NO_ROOM if id(claim) in self._without_room else Outcome.LEFT_OUT

    def be_careful(self) -> None:
        """It was lost: take turns with siblings from now on or, if that was of no use, lock."""
        self._record(is_lost=True)
        self.locks = self._takes_turns or self._siblings is None
        self._takes_turns = self._siblings is not None

    def _record(self, *, is_lost: bool) -> None:
        if not self.locks:
            self._roost.contention.record_batch(is_lost=is_lost, in_turn=self._takes_turns)

    def leave_unknown(self) -> None:
        """Those that fitted may have been written, or not."""
        self._unknown = {id(claim) for claim in self.remaining} - self._without_room

    def leave_out_existing(self) -> None:
        """Leave out claims of which a consumer exists."""
        uuids = {change.consumer_uuid for claim in self.remaining for change in claim}
        existing = self._roost.store.reads.existing_consumers(uuids)
        left = [
            claim
            for claim in self.remaining
            if existing.isdisjoint(change.consumer_uuid for change in claim)
        ]
        self._existing = {id(claim) for claim in self.remaining} - set(map(id, left))
        # If none of them exists now, it is not known which one is to blame.
        self.remaining = left if self._existing else []

    def attempt(self) -> None:
        """Judge the claims, and write those that fit. Raises if nothing was written."""
        if self.locks or not self._takes_turns or self._siblings is None:
            self._attempt()
            return
        with self._siblings.claim_turn.hold(seconds_max=TURN_SECONDS_MAX) as has_turn:
            # Whoever catches up in its turn loses no race to a sibling. Whoever has it for so long
            # waits for locks of the database, where this one can wait too.
            self.locks = not has_turn
            self._attempt()

    def _attempt(self) -> None:
        state = self._read_state()
        if state is None:
            return
        # Renaming a custom class moves no generation, so the tables must confirm its name.
        custom = {name for name, id in state.class_ids.items() if not is_standard_class(id)}
        if not (self.locks or self._is_large or custom) and self._roost.store.writes_at_once:
            judged = self._judge(state)
            references = self._known_references(judged)
            if references is not None:
                if judged.accepted:
                    self._roost.write_at_once(
                        judged.rows(references, self._settings), judged.record()
                    )
                    self._count_written(judged)
                return
        judged = self._roost.attempt(lambda tx: self._write(tx, state, custom))
        self._count_written(judged)

    def _read_state(self) -> IndexedState | None:
        # Nothing of the index itself is kept: a write would have to copy what it changes.
        names = named_providers(self.remaining)
        if len(names) <= READ_AT_ONCE_MAX:
            return self._roost.read_recent(lambda index: read_state(index, names))
        index = self._roost.recent_index(allow_stale=False)
        return None if index is None else read_state(index, names)

    @property
    def _settings(self) -> Settings:
        return self._roost.settings

    def _write(
        self,
        tx: Transaction,
        state: IndexedState,
        custom: Collection[str],
    ) -> Judged:
        if self.locks:
            generations = tx.providers.lock_generations(
                [each.state.id for each in state.providers.values()]
            )
            providers = advance_snapshots(tx, state.providers, state.position, generations)
            state = msgspec.structs.replace(state, providers=providers)
        if custom:
            found = tx.classes.ids(custom)
            if any(found[name] != state.class_ids[name] for name in custom):
                raise LostRace("a resource class was renamed")
        judged = self._judge(state)
        if judged.accepted:
            names = self._reference_names(judged)
            references = tx.consumers.references(**names)
            tx.write_new_claims(judged.rows(references, self._settings), judged.record())
        return judged

    def _judge(self, state: IndexedState) -> Judged:
        judged = judge(self.remaining, state)
        accepted = set(map(id, judged.accepted))
        self._without_room = {id(claim) for claim in self.remaining} - accepted
        return judged

    def _count_written(self, judged: Judged) -> None:
        self._written.update(map(id, judged.accepted))
        if judged.accepted:
            self._record(is_lost=False)
            metrics.CLAIMS_PER_COMMIT.observe(len(judged.accepted))

    def _known_references(self, judged: Judged) -> References | None:
        return self._roost.store.known_references(**self._reference_names(judged))

    def _reference_names(self, judged: Judged) -> dict[str, set[str]]:
        projects, users, types = set(), set(), set()
        settings = self._roost.settings
        for claim in judged.accepted:
            for change in claim:
                project, user = owner_names(change, settings)
                projects.add(project)
                users.add(user)
                if change.consumer_type is not None:
                    types.add(change.consumer_type)
        return {"projects": projects, "users": users, "types": types}
