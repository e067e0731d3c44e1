"""The servers under test, one for each database, and the final count."""

from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.conformance.selection import Case
from tests.conformance.servers import Servers
from tests.conformance.subject import Subject
from tests.support import answer_schemas
from tests.support.database_servers import DATABASES


@pytest.fixture(scope="session", params=DATABASES)
def subject(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    """All files on one kind of database, each on a server with the configuration that it needs."""
    folder = tmp_path_factory.mktemp(request.param)
    database_url = new_database(request, folder)
    with Servers(database_url, folder) as servers, Subject(servers.url, database_url) as subject:
        yield subject


def new_database(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{folder / 'roost.db'}"
    return str(request.getfixturevalue(request.param).create_database())


class Tally:
    """Counts the outcomes for each database."""

    def __init__(self) -> None:
        self._cases: dict[str, tuple[str, Case]] = {}
        self._outcomes: dict[str, str] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            parameters = getattr(item, "callspec", None) and item.callspec.params
            if parameters and isinstance(parameters.get("case"), Case):
                self._cases[item.nodeid] = (parameters["subject"], parameters["case"])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A test passes only if its setup and teardown passed too.
        if report.nodeid in self._cases and (report.when == "call" or not report.passed):
            self._outcomes[report.nodeid] = report.outcome

    # Outermost, so that the count comes after the list of failures.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        yield
        for database in DATABASES:
            chosen = {
                nodeid: case for nodeid, (name, case) in self._cases.items() if name == database
            }
            if not chosen:
                continue
            files = len({case.file for case in chosen.values()})
            counts = Counter(self._outcomes.get(nodeid) for nodeid in chosen)
            terminalreporter.write_line(
                f"conformance {database}: {files} files, {len(chosen)} tests, "
                f"{counts['passed']} passed, {counts['failed']} failed, "
                f"{counts['skipped']} skipped"
            )
        if self._cases:
            answers = answer_schemas.compared
            operations = {(method, path) for method, path, _ in answers if path}
            terminalreporter.write_line(
                f"conformance: {answers.total()} answers of {len(operations)} operations are as "
                "the OpenAPI document says"
            )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Tally())
