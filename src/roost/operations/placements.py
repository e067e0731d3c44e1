"""POST /placements: choose and claim in one call, for one or many consumers."""

import logging
import time
from collections.abc import Sequence
from random import Random

from roost.errors import (
    CapacityExceeded,
    ConcurrentUpdate,
    Conflict,
    ConstraintViolated,
    KeyReused,
    MissingInventory,
    UnknownProvider,
)
from roost.model import Candidate, ConsumerChange, NewConsumer, Placed
from roost.observe import metrics
from roost.operations.allocations import replace_holdings
from roost.operations.optimistic import Sight, decide
from roost.operations.placement_candidates import Key, PlacementRequest, propose
from roost.service.service import Roost
from roost.store.tables.idempotency import StoredPlacement
from roost.store.transaction import Transaction

LOG = logging.getLogger(__name__)

# How often others may be quicker, before the client is told so.
ATTEMPTS_MAX = 16
SECONDS_MAX = 10.0

# Somebody else took, or changed, what was chosen.
_LOST = (
    CapacityExceeded,
    MissingInventory,
    ConstraintViolated,
    UnknownProvider,
    ConcurrentUpdate,
)


def place(roost: Roost, *, wish: PlacementRequest) -> tuple[Placed, ...]:
    """Give every consumer a place, or none of them.

    The index proposes, as it does for a search; the transaction decides, as it does for a claim.
    Who loses a race looks again, at an index that has caught up with the winner.
    """
    kept = _recall(roost, wish.key)
    if kept is not None:
        return kept
    random = Random()
    deadline = time.monotonic() + SECONDS_MAX
    for attempt in range(ATTEMPTS_MAX):
        if attempt and time.monotonic() > deadline:
            break
        try:
            chosen = propose(roost, wish, attempt, random)
            return _claim(roost, wish, chosen)
        except _LOST as error:
            LOG.debug("lost a race for a place, attempt %d: %s", attempt + 1, error)
            metrics.RETRY_PLACEMENT.inc()
        except Conflict:
            # Refused because the very same request, sent twice, has just been served?
            kept = _recall(roost, wish.key)
            if kept is not None:
                return kept
            raise
    raise ConcurrentUpdate("Others were quicker again and again. Please retry your request")


def _recall(roost: Roost, key: Key | None) -> tuple[Placed, ...] | None:
    kept = None if key is None else roost.store.stored_placement(key.key_digest)
    return None if key is None or kept is None else _same(kept, key)


def _same(kept: StoredPlacement, key: Key) -> tuple[Placed, ...]:
    if kept.body_digest != key.body_digest:
        raise KeyReused()
    return kept.placed


# ---------------------------------------------------------------------------------------------
# Claiming


def _claim(roost: Roost, wish: PlacementRequest, chosen: Sequence[Candidate]) -> tuple[Placed, ...]:
    pairs = list(zip(wish.consumers, chosen, strict=True))
    placed = tuple(Placed(consumer_uuid=who.uuid, candidate=what) for who, what in pairs)
    changes = [_change(who, what) for who, what in pairs]
    key = wish.key

    def unit(tx: Transaction, sight: Sight) -> tuple[Placed, ...]:
        # First of all: if it was answered before, its consumers are no longer new.
        kept = None if key is None else tx.idempotency_keys.read(key.key_digest)
        if key is not None and kept is not None:
            return _same(kept, key)
        replace_holdings(tx, sight, changes, roost.settings)
        if key is not None:
            tx.idempotency_keys.add(key.key_digest, key.body_digest, placed)
        return placed

    return decide(
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
