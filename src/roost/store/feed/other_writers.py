"""Finds out which writers of other services have ended, and ends those that are silent for long."""

import logging
import threading
import time
from contextlib import suppress

from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import exc as sql

from roost.errors import Unavailable
from roost.store.connection.database import Database
from roost.store.connection.driver_errors import RETRYABLE, LostRace
from roost.store.feed.positions import FeedPosition
from roost.store.feed.registration import end_writer, read_ended, read_silent
from roost.store.feed.shared_positions import SharedPositions

LOG = logging.getLogger(__name__)

# How often to look for the end of writers that were there at the last look, too.
LOOK_SECONDS = 30.0


class OtherWriters:
    """What is known of writers that do not belong to this service."""

    def __init__(self, database: Database, shared: SharedPositions) -> None:
        self._database = database
        self._shared = shared
        self._lock = threading.Lock()
        self._looked_at = 0.0
        self._looked_for: frozenset[int] = frozenset()
        # They never write again, so this never becomes wrong.
        self.ended: frozenset[int] = frozenset()

    def note(self, answer: FeedPosition) -> None:
        """Find out more about those of an answer that may still write, in another thread."""
        others = frozenset(answer.keys() - self._shared.own_ids() - self.ended)
        is_due = time.monotonic() - self._looked_at >= LOOK_SECONDS
        if not others or (others <= self._looked_for and not is_due):
            return
        if self._lock.acquire(blocking=False):
            self._looked_for, self._looked_at = others, time.monotonic()
            threading.Thread(target=self._look_and_release, name="writers", daemon=True).start()

    def _look_and_release(self) -> None:
        try:
            self.look()
        except (*RETRYABLE, driver.DBError, sql.DBAPIError, sql.TimeoutError, Unavailable) as error:
            LOG.info("writers that are silent could not be ended: %s", error)
        finally:
            self._lock.release()

    def look(self) -> None:
        """End the writers that are silent, and learn who has ended."""
        own = self._shared.own_ids()
        replaced = self._shared.replaced.keys() - self.ended
        silent = self._database.read(lambda each: read_silent(each, own, replaced))
        for writer_id, sequence in silent:
            if sequence < self._shared.replaced.get(writer_id, 0):
                # A backup was restored. Whoever knows more of it learns that by its number.
                continue
            # It may have written something meanwhile, or somebody else has ended it.
            with suppress(LostRace), self._database.write() as connection:
                end_writer(connection, writer_id, sequence)
                connection.commit()
        self.ended = self._database.read(read_ended)
