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
        self._following = Lock()  # one thread at a time asks the feed; others read meanwhile
        self._still = Lock()  # held while the index is read, and while it moves
        self._index: Index | None = None
        self._position: Position = {}
        self._begun = 0  # how often catching up has begun
        self._done = 0  # the last of these that is done

    @contextmanager
    def view(self) -> Iterator[Index]:
        """The index as of now, and still while it is being read.

        Everything that was acknowledged before the call, by any process, is in it.
        """
        arrived = self._begun
        with self._following:
            # Who waited here may find that another thread has begun after it came, and is done.
            if self._done <= arrived:
                self._begun += 1
                self._catch_up()
                self._done = self._begun
        with self._still:
            assert self._index is not None
            yield self._index

    def _catch_up(self) -> None:
        if self._index is not None:
            news = self.store.changes_since(self._position)
            if news is not None:
                position, changes = news
                with self._still:
                    if changes:
                        advance(self._index, changes)
                    self._position = position
                return
            LOG.warning("the change feed has moved on without this process: loading the index anew")
        position, index = self._load()
        with self._still:
            self._index, self._position = index, position

    def _load(self) -> tuple[Position, Index]:
        # What is loaded stays. The garbage collector need not look at it while it comes in, nor
        # again and again later: with a large cloud that would stop requests for a second.
        gc.disable()
        try:
            position, rows = self.store.load()
            index = Index.build(rows)
            del rows
        finally:
            gc.enable()
        gc.freeze()
        LOG.info("index loaded: %d providers", index.live_count)
        return position, index

    def close(self) -> None:
        self.store.dispose()
