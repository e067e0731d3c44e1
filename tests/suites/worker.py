"""Runs tests of another project in a process of its own, because they change its whole state.

Reads one request a line, `list NAME` or `run NAME`, for a module, a class or a test. Answers with a
line of JSON for each test, its name or its outcome, then with an empty line. Where ROOST_SUITE_URL
is set, tests that ask for the fixtures of the reference get those that lead there.

Imports nothing outside of the standard library, because nova replaces parts of that library, and
has to do so before anything else uses them.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import time
import traceback
import unittest
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

REPLACED = ("placement.tests.functional.fixtures.placement", "placement.tests.fixtures")
REPLACEMENT = Path(__file__).with_name("placement_fixture.py")


class Replacement(importlib.abc.MetaPathFinder):
    """Finds our module under the names of the reference's."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in REPLACED:
            return None
        return importlib.util.spec_from_file_location(name, REPLACEMENT)


def describe(error: tuple[Any, Any, Any]) -> str:
    return "".join(traceback.format_exception(*error))


class Reporter(unittest.TestResult):
    """Writes the outcome of each test as soon as the test ends."""

    def __init__(self, output: TextIO) -> None:
        super().__init__()
        self._output = output
        self._running: unittest.TestCase | None = None
        self._started = 0.0
        self._findings: list[tuple[str, str]] = []  # outcomes other than "passed", with the reason

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._running = test
        self._started = time.monotonic()
        self._findings = []

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        outcomes = {outcome for outcome, _ in self._findings}
        # A test can fail in its body and in its cleanup, and is still one failed test.
        worst = next((o for o in ("failed", "skipped", "xfailed") if o in outcomes), "passed")
        self._write(test, worst, "\n".join(text for _, text in self._findings))
        self._running = None

    def _find(self, test: Any, outcome: str, text: str) -> None:
        if self._running is None:
            # The setup of a class or of a module.
            self._write(test, outcome, text)
        else:
            self._findings.append((outcome, text))

    def _write(self, test: Any, outcome: str, text: str) -> None:
        line = {
            "test": test.id(),
            "outcome": outcome,
            "text": text,
            "seconds": time.monotonic() - self._started,
        }
        print(json.dumps(line), file=self._output, flush=True)

    def addError(self, test: Any, err: Any) -> None:
        self._find(test, "failed", describe(err))

    def addFailure(self, test: Any, err: Any) -> None:
        self._find(test, "failed", describe(err))

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._find(test, "failed", describe(err))

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._find(test, "failed", "passed, although the project expects a failure")

    def addSkip(self, test: Any, reason: str) -> None:
        self._find(test, "skipped", reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._find(test, "xfailed", describe(err))


def tests_of(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from tests_of(part)
        else:
            yield part


def main() -> None:
    # The answers have standard output to themselves; what the tests print goes to the log.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if "ROOST_SUITE_URL" in os.environ:
        sys.meta_path.insert(0, Replacement())
    for line in sys.stdin:
        verb, name = line.split()
        suite = unittest.defaultTestLoader.loadTestsFromName(name)
        if verb == "list":
            for test in tests_of(suite):
                print(json.dumps(test.id()), file=answers, flush=True)
        else:
            suite.run(Reporter(answers))
        print(file=answers, flush=True)


if __name__ == "__main__":
    main()
