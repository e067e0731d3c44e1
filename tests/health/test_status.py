"""`roost status`: what is checked, and the exit codes of OpenStack's upgrade checks."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from roost.cli.main import roost
from roost.health.findings import FindingKind
from roost.store.connection.engine import create_engine
from tests.faults.galera import PROVIDER, Node
from tests.health.broken import BREAKS, make_cloud, write
from tests.keystone.stand_in import authtoken
from tests.support.database_servers import MariaDB, PostgreSQL, free_port, missing
from tests.support.roost_server import command

SECONDS_MAX = 60
KEYSTONE = authtoken("http://keystone:5000")


class Program:
    """Runs `roost status` with a configuration, and parses its outcomes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.configuration = folder / "placement.conf"
        self.configuration.write_text(KEYSTONE)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command("status", *arguments),
            env={**os.environ, "OS_PLACEMENT_CONFIG_DIR": str(self._folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )

    def results(self, url: str) -> tuple[int, dict[str, Any]]:
        """The exit code, and the result and detail of each check; runs in this process."""
        done = CliRunner().invoke(
            roost,
            ["status", "--json", "--database", url],
            env={"OS_PLACEMENT_CONFIG_DIR": str(self._folder)},
        )
        assert done.stderr == ""
        outcomes = json.loads(done.stdout)
        levels = {"success": 0, "warning": 1, "failure": 2}
        checks = {each["name"]: (each["result"], each["detail"]) for each in outcomes["checks"]}
        assert levels[outcomes["result"]] == max(levels[result] for result, _ in checks.values())
        return done.exit_code, checks


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'roost.db'}"


@pytest.fixture
def url(sqlite_url: str) -> str:
    make_cloud(sqlite_url).dispose()
    return sqlite_url


class TestSqlite:
    @pytest.mark.process
    def test_a_healthy_service_passes(self, program: Program, url: str) -> None:
        done = program.run("upgrade", "check", "--database", url)
        assert (done.returncode, done.stderr) == (0, "")
        assert "warning" not in done.stdout
        assert "failure" not in done.stdout
        assert "\x1b" not in done.stdout

    def test_noauth2_is_a_warning(self, program: Program, url: str) -> None:
        program.configuration.write_text("[api]\nauth_strategy = noauth2\n")
        code, checks = program.results(url)
        assert code == 1
        assert checks["authentication"][0] == "warning"

    def test_missing_tables_are_a_failure(self, program: Program, sqlite_url: str) -> None:
        path = Path(sqlite_url.removeprefix("sqlite:///"))
        code, checks = program.results(sqlite_url)
        assert code == 2
        assert "there is no database" in checks["database"][1]
        assert not path.exists()
        path.touch()
        code, checks = program.results(sqlite_url)
        assert code == 2
        assert checks["schema"] == ("failure", "no tables yet: run `roost db sync`")

    def test_a_database_that_is_not_adopted_is_a_failure(self, program: Program, url: str) -> None:
        engine = create_engine(url)
        write(engine, *(f"DROP TABLE roost_{name}" for name in ("changes", "writers")))
        write(engine, "DROP TABLE roost_alembic_version")
        engine.dispose()
        code, checks = program.results(url)
        assert code == 2
        assert "not adopted yet: run `roost db sync`" in checks["schema"][1]

    @pytest.mark.parametrize("table", ["alembic_version", "roost_alembic_version"])
    def test_newer_tables_are_a_failure(self, program: Program, url: str, table: str) -> None:
        engine = create_engine(url)
        write(engine, f"UPDATE {table} SET version_num = 'ffffffffffff'")
        engine.dispose()
        code, checks = program.results(url)
        assert code == 2
        assert "ffffffffffff" in checks["schema"][1]
        assert "newer" in checks["schema"][1]

    def test_missing_rows_are_a_warning(self, program: Program, url: str) -> None:
        engine = create_engine(url)
        write(engine, BREAKS[FindingKind.WRONG_ROOT][0], BREAKS[FindingKind.UNKNOWN_CONSUMER][0])
        engine.dispose()
        code, checks = program.results(url)
        assert code == 1
        assert checks["root providers"][0] == checks["consumers"][0] == "warning"
        assert checks["consumers"][1].startswith("1 hold something")

    def test_asynchronous_writes_are_a_warning(self, program: Program, url: str) -> None:
        program.configuration.write_text(
            f"{KEYSTONE}[placement_database]\nsqlite_synchronous = false\n"
        )
        assert program.results(url)[0] == 1

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ('{"placement:resource_providers:list": "role:admin"}', 2),
            ('"placement:resource_providers:list": "role:admin"\n', 0),
            ("[not a policy", 2),
        ],
        ids=["JSON", "YAML", "neither"],
    )
    def test_the_policy_file_is_checked(
        self, program: Program, url: str, text: str, code: int
    ) -> None:
        (program.configuration.parent / "policy.yaml").write_text(text)
        found, checks = program.results(url)
        assert found == code, checks
        assert "policy.yaml" in checks["policy"][1]


class TestBadInput:
    @pytest.mark.parametrize(
        "words", [["upgrade"], ["check"], ["upgrade", "check", "now"], ["--nonsense"]]
    )
    def test_bad_arguments_are_a_usage_error(self, words: list[str]) -> None:
        done = CliRunner().invoke(roost, ["status", *words])
        assert done.exit_code == 2
        assert done.stdout == ""

    @pytest.mark.process
    def test_an_invalid_configuration_is_one_line(self, program: Program) -> None:
        program.configuration.write_text("[api]\nauth_strategy = magic\n")
        done = program.run()
        assert done.returncode == 255
        assert len(done.stderr.strip().splitlines()) == 1

    @pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
    def test_an_unreachable_server_is_a_failure(self, program: Program, scheme: str) -> None:
        code, checks = program.results(f"{scheme}://someone:hunter2@127.0.0.1:{free_port()}/none")
        assert code == 2
        result, detail = checks["database"]
        assert result == "failure"
        assert "hunter2" not in detail

    def test_an_invalid_url_is_a_failure(self, program: Program) -> None:
        code, checks = program.results("nonsense")
        assert code == 2
        assert checks["database"][0] == "failure"


def test_settings_of_postgresql_are_checked(program: Program, postgresql: PostgreSQL) -> None:
    """The test server trades safety for speed, as no operator should."""
    url = postgresql.create_database()
    make_cloud(url).dispose()
    engine = create_engine(url)
    name = engine.url.database
    write(engine, f"ALTER DATABASE {name} SET synchronous_commit = off")
    engine.dispose()
    code, checks = program.results(url)
    assert code == 2
    results = {name: result for name, (result, _) in checks.items() if ":" in name}
    assert results == {
        "PostgreSQL: fsync": "failure",
        "PostgreSQL: full_page_writes": "failure",
        "PostgreSQL: synchronous_commit": "warning",
    }
    postgresql.drop_database(url)


def test_settings_of_mariadb_are_checked(program: Program, mariadb: MariaDB) -> None:
    url = mariadb.create_database()
    make_cloud(url).dispose()
    code, checks = program.results(url)
    assert code == 1
    results = {name: result for name, (result, _) in checks.items() if ":" in name}
    assert results == {"MariaDB: innodb_flush_log_at_trx_commit": "warning"}
    mariadb.drop_database(url)


@pytest.fixture(scope="module")
def galera() -> Iterator[Node]:
    """A cluster of one node."""
    if not os.path.exists(PROVIDER):
        missing("galera-4")
    node = Node(0)
    node._founds = True
    with node:
        node.wait_until_synced()
        yield node


class TestGalera:
    def settings_found(self, program: Program, url: str) -> tuple[int, dict[str, str]]:
        code, checks = program.results(url)
        found = {
            name.removeprefix("Galera: "): result
            for name, (result, _) in checks.items()
            if name.startswith("Galera")
        }
        # The test server has this setting, for speed.
        assert found.pop("innodb_flush_log_at_trx_commit") == "warning"
        return code, found

    def test_settings_of_galera_are_checked(self, program: Program, galera: Node) -> None:
        url = galera.create_database()
        make_cloud(url).dispose()
        assert self.settings_found(program, url) == (1, {})

        # Reads may be stale.
        program.configuration.write_text(
            f"{KEYSTONE}[placement_database]\nmysql_wsrep_sync_wait = 0\n"
        )
        assert self.settings_found(program, url) == (2, {"wsrep_sync_wait": "failure"})
        program.configuration.write_text(KEYSTONE)

        # A part of the cluster may continue without the others.
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for option in ("pc.ignore_sb", "pc.ignore_quorum"):
                connection.execute(sa.text(f"SET GLOBAL wsrep_provider_options = '{option}=true'"))
        found = self.settings_found(program, url)
        assert found == (2, {"pc.ignore_sb": "failure", "pc.ignore_quorum": "failure"})
        engine.dispose()
