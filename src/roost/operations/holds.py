"""Holds: for a moment, claims and releases in a tree wait, so that a reshape of it wins."""

import logging
import time
import uuid as uuid_module

from roost.errors import HoldNotFound, HoldTooSoon
from roost.model import Value
from roost.observe import metrics
from roost.service.holds import NOTICE_SECONDS
from roost.service.service import Roost

LOG = logging.getLogger(__name__)


class GrantedHold(Value, frozen=True, kw_only=True):
    """A hold that every process knows of."""

    id: str
    seconds: float  # from now on


def hold_tree(
    roost: Roost, *, provider_uuid: str, seconds: float, sender: str | None
) -> GrantedHold:
    """Hold the tree of a provider. Returns once all processes know of it."""
    with roost.current_index() as index:
        row = index.row(provider_uuid)
        root_uuid = index.root_uuid(row)
        root_id = index.ids[index.row(root_uuid)]
    id = str(uuid_module.uuid4())
    seconds = min(seconds, roost.settings.hold_seconds_max)
    roost.holds.grant(id, root_uuid)
    roost.run(lambda tx: tx.changes.begin_hold(id, root_id, seconds + NOTICE_SECONDS))
    time.sleep(NOTICE_SECONDS)
    roost.catch_up()
    rivals = [each.id for each in roost.holds.of([root_uuid]) if each.id < id]
    if rivals:
        # Two processes were asked at the same time. All of them agree on who came first.
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
