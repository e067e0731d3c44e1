"""Counting the write transactions of a service."""

from collections.abc import Iterator
from contextlib import contextmanager

from roost.service.service import Roost
from roost.store.connection.database import LateTransaction


class Transactions:
    """Counts the write transactions of a service from its creation on."""

    def __init__(self, roost: Roost) -> None:
        self.count = 0
        self._database = roost.store._database
        self._write_late = self._database.write_late
        self._database.write_late = self._counted  # type: ignore[method-assign]

    @contextmanager
    def _counted(self) -> Iterator[LateTransaction]:
        self.count += 1
        with self._write_late() as late:
            yield late
