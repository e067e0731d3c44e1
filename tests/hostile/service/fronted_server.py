"""Starts `fronted_application` as a process."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import BinaryIO

import httpx

from tests.hostile.service import raw_http
from tests.support.database_servers import free_port
from tests.support.forked_process import start_service
from tests.support.service_process import Process, ServiceProcess

MODULE = "tests.hostile.service.fronted_application"


class FrontedServer(ServiceProcess):
    """The application of tests, behind the front."""

    def __init__(
        self,
        folder: Path,
        *,
        threads: int = 4,
        stalled_seconds_max: float = 30,
    ) -> None:
        self.port = free_port()
        self._arguments = [str(each) for each in (self.port, threads, stalled_seconds_max)]
        super().__init__(
            [MODULE, *self._arguments],
            environment=os.environ,
            output_path=folder / f"fronted-{self.port}.log",
            is_ready=lambda: httpx.get(f"http://127.0.0.1:{self.port}/counts").status_code == 200,
        )

    def _start(self, output: BinaryIO) -> Process:
        return start_service(
            self._arguments, environment=self._environment, output=output, module=MODULE
        )

    def get(self, path: str) -> bytes:
        """What a neighbour is answered."""
        request = raw_http.head("GET", path, "x-auth-token: neighbour")
        status, body = raw_http.ask(self.port, request)
        assert status == 200
        return body

    def counts(self) -> Counter[str]:
        """What the application has counted so far."""
        return Counter(json.loads(self.get("/counts")))

    @property
    def threads(self) -> int:
        """How many threads work on requests."""
        return int(json.loads(self.get("/threads"))["requests"])
