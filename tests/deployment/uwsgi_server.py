"""roost under uwsgi, with the configuration in `deploy/`."""

import os
import re
import signal
import sys
from pathlib import Path

import httpx

from tests.support.database_servers import free_port
from tests.support.service_process import ServiceProcess

DEPLOY = Path(__file__).parents[2] / "deploy"
PREFIX = "/placement"
# Each of them takes a second of processor time to start.
PROCESSES = 3


def configuration(port: int, *, lazy: bool, prefix: str) -> str:
    """`deploy/uwsgi.ini`, adapted as an operator would do it."""
    text = (DEPLOY / "uwsgi.ini").read_text()
    text = _replaced(text, "127.0.0.1:8778", f"127.0.0.1:{port}")
    text = _replaced(text, "virtualenv = /opt/roost", f"virtualenv = {sys.prefix}")
    text = _replaced(text, "processes = 4", f"processes = {PROCESSES}")
    text = _replaced(text, "lazy-apps = false", f"lazy-apps = {str(lazy).lower()}")
    if prefix:
        text = _replaced(text, "module = ", "; module = ")
        text = _replaced(text, "; mount = ", "mount = ")
        text = _replaced(text, "; manage-script-name = ", "manage-script-name = ")
    return text


def _replaced(text: str, before: str, after: str) -> str:
    changed, count = re.subn(f"^(.*){re.escape(before)}", rf"\g<1>{after}", text, flags=re.M)
    assert count == 1, f"{before!r} is {count} times in deploy/uwsgi.ini"
    return changed


class UwsgiServer(ServiceProcess):
    """Starts uwsgi on a database that has its tables, and waits until it answers."""

    def __init__(
        self,
        database_url: str,
        folder: Path,
        *,
        lazy: bool = False,
        prefix: str = "",
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}{prefix}"
        ini = folder / f"uwsgi-{self.port}.ini"
        ini.write_text(configuration(self.port, lazy=lazy, prefix=prefix))
        super().__init__(
            [str(Path(sys.executable).parent / "uwsgi"), "--ini", str(ini)],
            environment={
                **os.environ,
                "OS_PLACEMENT_CONFIG_DIR": str(folder),
                "OS_PLACEMENT_DATABASE__CONNECTION": database_url,
                "OS_API__AUTH_STRATEGY": "noauth2",
            },
            output_path=folder / f"uwsgi-{self.port}.log",
            is_ready=self._all_answer,
        )
        # How often uwsgi logs that it has loaded the application.
        self._loads = PROCESSES if lazy else 1

    def _all_answer(self) -> bool:
        # A worker would miss a signal to stop while it loads the application.
        loaded = self.output.count("WSGI app 0 (mountpoint=") >= self._loads
        return loaded and httpx.get(f"{self.url}/", timeout=30).status_code == 200

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)
