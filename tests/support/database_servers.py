"""Throw-away database servers.

Each server lives in its own temporary folder and listens on a free loopback port, so that a test
run needs no system service, no password and no clean-up by hand.
"""

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import pytest

from tests.support.service_process import free_port

# The kinds of database that roost supports, by the names of their fixtures.
DATABASES = ("sqlite", "postgresql", "mariadb")
# Those that are reached through a connection.
SERVERS = ("postgresql", "mariadb")

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 15


def missing(what: str, packages: str = "postgresql mariadb-server") -> None:
    """Report a missing server: as a failure in CI, as a skip on a developer's machine."""
    message = f"{what} is not installed; on Debian: apt-get install {packages}"
    if os.environ.get("CI") == "true":
        raise RuntimeError(message)
    pytest.skip(message, allow_module_level=True)


def database_name(url: str) -> str:
    return url.rpartition("/")[2]


class DatabaseServer:
    """What PostgreSQL and MariaDB share: a folder, a port, one process, many databases."""

    title: ClassVar[str]
    system_user: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]

    def __init__(self, *, durable: bool = False, parent_folder: Path | None = None) -> None:
        # Whether COMMIT waits for the disk, as it does in production. Tests do without.
        self.durable = durable
        self.port = 0
        self._parent_folder = parent_folder
        self._folder = Path()
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)

    # What each kind of server defines.

    def _find(self) -> None:
        """Find the programs, or report them as missing."""
        raise NotImplementedError

    def _create_command(self) -> list[str]:
        raise NotImplementedError

    def _serve_command(self) -> list[str]:
        raise NotImplementedError

    def _connect(self) -> Any:
        """A connection of the driver, with autocommit, to the server as its superuser."""
        raise NotImplementedError

    def _drop(self, cursor: Any, database_name: str) -> None:
        """Drop a database, and close the connections that would prevent it."""
        raise NotImplementedError

    def _disconnect(self, cursor: Any, database_name: str) -> None:
        raise NotImplementedError

    def url(self, database_name: str) -> str:
        raise NotImplementedError

    # What they share.

    def __enter__(self) -> Self:
        self._find()
        prefix = f"roost-{self.system_user}-"
        self._folder = Path(tempfile.mkdtemp(prefix=prefix, dir=self._parent_folder))
        try:
            if os.geteuid() == 0:
                owner = pwd.getpwnam(self.system_user)
                os.chown(self._folder, owner.pw_uid, owner.pw_gid)
            self._create()
            self.port = free_port()
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def create_database(self, options: str = "") -> str:
        """The URL of a fresh, empty database; `options` are those of the statement."""
        name = f"roost_{next(self._numbers)}_{uuid.uuid4().hex[:8]}"
        with self._cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name} {options}")
        return self.url(name)

    def drop_database(self, url: str) -> None:
        with self._cursor() as cursor:
            self._drop(cursor, database_name(url))

    def disconnect(self, url: str) -> None:
        """Close the connections to a database."""
        with self._cursor() as cursor:
            self._disconnect(cursor, database_name(url))

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[Any]:
        with contextlib.closing(self._connect()) as connection, connection.cursor() as cursor:
            yield cursor

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _as_system_user(self, command: list[str]) -> list[str]:
        # Neither server runs as root. The death signal ends a server whose test run was killed.
        user = self.system_user
        if os.geteuid() != 0:
            return command
        change = [f"--reuid={user}", f"--regid={user}", "--init-groups", "--pdeathsig=QUIT"]
        return ["setpriv", *change, *command]

    @property
    def _environment(self) -> dict[str, str]:
        # When MariaDB starts, it removes the temporary tables of whoever else uses the same folder.
        return {**os.environ, "TMPDIR": str(self._folder)}

    def _create(self) -> None:
        # The server's user may not enter the current directory, hence the folder.
        done = subprocess.run(
            self._as_system_user(self._create_command()),
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{self.title} could not be created:\n{done.stdout}")

    def _start(self) -> None:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._as_system_user(self._serve_command()),
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A Ctrl-C in the terminal is for pytest, which then stops the server itself.
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                self._connect().close()
                return
            except Exception as error:
                if self._process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.1)
                    continue
                output = self._log.read_text(errors="replace")
                raise RuntimeError(f"{self.title} did not start: {error}\n{output}") from error

    def _stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(self.stop_signal)
            try:
                self._process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
            self._process = None
        shutil.rmtree(self._folder, ignore_errors=True)


class PostgreSQL(DatabaseServer):
    title = "PostgreSQL"
    system_user = "postgres"
    # An immediate shutdown: the folder goes away, so nothing needs to be written.
    stop_signal = signal.SIGQUIT
    _disk_settings = ("fsync", "full_page_writes")

    def _find(self) -> None:
        # Debian keeps these programs off the PATH, one folder for each major version.
        found = sorted(
            Path("/usr/lib/postgresql").glob("*/bin/initdb"),
            key=lambda path: int(path.parts[-3]),
        )
        elsewhere = shutil.which("initdb")
        if found:
            self._programs = found[-1].parent
        elif elsewhere:
            self._programs = Path(elsewhere).resolve().parent
        else:
            missing(self.title)

    def _create_command(self) -> list[str]:
        options = ["--username=roost", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]
        return [str(self._programs / "initdb"), f"--pgdata={self._data}", "--no-sync", *options]

    def _serve_command(self) -> list[str]:
        settings = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            f"port={self.port}",
            "max_connections=200",
            "synchronous_commit=on",
            # Without these transactions stay real; only a power failure could lose one.
            *(f"{name}={'on' if self.durable else 'off'}" for name in self._disk_settings),
        ]
        options = [word for setting in settings for word in ("-c", setting)]
        return [str(self._programs / "postgres"), "-D", str(self._data), *options]

    def _connect(self) -> Any:
        import psycopg

        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="roost", dbname="postgres", autocommit=True
        )

    def _drop(self, cursor: Any, database_name: str) -> None:
        # In one statement: a thread of the test may still open connections.
        cursor.execute(f"DROP DATABASE {database_name} WITH (FORCE)")

    def _disconnect(self, cursor: Any, database_name: str) -> None:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [database_name],
        )

    def url(self, database_name: str) -> str:
        return f"postgresql+psycopg://roost@127.0.0.1:{self.port}/{database_name}"


class MariaDB(DatabaseServer):
    title = "MariaDB"
    system_user = "mysql"
    # The folder goes away, so nothing needs to be written.
    stop_signal = signal.SIGKILL

    def _find(self) -> None:
        # The server is in /usr/sbin, which is not on every user's PATH.
        path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
        server = shutil.which("mariadbd", path=path)
        installer = shutil.which("mariadb-install-db", path=path)
        if server is None or installer is None:
            missing(self.title)
        else:
            self._server, self._installer = server, installer

    def _create_command(self) -> list[str]:
        options = ["--skip-test-db", "--auth-root-authentication-method=normal"]
        return [self._installer, "--no-defaults", f"--datadir={self._data}", *options]

    def _serve_command(self) -> list[str]:
        return [
            self._server,
            "--no-defaults",
            f"--datadir={self._data}",
            f"--socket={self._folder / 'socket'}",
            f"--pid-file={self._folder / 'pid'}",
            # A server deletes the temporary tables in this folder when it starts.
            f"--tmpdir={self._folder}",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            "--max-connections=200",
            # As in Debian's own configuration, which --no-defaults leaves out.
            "--character-set-server=utf8mb4",
            "--collation-server=utf8mb4_general_ci",
            # Without it transactions stay real; only a power failure could lose one.
            f"--innodb-flush-log-at-trx-commit={int(self.durable)}",
            "--innodb-buffer-pool-size=64M",
        ]

    def _connect(self) -> Any:
        import pymysql

        return pymysql.connect(host="127.0.0.1", port=self.port, user="root", autocommit=True)

    def _drop(self, cursor: Any, database_name: str) -> None:
        self._disconnect(cursor, database_name)
        cursor.execute(f"DROP DATABASE {database_name}")

    def _disconnect(self, cursor: Any, database_name: str) -> None:
        cursor.execute(
            "SELECT id FROM information_schema.processlist WHERE db = %s", [database_name]
        )
        for (connection_id,) in cursor.fetchall():
            # The connection may have been closed in the meantime.
            with contextlib.suppress(Exception):
                cursor.execute(f"KILL {connection_id}")

    def url(self, database_name: str) -> str:
        return f"mysql+pymysql://root@127.0.0.1:{self.port}/{database_name}"
