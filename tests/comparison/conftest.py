"""The two sides for one test run, and how often each known difference occurred."""

from collections.abc import Iterator

import pytest

from tests.comparison import differences
from tests.comparison.sides import Reference, Roost


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    with Reference(tmp_path_factory.mktemp("reference")) as side:
        yield side


@pytest.fixture(scope="session")
def roost(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roost]:
    with Roost(tmp_path_factory.mktemp("roost")) as side:
        yield side


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not differences.used:
        return
    terminalreporter.section("known differences from the reference")
    for difference in differences.DIFFERENCES:
        times = differences.used[difference.name]
        terminalreporter.write_line(f"{times:6} {difference.name} ({difference.reason})")
