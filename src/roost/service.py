"""Roost: the store and its index, opened once, and caught up before every answer."""

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from roost.search.advance import advance
from roost.search.index import Index
from roost.settings import Settings
from roost.store.feed import Position
from roost.store.store import Store

LOG = logging.getLogger(__name__)


class Roost:
    """What an operation works on. One for each process; any number of threads may use it."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self._lock = Lock()
        self._index: Index | None = None
        self._position: Position = {}

    @contextmanager
    def view(self) -> Iterator[Index]:
        """The index as of now, and still while it is being read.

        Everything that was acknowledged before the call, by any process, is in it.
        """
        with self._lock:
            yield self._caught_up()

    def _caught_up(self) -> Index:
        if self._index is not None:
            news = self.store.changes_since(self._position)
            if news is not None:
                self._position, changes = news
                if changes:
                    advance(self._index, changes)
                return self._index
            LOG.warning("the change feed has moved on without this process: loading the index anew")
        self._index = self._load()
        return self._index

    def _load(self) -> Index:
        # What is loaded stays. The garbage collector need not look at it while it comes in, nor
        # again and again later: with a large cloud that would stop requests for a second.
        gc.disable()
        try:
            self._position, rows = self.store.load()
            index = Index.build(rows)
            del rows
        finally:
            gc.enable()
        gc.freeze()
        LOG.info("index loaded: %d providers", index.live_count)
        return index

    def close(self) -> None:
        self.store.dispose()
