"""Counting the write transactions of a service."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from roost.service.service import Roost


class Transactions:
    """Counts the write transactions of a service from its creation on."""

    def __init__(self, roost: Roost) -> None:
        self.count = 0
        self._database = roost.store._database
        self._write = self._database.write
        self._database.write = self._counted  # type: ignore[method-assign]

    @contextmanager
    def _counted(self) -> Iterator[Connection]:
        self.count += 1
        with self._write() as connection:
            yield connection
