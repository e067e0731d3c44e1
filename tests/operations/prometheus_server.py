"""Prometheus as `deploy/prometheus` configures it, collecting from a running roost."""

import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

import httpx

from tests.support.database_servers import free_port, missing
from tests.support.service_process import ServiceProcess

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "prometheus"
# A test cannot wait for a quarter of a minute.
INTERVAL = "1s"
# Between two collections and two evaluations there is at least one of each.
WAIT_SECONDS_MAX = 30


class Prometheus(ServiceProcess):
    """Collects every second from one address."""

    def __init__(self, target_port: int, folder: Path) -> None:
        program = shutil.which("prometheus")
        if program is None:
            missing("Prometheus", "prometheus")
        port = free_port()
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=10)
        shutil.copytree(CONFIGURATION, folder, dirs_exist_ok=True)
        main = folder / "prometheus.yml"
        text = main.read_text().replace("127.0.0.1:8778", f"127.0.0.1:{target_port}")
        main.write_text(re.sub(r"_interval: \S+", f"_interval: {INTERVAL}", text))
        super().__init__(
            [
                str(program),
                f"--config.file={main}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            environment=os.environ,
            output_path=folder / "log",
            is_ready=lambda: httpx.get(f"http://127.0.0.1:{port}/-/ready").status_code == 200,
        )

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The result of an expression now."""
        answer = self._http.get("/query", params={"query": expression})
        assert answer.status_code == 200, f"{expression}: {answer.text}"
        data = answer.json()["data"]
        assert data["resultType"] == "vector"
        result: list[dict[str, Any]] = data["result"]
        return result

    def wait_for(self, expression: str) -> None:
        """Wait until an expression has a result."""
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while not self.query(expression):
            assert time.monotonic() < deadline, f"no result: {expression}"
            time.sleep(0.2)

    def rules(self) -> list[dict[str, Any]]:
        """Every rule, with its state."""
        groups = self._http.get("/rules").json()["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def names(self) -> set[str]:
        """The names of all series."""
        return set(self._http.get("/label/__name__/values").json()["data"])
