"""Lets claims on a tree wait for the moment that it takes to write to it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from roost.client import ApiError, Client, ClientError

LOG = logging.getLogger(__name__)

EXTENSION = "holds"


class ClaimPause:
    """Asks the service to hold claims, if it is able to.

    Claims that are held wait and are not refused. It is a matter of speed alone: a write is right
    or refused by its generations, whether claims were held or not.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._holds_now = False

    @property
    def is_possible(self) -> bool:
        return EXTENSION in self._client.known_extensions

    @contextmanager
    def of_tree(self, root: str, seconds: float) -> Iterator[bool]:
        """Hold claims on a tree for at most so long. Says whether they are held."""
        if self._holds_now:
            yield True
            return
        held = self._hold(root, seconds)
        if held is None:
            yield False
            return
        self._holds_now = True
        try:
            yield True
        finally:
            self._holds_now = False
            self._release(held)

    def _hold(self, root: str, seconds: float) -> str | None:
        if not self.is_possible:
            return None
        try:
            return self._client.hold(tree=root, seconds=seconds).id
        except ApiError as error:
            # The policy may not allow it, or others hold it. It is tried without.
            LOG.info("claims on %s cannot be held: %s", root, error)
            return None

    def _release(self, held: str) -> None:
        try:
            self._client.release_hold(held)
        except ClientError as error:
            # A reshape ends it, and so does its time.
            LOG.debug("the hold %s is released by the service: %s", held, error)
