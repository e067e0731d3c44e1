"""A machine on which a deployment tool installs the service: its files, commands and servers."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx

from tests.deployment.apache_server import ApacheServer
from tests.keystone.stand_in import PASSWORD, Keystone
from tests.support.database_servers import free_port
from tests.support.installation import Installation
from tests.support.service_process import ServiceProcess

# Each of them takes a second of processor time to start.
PROCESSES = 2


class Machine:
    """The installation, with a configuration folder, a database and a Keystone."""

    def __init__(
        self, installation: Installation, folder: Path, database_url: str, keystone: Keystone
    ) -> None:
        self.installation = installation
        self.folder = folder
        self.database_url = database_url
        self.keystone = keystone
        self.port = free_port()
        self.etc = folder / "etc"
        self.etc.mkdir()
        # Tools write to /etc/placement, where this variable points to without being set.
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "PATH": f"{installation.bin}:{os.environ['PATH']}",
            "OS_PLACEMENT_CONFIG_DIR": str(self.etc),
        }

    # The files.

    def configure(self, sections: Mapping[str, Mapping[str, object]], name: str = "") -> None:
        """Write placement.conf, or the file of this name in placement.conf.d."""
        path = self.etc / "placement.conf.d" / name if name else self.etc / "placement.conf"
        path.parent.mkdir(exist_ok=True)
        path.write_text(ini(sections))

    @property
    def database(self) -> dict[str, object]:
        return {"connection": self.database_url}

    @property
    def authtoken(self) -> dict[str, object]:
        """What tools write to [keystone_authtoken], with the addresses of this machine."""
        return {
            "www_authenticate_uri": self.keystone.url,
            "auth_url": self.keystone.url,
            "auth_type": "password",
            "project_domain_name": "Default",
            "user_domain_name": "Default",
            "project_name": "service",
            "username": "placement",
            "password": PASSWORD,
        }

    # The commands.

    def run(self, line: str) -> str:
        """Run a command line of a tool, which has to succeed, and return what it prints."""
        done = subprocess.run(
            ["bash", "-c", line],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    # The servers.

    def uwsgi(self, *arguments: str) -> ServiceProcess:
        # The one of the tests, in the virtual environment of the installation.
        program = str(Path(sys.executable).parent / "uwsgi")
        return ServiceProcess(
            [program, "--virtualenv", str(self.installation.folder), *arguments],
            environment=self.environment,
            output_path=self.folder / "uwsgi.log",
            is_ready=lambda: self._uwsgi_is_ready(self.folder / "uwsgi.log"),
        )

    def uwsgi_ini(self, options: Mapping[str, object]) -> ServiceProcess:
        path = self.etc / "placement-api-uwsgi.ini"
        path.write_text(ini({"uwsgi": {"processes": PROCESSES, "master": "true", **options}}))
        return self.uwsgi("--ini", str(path))

    def _uwsgi_is_ready(self, log: Path) -> bool:
        # A worker would miss a signal to stop while it loads the application.
        return log.read_text().count("WSGI app 0 (mountpoint=") >= 1

    def apache(self, site: str, url: str | None = None) -> ApacheServer:
        return ApacheServer(
            self.folder,
            site,
            environment=self.environment,
            is_ready=self.answers(url or f"http://127.0.0.1:{self.port}"),
        )

    def answers(self, url: str) -> Callable[[], bool]:
        return lambda: httpx.get(url, timeout=30).status_code == 200


def ini(sections: Mapping[str, Mapping[str, object]]) -> str:
    return "".join(
        f"[{section}]\n" + "".join(f"{name} = {value}\n" for name, value in options.items()) + "\n"
        for section, options in sections.items()
    )
