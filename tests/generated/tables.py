"""A digest of every table of Placement, read directly from the database."""

import hashlib
from types import TracebackType
from typing import Self

import sqlalchemy as sa
from sqlalchemy.engine import make_url

from roost.store.schema import PLACEMENT_TABLES


class Tables:
    """The tables of a database that another process serves."""

    def __init__(self, database_url: str) -> None:
        self._engine = sa.create_engine(make_url(database_url), isolation_level="AUTOCOMMIT")
        # SQLite counts the commits of other connections, so usually nothing has to be read.
        self._counts_commits = self._engine.dialect.name == "sqlite"
        self._commits = -1
        self._digest = ""

    def __enter__(self) -> Self:
        self._connection = self._engine.connect()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.close()
        self._engine.dispose()

    def digest(self) -> str:
        """The digest is equal for equal contents, whatever the order of the rows."""
        if self._counts_commits:
            commits = self._connection.exec_driver_sql("PRAGMA data_version").scalar_one()
            if commits == self._commits:
                return self._digest
            self._commits = commits
        digest = hashlib.sha256()
        for table in PLACEMENT_TABLES:
            rows = sorted(map(repr, self._connection.execute(sa.select(table))))
            digest.update("\n".join([table.name, *rows]).encode())
        self._digest = digest.hexdigest()
        return self._digest
