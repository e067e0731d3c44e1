"""`roost` on the command line: what an operator types, sees and sends."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from tests.support.database_servers import free_port
from tests.support.forked_process import run
from tests.support.headers import HEADERS
from tests.support.roost_server import RoostServer, command

SECONDS_MAX = 30
# Half of what the server waits for a worker that hangs.
STOP_SECONDS_MAX = 15


def roost(
    *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command until it ends."""
    return run(*arguments, environment=environment, timeout=SECONDS_MAX)


def assert_refused(done: subprocess.CompletedProcess[str], *, naming: str) -> None:
    """The command ended with one line that says what it tried, and no traceback."""
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert naming in lines[0]


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'roost.db'}"


class TestServe:
    def test_reports_its_address_and_its_database(self, sqlite_url: str, tmp_path: Path) -> None:
        with RoostServer(sqlite_url, tmp_path, program=command()) as server:
            assert server.url in server.output
            assert str(tmp_path / "roost.db") in server.output

    @pytest.mark.parametrize("is_on_path", [True, False])
    def test_says_which_command_talks_to_it(
        self, sqlite_url: str, tmp_path: Path, is_on_path: bool
    ) -> None:
        program = Path(sys.executable).parent / "roost"
        path = [str(program.parent)] if is_on_path else []
        environment = {"PATH": os.pathsep.join([*path, "/usr/bin", "/bin"])}
        server = RoostServer(sqlite_url, tmp_path, environment=environment, program=[str(program)])
        with server:
            [said] = re.findall(r"^  try +(.*)$", server.output, re.MULTILINE)
            assert said.split()[0] == ("roost" if is_on_path else str(program))
            done = subprocess.run(
                ["bash", "-c", f"{said} --json"],
                env={**os.environ, **environment},
                capture_output=True,
                text=True,
                timeout=SECONDS_MAX,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, "")

    def test_finishes_the_request_in_flight_on_sigterm(
        self, sqlite_url: str, tmp_path: Path
    ) -> None:
        body = b'{"name": "slow"}'
        head = (
            "POST /resource_providers HTTP/1.1\r\n"
            "host: localhost\r\n"
            "x-auth-token: admin\r\n"
            "openstack-api-version: placement 1.39\r\n"
            "content-type: application/json\r\n"
            f"content-length: {len(body)}\r\n"
            "\r\n"
        ).encode()
        with RoostServer(sqlite_url, tmp_path, program=command()) as server:
            address = ("127.0.0.1", server.port)
            with closing(socket.create_connection(address, SECONDS_MAX)) as connection:
                connection.sendall(head + body[:5])
                # The answer to a later request shows that the server has accepted the first one.
                httpx.get(server.url)
                server.process.send_signal(signal.SIGTERM)
                wait_until_refused(address)
                connection.sendall(body[5:])
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b'"slow"' in answer
            assert server.process.wait(SECONDS_MAX) == 0
        with RoostServer(sqlite_url, tmp_path, program=command()) as server:
            assert provider_names(server) == ["slow"]

    def test_ctrl_c_stops_the_parent_and_its_workers(self, sqlite_url: str, tmp_path: Path) -> None:
        """A terminal sends SIGINT to the whole group; workers must not hang until the timeout."""
        with RoostServer(sqlite_url, tmp_path, arguments=["--workers", "4"]) as server:
            for _ in range(20):
                httpx.get(f"{server.url}/resource_providers", headers=HEADERS)
            os.killpg(server.process.pid, signal.SIGINT)
            assert server.process.wait(STOP_SECONDS_MAX) == 0

    def test_keeps_data_across_restarts(self, database_url: str, tmp_path: Path) -> None:
        with RoostServer(database_url, tmp_path) as server:
            create_provider(server, "kept")
        with RoostServer(database_url, tmp_path) as server:
            assert provider_names(server) == ["kept"]

    @pytest.mark.parametrize("scheme", ["postgresql+psycopg", "mysql+pymysql"])
    def test_refuses_a_database_it_cannot_connect_to(self, scheme: str) -> None:
        port = free_port()
        url = f"{scheme}://someone:hunter2@127.0.0.1:{port}/nothing"
        done = roost("serve", "--port", str(free_port()), "--database", url)
        assert_refused(done, naming=f"127.0.0.1:{port}")
        assert "hunter2" not in done.stdout + done.stderr

    def test_refuses_a_database_file_it_cannot_create(self, tmp_path: Path) -> None:
        path = tmp_path / "no" / "such" / "folder" / "roost.db"
        done = roost("serve", "--port", str(free_port()), "--database", f"sqlite:///{path}")
        assert_refused(done, naming=str(path))

    def test_refuses_an_invalid_database_url(self) -> None:
        done = roost("serve", "--port", str(free_port()), "--database", "nonsense")
        assert_refused(done, naming="nonsense")

    def test_refuses_a_port_in_use(self, sqlite_url: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            done = roost(
                "serve",
                *("--host", "127.0.0.1", "--port", str(port), "--database", sqlite_url),
            )
        assert_refused(done, naming=f"127.0.0.1:{port}")

    def test_refuses_noauth2_on_a_public_address(self, sqlite_url: str) -> None:
        arguments = ("serve", "--host", "0.0.0.0", "--auth", "noauth2", "--database", sqlite_url)
        allowed = "--allow-remote-noauth2 or [roost]allow_remote_noauth2 allows it"
        assert_refused(roost(*arguments), naming=allowed)

    def test_refuses_keystone_without_its_settings(self, tmp_path: Path) -> None:
        database = f"sqlite:///{tmp_path / 'roost.db'}"
        done = roost("serve", "--auth", "keystone", "--database", database)
        assert_refused(done, naming="set auth_type")

    def test_refuses_a_missing_config_file(self, tmp_path: Path) -> None:
        path = tmp_path / "missing.conf"
        done = roost("serve", "--port", str(free_port()), "--config-file", str(path))
        assert done.returncode != 0
        assert str(path) in done.stderr
        assert "Traceback" not in done.stderr


class TestConfiguration:
    """The database is set by a file, the environment or an option; the later one wins."""

    def write(self, path: Path, database: Path) -> None:
        path.write_text(f"[placement_database]\nconnection = sqlite:///{database}\n")

    def test_from_the_configuration_folder(self, tmp_path: Path) -> None:
        database = tmp_path / "from-folder.db"
        self.write(tmp_path / "placement.conf", database)
        environment = {"OS_PLACEMENT_CONFIG_DIR": str(tmp_path)}
        with RoostServer(None, tmp_path, environment=environment) as server:
            create_provider(server, "one")
        assert stored_names(database) == ["one"]

    def test_from_a_named_file(self, tmp_path: Path) -> None:
        database = tmp_path / "from-file.db"
        path = tmp_path / "other.conf"
        self.write(path, database)
        with RoostServer(None, tmp_path, config_file=path) as server:
            create_provider(server, "one")
        assert stored_names(database) == ["one"]

    def test_the_environment_overrides_the_file(self, tmp_path: Path) -> None:
        self.write(tmp_path / "placement.conf", tmp_path / "from-folder.db")
        database = tmp_path / "from-environment.db"
        environment = {
            "OS_PLACEMENT_CONFIG_DIR": str(tmp_path),
            "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{database}",
        }
        with RoostServer(None, tmp_path, environment=environment) as server:
            create_provider(server, "one")
        assert stored_names(database) == ["one"]
        assert not (tmp_path / "from-folder.db").exists()

    def test_the_option_overrides_the_environment(self, tmp_path: Path) -> None:
        database = tmp_path / "from-option.db"
        environment = {
            "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{tmp_path / 'from-environment.db'}"
        }
        url = f"sqlite:///{database}"
        with RoostServer(url, tmp_path, environment=environment) as server:
            create_provider(server, "one")
        assert stored_names(database) == ["one"]
        assert not (tmp_path / "from-environment.db").exists()


class TestCommands:
    def test_version(self) -> None:
        done = roost("--version")
        assert done.returncode == 0
        assert re.search(r"\d+\.\d+\.\d+", done.stdout)

    def test_the_installed_program_is_the_same_as_the_module(self) -> None:
        program = Path(sys.executable).parent / "roost"
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        module = subprocess.run(command("--version"), capture_output=True, text=True, check=True)
        assert done.stdout == module.stdout

    @pytest.mark.parametrize(
        "arguments", [["--nonsense"], ["serve", "--nonsense"], ["nonsense"]], ids=" ".join
    )
    def test_unknown_options_and_commands_are_usage_errors(self, arguments: list[str]) -> None:
        done = roost(*arguments)
        assert done.returncode == 2
        assert "nonsense" in done.stderr
        assert "Traceback" not in done.stderr

    def test_a_second_db_sync_changes_nothing(self, database_url: str) -> None:
        first = roost("db", "sync", "--database", database_url)
        assert first.returncode == 0, first.stderr
        once = row_counts(database_url)
        second = roost("db", "sync", "--database", database_url)
        assert second.returncode == 0, second.stderr
        assert row_counts(database_url) == once
        assert once["traits"] > 0
        assert once["resource_classes"] > 0

    def test_db_version_is_the_same_on_every_run(self, database_url: str) -> None:
        roost("db", "sync", "--database", database_url)
        first = roost("db", "version", "--database", database_url)
        second = roost("db", "version", "--database", database_url)
        assert first.returncode == 0, first.stderr
        assert first.stdout.strip()
        assert first.stdout == second.stdout


def create_provider(server: RoostServer, name: str) -> None:
    httpx.post(
        f"{server.url}/resource_providers", headers=HEADERS, json={"name": name}
    ).raise_for_status()


def provider_names(server: RoostServer) -> list[str]:
    answer = httpx.get(f"{server.url}/resource_providers", headers=HEADERS)
    return [provider["name"] for provider in answer.json()["resource_providers"]]


def stored_names(database: Path) -> list[str]:
    engine = sa.create_engine(f"sqlite:///{database}")
    with engine.connect() as connection:
        names = list(connection.scalars(sa.text("SELECT name FROM resource_providers")))
    engine.dispose()
    return names


def row_counts(database_url: str) -> dict[str, int]:
    engine = sa.create_engine(database_url)
    with engine.connect() as connection:
        counts = {
            name: connection.scalar(sa.select(sa.func.count()).select_from(sa.table(name))) or 0
            for name in sa.inspect(engine).get_table_names()
        }
    engine.dispose()
    return counts


def wait_until_refused(address: tuple[str, int]) -> None:
    """The server has received the signal once it accepts no more connections."""
    for _ in range(SECONDS_MAX * 10):
        try:
            socket.create_connection(address, 1).close()
        except OSError:
            return
        time.sleep(0.1)
    raise AssertionError("the server still takes connections after SIGTERM")
