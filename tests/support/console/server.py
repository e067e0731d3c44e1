"""`roost serve` with the console."""

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
        super().__init__(
            f"sqlite:///{folder / 'roost.db'}",
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

    def restart(self) -> None:
        """Stop the service and start it again at the same address, with the same database."""
        self.stop()
        self.start()

    def start(self) -> None:
        self.__enter__()
