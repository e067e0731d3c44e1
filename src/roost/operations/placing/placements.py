"""Placements: choose candidates and claim them in one call, for one or many consumers."""

import logging
from collections.abc import Sequence

from roost.errors import (
    CapacityExceeded,
    ConcurrentUpdate,
    Conflict,
    ConstraintViolated,
    KeyReused,
    MissingInventory,
    SearchTooHard,
    UnknownProvider,
)
from roost.model import Candidate, ConsumerChange, NewConsumer, Placed
from roost.observe import metrics
from roost.operations.allocations import check_holds, claim
from roost.operations.claiming.claim import Outcome, claim_new
from roost.operations.optimistic import write
from roost.operations.placing.candidates import (
    IdempotencyKey,
    PlacementRequest,
    choose_candidates,
)
from roost.operations.randomness import RANDOM
from roost.operations.state_readers import StateReader
from roost.service.service import Roost
from roost.store.tables.idempotency import StoredPlacement
from roost.store.transaction import Transaction

LOG = logging.getLogger(__name__)

# How many races a request may lose before its client is told to try again.
ATTEMPTS_MAX = 16

# Another writer took, or changed, what this request had chosen.
_LOST_RACES = (
    CapacityExceeded,
    MissingInventory,
    ConstraintViolated,
    UnknownProvider,
    ConcurrentUpdate,
)


def place(roost: Roost, *, request: PlacementRequest) -> tuple[Placed, ...]:
    """Place every consumer, or none of them.

    The candidates come from the index, as those of a search; the transaction decides, as it does
    for a claim. A request that loses a race searches again: the index has then caught up with the
    winner. All attempts together have the budget of one search.
    """
    stored = _read_stored(roost, request.key)
    if stored is not None:
        return stored
    budget = roost.search_budget()
    for attempt in range(ATTEMPTS_MAX):
        if attempt and not budget.is_left:
            break
        try:
            chosen = choose_candidates(roost, request, attempt, RANDOM, budget)
            return _claim(roost, request, chosen)
        except SearchTooHard:
            if attempt:
                # There was a place until others took it.
                break
            raise
        except _LOST_RACES as error:
            LOG.debug("lost a race for a place, attempt %d: %s", attempt + 1, error)
            metrics.RETRY_PLACEMENT.inc()
        except Conflict:
            # The client may have sent the same request twice, and the other one was just served.
            stored = _read_stored(roost, request.key)
            if stored is not None:
                return stored
            raise
    raise ConcurrentUpdate("Others were quicker again and again. Please retry your request")


# ---------------------------------------------------------------------------------------------
# Idempotency keys


def _read_stored(roost: Roost, key: IdempotencyKey | None) -> tuple[Placed, ...] | None:
    """What an earlier request with the same key was answered."""
    stored = None if key is None else roost.store.stored_placement(key.key_digest)
    return None if key is None or stored is None else _verified(stored, key)


def _verified(stored: StoredPlacement, key: IdempotencyKey) -> tuple[Placed, ...]:
    if stored.body_digest != key.body_digest:
        raise KeyReused()
    return stored.placed


# ---------------------------------------------------------------------------------------------
# Claiming


def _claim(
    roost: Roost, request: PlacementRequest, chosen: Sequence[Candidate]
) -> tuple[Placed, ...]:
    pairs = list(zip(request.consumers, chosen, strict=True))
    placed = tuple(
        Placed(consumer_uuid=consumer.uuid, candidate=candidate) for consumer, candidate in pairs
    )
    changes = [_change(consumer, candidate) for consumer, candidate in pairs]
    key = request.key
    check_holds(roost, changes)
    if key is None:
        match claim_new(roost, changes):
            case Outcome.WRITTEN:
                return placed
            case Outcome.NO_ROOM:
                # Another claim of this process took it since the search.
                raise ConcurrentUpdate()

    def unit(tx: Transaction, state: StateReader) -> tuple[Placed, ...]:
        # Before anything else: if an earlier request was answered, its consumers exist by now.
        stored = None if key is None else tx.idempotency_keys.read(key.key_digest)
        if key is not None and stored is not None:
            return _verified(stored, key)
        claim(tx, state, changes, roost)
        if key is not None:
            tx.idempotency_keys.add(key.key_digest, key.body_digest, placed)
        return placed

    return write(
        roost,
        unit,
        providers={uuid: None for candidate in chosen for uuid in candidate.allocations},
        retry_count=roost.settings.allocation_conflict_retry_count,
    )


def _change(consumer: NewConsumer, candidate: Candidate) -> ConsumerChange:
    return ConsumerChange(
        consumer_uuid=consumer.uuid,
        allocations=candidate.allocations,
        project_id=consumer.project_id,
        user_id=consumer.user_id,
        consumer_type=consumer.consumer_type,
        checks_generation=True,
        expected_generation=None,
    )
