"""`roost agent migrate` on databases that cannot be used: one line, and nothing is created."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.client import Consumer, direct
from tests.support.cli_runner import CommandLine, roost
from tests.support.database_servers import MariaDB, PostgreSQL, free_port
from tests.support.names import uid

FILE = "providers:\n  - {name: pool, inventories: {DISK_GB: {total: 100}}}\n"


@pytest.fixture
def migrate(tmp_path: Path) -> Callable[..., str]:
    path = tmp_path / "pools.yaml"
    path.write_text(FILE)
    words = ("agent", "migrate", "--offline", "--driver", "file", "-o", f"path={path}")

    def run(url: str, status: int) -> str:
        line = CommandLine("").refused(*words, "--database", url, status=status)
        # Nothing but the description, which was there before.
        assert [each.name for each in tmp_path.iterdir() if each.suffix != ".db"] == [path.name]
        return line

    return run


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "it is not a URL"),
        ("oracle://host/placement", "roost knows no database oracle"),
        ("mysql+nobody://host/placement", "roost knows no driver nobody"),
        ("sqlite://", "roost needs a SQLite file"),
        ("", "expected the URL of a database"),
    ],
)
def test_a_url_that_is_none(migrate: Callable[..., str], url: str, words: str) -> None:
    assert words in migrate(url, 2)


def test_a_file_that_is_not_there(migrate: Callable[..., str], tmp_path: Path) -> None:
    for path in (tmp_path / "roost.db", tmp_path / "no folder" / "roost.db"):
        line = migrate(f"sqlite:///{path}", 1)
        assert line == f"there is no database {path}: create it with `roost db sync`"
        assert not path.exists()


def test_a_file_that_is_something_else(migrate: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    path.touch()
    assert migrate(f"sqlite:///{path}", 1) == (
        f"{path} has no tables of roost yet: run `roost db sync`"
    )
    path.write_text("a letter, and not a database\n" * 100)
    assert "file is not a database" in migrate(f"sqlite:///{path}", 1)
    assert path.read_text().startswith("a letter")
    assert "unable to open database file" in migrate(f"sqlite:///{tmp_path}", 1)


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_does_not_run(migrate: Callable[..., str], scheme: str) -> None:
    line = migrate(f"{scheme}://roost:secret@127.0.0.1:{free_port()}/roost", 1)
    assert line.startswith("cannot use the database")
    assert "refused" in line
    assert "secret" not in line


def test_a_server_that_refuses(
    migrate: Callable[..., str], postgresql: PostgreSQL, mariadb: MariaDB
) -> None:
    for server in (postgresql, mariadb):
        url = server.create_database()
        assert "has no tables of roost yet" in migrate(url, 1)
        missing = f"{url.rpartition('/')[0]}/no_such_database"
        line = migrate(missing, 1)
        assert line.startswith("cannot use the database")
        assert "no_such_database" in line


def test_a_service_that_does_not_answer_in_time(tmp_path: Path) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text(FILE)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        words = ("agent", "run", "--once", "--driver", "file", "-o", f"path={path}")
        # With the default of 30 seconds it would end long after the test.
        line = CommandLine(url).refused(*words, "--timeout", "0.05", status=1)
    assert line.startswith(f"no answer from {url} (")


def test_a_migration_says_what_it_did(tmp_path: Path) -> None:
    path, url = tmp_path / "pools.yaml", f"sqlite:///{tmp_path / 'roost.db'}"
    words = ("agent", "migrate", "--offline", "--driver", "file", "-o", f"path={path}")
    with direct(url, sync=True):
        pass
    path.write_text(FILE + "  - {name: other, inventories: {CUSTOM_X: {total: 1}}}\n")
    shown = roost(*words, "--database", url)
    assert [line.split()[:3] for line in shown.splitlines()] == [
        ["node", "result", "what"],
        ["pool", "updated", "1"],
        ["other", "updated", "1"],
    ]
    again = roost(*words, "--database", url)
    assert again.count("nothing to do") == 2


def test_excess_is_allowed_by_an_option(tmp_path: Path) -> None:
    path, url = tmp_path / "pools.yaml", f"sqlite:///{tmp_path / 'roost.db'}"
    path.write_text(FILE)
    run = CommandLine("")
    words = ("agent", "migrate", "--offline", "--driver", "file", "-o", f"path={path}")
    words += ("--database", url)
    with direct(url, sync=True) as client:
        run(*words)
        [pool] = client.providers()
        client.set_consumer(
            Consumer(
                uuid=uid("volume"),
                allocations={pool.uuid: {"DISK_GB": 60}},
                project_id="project",
                user_id="user",
                consumer_type="VOLUME",
            )
        )
        path.write_text(FILE.replace("100", "50"))
        assert "DISK_GB" in run(*words, status=1)
        assert client.inventories(pool.uuid).inventories["DISK_GB"].total == 100
        line = run(*words, "--allow-excess", "--json").splitlines()[0]
        assert client.inventories(pool.uuid).inventories["DISK_GB"].total == 50
    assert json.loads(line)["excess"] == [
        {"provider": "pool", "resource_class": "DISK_GB", "used": 60, "capacity": 50}
    ]
