"""The databases that roost supports, as fixtures; and marks that say what each test needs."""

import sys
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import certificate_authorities, server_sampling
from tests.support.database_servers import DATABASES, SERVERS, MariaDB, PostgreSQL
from tests.support.synchronised_databases import DatabaseFiles, ServerDatabases

# What --fast leaves out.
LEFT_OUT = ("server", "process", "slow")

# Tests get marks by what they use, so that nobody has to remember them. A test that starts a
# process in a way that is not listed here carries @pytest.mark.process itself, or it fails.
PATH_MARKS = {
    "adoption": "process",
    "benchmarks": "process",
    "beyond": "process",
    "cli": "process",
    "comparison": "process",
    "concurrency/test_processes.py": "process",
    "conformance": "process",
    "deployment": "process",
    "documents/test_how_to.py": "process",
    "documents/test_page_player.py": "process",
    "documents/test_tutorial.py": "process",
    "faults": "server",
    "generated": "process",
    "hostile/service": "process",
    "keystone": "process",
    "nova_drivers": "process",
    "operations": "process",
    "packages": "process",
    "stateful": "slow",
    "suites": "process",
}
FIXTURE_MARKS = {
    "postgresql": "server",
    "mariadb": "server",
    "galera": "server",
    "agent_server": "process",
    "browser": "process",
    "console_folder": "process",
    "reference": "process",
}
# Fixtures with a parameter that names the kind of database.
DATABASE_FIXTURES = ("database", "database_url", "every_subject", "subject", "synchronised_url")

# In CI a test for every database runs on SQLite and on one of the servers, which gets half of such
# tests; the mark "long" is on the other half. In these folders it runs on all of them: the suite
# of the reference decides whether roost is a replacement.
WHOLE = ("conformance",)

START_EVENTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system")


certificate_authorities.read_once()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast",
        action="store_true",
        help=f"leave out the tests that are marked {', '.join(LEFT_OUT)}",
    )
    parser.addoption(
        "--short",
        action="store_true",
        help="leave out the tests that are marked long, as CI does",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out whole folders early: importing their modules takes as long as many tests."""
    if config.getoption("--fast") and relative(collection_path) in PATH_MARKS:
        return True
    return None


def pytest_itemcollected(item: pytest.Item) -> None:
    for name in marks_of(item):
        item.add_marker(name)


# Before the selection by -m, which sees the marks that were given while collecting.
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    candidates = [item for item in items if not is_below(item, WHOLE)]
    for item in server_sampling.on_the_other_server(candidates, DATABASE_FIXTURES):
        item.add_marker("long")
    marks = {"--fast": (*LEFT_OUT, "long"), "--short": ("long",)}
    names = [name for option in marks if config.getoption(option) for name in marks[option]]
    left_out = [item for item in items if is_marked(item, *names)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not is_marked(item, *names)]


def relative(path: Path) -> str:
    """The path below this folder; empty for what lies elsewhere."""
    here = Path(__file__).parent
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else ""


def is_marked(item: pytest.Item, *names: str) -> bool:
    return any(item.get_closest_marker(name) for name in names)


def is_below(item: pytest.Item, paths: Sequence[str]) -> bool:
    return any(relative(path) in paths for path in item.path.parents)


def marks_of(item: pytest.Item) -> set[str]:
    """What a test needs, judging by its folder, its fixtures and their parameters."""
    paths = (relative(path) for path in (item.path, *item.path.parents))
    marks = {PATH_MARKS[path] for path in paths if path in PATH_MARKS}
    fixtures = getattr(item, "fixturenames", ())
    marks |= {FIXTURE_MARKS[name] for name in fixtures if name in FIXTURE_MARKS}
    callspec = getattr(item, "callspec", None)
    parameters: dict[str, Any] = callspec.params if callspec else {}
    if any(parameters.get(name) in SERVERS for name in DATABASE_FIXTURES):
        marks.add("server")
    # The fixture of tests/client, which starts a server for all but one of its parameters.
    if parameters.get("client", "direct") != "direct":
        marks.add("process")
    return marks


_running: pytest.Item | None = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    global _running
    _running = item
    try:
        return (yield)
    finally:
        _running = None


def _refuse_unmarked_processes(event: str, arguments: tuple[Any, ...]) -> None:
    if event in START_EVENTS and _running and not is_marked(_running, "server", "process"):
        raise RuntimeError("a test that starts a process is marked with @pytest.mark.process")


sys.addaudithook(_refuse_unmarked_processes)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A PostgreSQL server for this test run, started when the first test asks for it."""
    with PostgreSQL() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    """A MariaDB server for this test run, started when the first test asks for it."""
    with MariaDB() as server:
        yield server


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A fresh, empty database for one test, on each kind of database in turn."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'roost.db'}"
        return
    server = request.getfixturevalue(request.param)
    url = server.create_database()
    yield url
    server.drop_database(url)


@pytest.fixture(scope="session")
def sqlite_databases(tmp_path_factory: pytest.TempPathFactory) -> DatabaseFiles:
    return DatabaseFiles(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="session")
def postgresql_databases(postgresql: PostgreSQL) -> ServerDatabases:
    return ServerDatabases(postgresql)


@pytest.fixture(scope="session")
def mariadb_databases(mariadb: MariaDB) -> ServerDatabases:
    return ServerDatabases(mariadb)


@pytest.fixture(params=DATABASES)
def synchronised_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database as `roost db sync` makes it, on each kind of database in turn.

    The next test gets the same one, emptied. So a test that changes more than rows takes
    `database_url`.
    """
    databases: DatabaseFiles | ServerDatabases
    databases = request.getfixturevalue(f"{request.param}_databases")
    with databases.take(tmp_path) as url:
        yield url
