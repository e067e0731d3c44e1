"""Starts `fronted_application` as a process."""

import os
import sys
from pathlib import Path
from typing import Any

import httpx

from tests.support.database_servers import free_port
from tests.support.service_process import ServiceProcess


class FrontedServer(ServiceProcess):
    """The application of tests, behind the front or behind the server alone."""

    def __init__(self, folder: Path, *, interface: str = "front", threads: int = 4) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        module = "tests.hostile.fronted_application"
        super().__init__(
            [sys.executable, "-m", module, str(self.port), interface, str(threads)],
            environment=os.environ,
            output_path=folder / f"fronted-{self.port}.log",
            is_ready=lambda: httpx.get(f"{self.url}/counts", timeout=5).status_code == 200,
        )

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, headers={"x-auth-token": "neighbour"}, timeout=30)

    def counts(self) -> dict[str, Any]:
        """What the application has counted so far."""
        counted: dict[str, Any] = self.get("/counts").json()
        return counted
