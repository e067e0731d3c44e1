"""Holds: for a moment, claims and releases in a tree wait, so that a reshape of it wins."""

import logging
import time
import uuid as uuid_module

from roost.errors import HoldNotFound, HoldTooSoon
from roost.model import Value
from roost.observe import metrics
from roost.service.holds import NOTICE_SECONDS
from roost.service.service import Roost
from roost.store.transaction import Transaction

LOG = logging.getLogger(__name__)


class GrantedHold(Value, frozen=True, kw_only=True):
    """A hold that every process knows of."""

    id: str
    seconds: float  # from now on


def hold_tree(
    roost: Roost, *, provider_uuid: str, seconds: float, sender: str | None
) -> GrantedHold:
    """Hold the tree of a provider. Returns once all processes know of it."""
    index = roost.current_index()
    row = index.row(provider_uuid)
    root_uuid = index.root_uuid(row)
    root_id = index.ids[index.row(root_uuid)]
    position = index.position
    id = str(uuid_module.uuid4())
    seconds = min(seconds, roost.settings.hold_seconds_max)
    roost.holds.check_rest(root_uuid)

    def announce(tx: Transaction) -> None:
        # Two processes that are asked at the same time take turns at this lock, so the second one
        # finds the record of the first.
        tx.providers.lock(root_uuid)
        for record in tx.records_since(position):
            if any(held == root_id and other != id for other, held, _ in record.holds):
                raise HoldTooSoon(root_uuid, seconds)
        tx.changes.begin_hold(id, root_id, seconds + NOTICE_SECONDS)

    roost.run(announce)
    roost.holds.grant(id)
    time.sleep(NOTICE_SECONDS)
    roost.catch_up()
    rivals = [each.id for each in roost.holds.of([root_uuid]) if each.id < id]
    if rivals:
        # Nodes of Galera do not see each other's locks. All processes agree on whose id is smaller.
        _end(roost, id)
        raise HoldTooSoon(root_uuid, seconds)
    metrics.HOLDS.inc()
    LOG.info("tree %s is held for %g s, for %s: hold %s", root_uuid, seconds, sender, id)
    return GrantedHold(id=id, seconds=seconds)


def release_hold(roost: Roost, *, id: str) -> None:
    """End a hold before its time is over."""
    roost.catch_up()
    if not roost.holds.is_held(id):
        raise HoldNotFound(id)
    _end(roost, id)


def _end(roost: Roost, id: str) -> None:
    roost.run(lambda tx: tx.changes.end_holds([id]))
    roost.catch_up()
