"""`roost serve` with the console."""

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx

from tests.support.headers import HEADERS
from tests.support.roost_server import RoostServer


class ConsoleServer(RoostServer):
    """Serves the console besides the API, on a SQLite file in its folder."""

    def __init__(
        self,
        folder: Path,
        *,
        auth: str = "noauth2",
        config_file: Path | None = None,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.database = folder / "roost.db"
        super().__init__(
            f"sqlite:///{self.database}",
            folder,
            auth=auth,
            config_file=config_file,
            arguments=arguments,
            environment={"OS_ROOST__CONSOLE": "true", **(environment or {})},
        )
        self.console = f"{self.url}/console/"

    def client(self) -> httpx.Client:
        """Another client of the same service."""
        return httpx.Client(base_url=self.url, headers=HEADERS, timeout=60)

    def copy_database(self, path: Path) -> None:
        """Copy what is stored now, also while the service runs."""
        with (
            contextlib.closing(sqlite3.connect(self.database)) as source,
            contextlib.closing(sqlite3.connect(path)) as target,
        ):
            source.backup(target)

    def restart(self) -> None:
        """Stop the service and start it again at the same address, with the same database."""
        self.stop()
        self.start()

    def start(self) -> None:
        self.__enter__()
