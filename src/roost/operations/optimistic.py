"""The optimistic write loop: decide from the index, verify in the transaction, retry if it fails.

A write tries these strategies in order:

optimistic  (`IndexReader`) Decide from a snapshot of the index; the guard on generations verifies
            it. Legal where the index knows every provider of the write, and the client did not
            name another generation. Not worth trying while a provider is contended, since
            another writer would be faster.
locked      (`LockedIndexReader`) Lock the providers, bring the snapshot up to date from the change
            feed, decide. Legal in the same cases. Writers of a contended provider wait for each
            other at the lock, instead of failing at the guard one after the other.
tables      (`TableReader`) Lock the providers and read everything from the tables. Always legal,
            and the only strategy that may refuse the write: a refusal by the index may be stale.

A write that lost a race continues with the next strategy at once. The last one is retried with
pauses, as often as the configuration allows. Each strategy takes its snapshot before its
transaction begins: nothing inside a transaction waits for the index.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from roost.errors import RoostError, Unavailable
from roost.observe import metrics
from roost.operations.state_readers import (
    IndexReader,
    IndexSnapshot,
    LockedIndexReader,
    Needs,
    SnapshotInsufficient,
    StateReader,
    TableReader,
    take_snapshot,
)
from roost.service.service import Roost
from roost.store.connection.driver_errors import ConnectionLost, LostRace, RowExists
from roost.store.store import RETRY_COUNT_DEFAULT
from roost.store.transaction import Transaction

Result = TypeVar("Result")

# Provider UUID -> the generation that the client saw; None if it does not say.
Generations = Mapping[str, int | None]


class Unchanged(NamedTuple, Generic[Result]):
    """The result of a unit of work that found nothing to change, and so wrote no guard."""

    value: Result


ALL = Needs(inventories=True, traits=True)

Unit = Callable[[Transaction, StateReader], Result | Unchanged[Result]]


def write(
    roost: Roost,
    unit: Unit[Result],
    *,
    providers: Generations,
    needs: Needs = ALL,
    retry_count: int = RETRY_COUNT_DEFAULT,
) -> Result:
    """Run a unit of work that moves the generation of every provider it decides on.

    `needs` is what it may read of them.
    """
    with roost.contention.queue(providers):
        for strategy in _index_strategies(roost, providers):
            snapshot = _recent_snapshot(roost, providers, needs, allow_stale=not strategy.locks)
            if snapshot is None:
                break
            try:
                result = roost.attempt(
                    _decided_by(strategy, snapshot, unit), may_write_at_once=not strategy.locks
                )
            except SnapshotInsufficient:
                continue
            except RowExists:
                # Not a race for the providers: the client creates what exists.
                metrics.RETRY_PROPOSAL.inc()
                break
            except LostRace:
                (metrics.RETRY_RACE if strategy.locks else metrics.RETRY_PROPOSAL).inc()
                roost.contention.record_lost_race(providers)
                continue
            except ConnectionLost:
                metrics.RETRY_CONNECTION.inc()
                break
            except Unavailable:
                raise
            except RoostError:
                # Refused by the snapshot, which may be stale.
                metrics.RETRY_PROPOSAL.inc()
                break
            if not isinstance(result, Unchanged):
                return result
            # Nothing was written, so no guard has verified the snapshot.
            break
        return write_from_tables(roost, unit, retry_count=retry_count)


def write_from_tables(
    roost: Roost, unit: Unit[Result], *, retry_count: int = RETRY_COUNT_DEFAULT
) -> Result:
    """Run a unit of work on the tables alone, until it succeeds."""
    result = roost.run(lambda tx: unit(tx, TableReader(tx)), retry_count=retry_count)
    return result.value if isinstance(result, Unchanged) else result


def _index_strategies(roost: Roost, providers: Generations) -> Iterator[type[IndexReader]]:
    if not roost.contention.includes_any(providers):
        yield IndexReader
    yield LockedIndexReader


def _decided_by(
    strategy: type[IndexReader], snapshot: IndexSnapshot, unit: Unit[Result]
) -> Callable[[Transaction], Result | Unchanged[Result]]:
    return lambda tx: unit(tx, strategy(tx, snapshot))


def _recent_snapshot(
    roost: Roost, providers: Generations, needs: Needs, *, allow_stale: bool
) -> IndexSnapshot | None:
    """What the index contains of these providers; None where only the tables can tell."""
    # If the client saw the very generations that the index has, the index is not behind.
    if allow_stale and None not in providers.values():
        snapshot = _snapshot(roost, providers, needs, allow_stale=True)
        if snapshot is not None:
            return snapshot
    return _snapshot(roost, providers, needs, allow_stale=False)


def _snapshot(
    roost: Roost, providers: Generations, needs: Needs, *, allow_stale: bool
) -> IndexSnapshot | None:
    index = roost.recent_index(allow_stale=allow_stale)
    return None if index is None else take_snapshot(index, providers, needs)
