"""Apache with mod_wsgi, in a folder of its own."""

import os
import shutil
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from tests.support.database_servers import missing
from tests.support.service_process import ServiceProcess

MODULES = Path("/usr/lib/apache2/modules")
LOADED = ("mpm_event", "authz_core", "env", "setenvif", "proxy", "proxy_uwsgi")
# Apache refuses to run as root, and mod_wsgi, too.
USER = "www-data"


def apache_program() -> str:
    found = shutil.which("apache2", path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        missing("Apache", "apache2-bin")
    assert found is not None
    return found


def wsgi_module() -> Path:
    """mod_wsgi as pip builds it, for the Python of the tests; Debian's is for Debian's Python."""
    spec = find_spec("mod_wsgi")
    if spec is None:
        missing("mod_wsgi", "apache2-dev, then run scripts/test again")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    [found] = Path(spec.submodule_search_locations[0]).glob("**/mod_wsgi*.so")
    return found


class ApacheServer(ServiceProcess):
    """Apache with the part of its configuration that belongs to a site."""

    def __init__(
        self,
        folder: Path,
        site: str,
        *,
        environment: Mapping[str, str],
        is_ready: Callable[[], bool],
    ) -> None:
        configuration = folder / "apache.conf"
        modules = (f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in LOADED)
        configuration.write_text(
            "\n".join(
                [
                    f"ServerRoot {folder}",
                    "ServerName localhost",
                    f"DefaultRuntimeDir {folder}",
                    f"PidFile {folder}/apache.pid",
                    f"ErrorLog {folder}/apache-error.log",
                    *modules,
                    f"LoadModule wsgi_module {wsgi_module()}",
                    f"WSGISocketPrefix {folder}/wsgi",
                    site,
                ]
            )
        )
        super().__init__(
            [*_as_user(), apache_program(), "-DFOREGROUND", "-f", str(configuration)],
            environment=environment,
            output_path=folder / "apache.log",
            is_ready=is_ready,
        )
        self._error_log = folder / "apache-error.log"

    @property
    def output(self) -> str:
        errors = self._error_log.read_text(errors="replace") if self._error_log.exists() else ""
        return super().output + errors


def _as_user() -> list[str]:
    """If the tests run as root: another user, who may still read the folders of root."""
    if os.geteuid() != 0:
        return []
    return [
        *("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"),
        *("--inh-caps=+dac_override", "--ambient-caps=+dac_override"),
    ]
