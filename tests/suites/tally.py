"""The final count of the outcomes."""

from collections import Counter
from collections.abc import Generator

import pytest

from tests.suites.project import Outcome, Suite


class Tally:
    """Counts the outcomes for each suite and database."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Suite, str], Counter[str]] = {}

    def add(self, suite: Suite, database: str, outcomes: list[Outcome]) -> None:
        counts = self._counts.setdefault((suite, database), Counter())
        counts.update(outcome.outcome for outcome in outcomes)

    # Outermost, so that the count comes after the list of failures.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        yield
        for (suite, database), counts in self._counts.items():
            numbers = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
            terminalreporter.write_line(
                f"{suite} {suite.version} on {database}: {counts.total()} tests, {numbers}"
            )
