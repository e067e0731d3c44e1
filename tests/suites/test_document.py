"""docs/explanation/compatibility.md has the counts that the runs insist on."""

from tests.conformance import selection
from tests.suites import nova
from tests.suites.project import ROOT
from tests.suites.test_clients import SUITES

PAGE = (ROOT / "docs" / "explanation" / "compatibility.md").read_text()


def test_the_reference_and_the_clients_are_counted() -> None:
    for suite in SUITES:
        count = sum(suite.counts.values())
        [row] = [line for line in PAGE.splitlines() if f"| {suite} {suite.counted_version}" in line]
        assert f"| {count} | {count} passed |" in row
    assert f"| {len(selection.cases())} | {len(selection.cases())} passed |" in PAGE


def test_the_modules_of_nova_are_counted() -> None:
    for module, count in nova.MODULES.items():
        assert f"| `{module}` | {count} |" in PAGE
    total = sum(nova.MODULES.values())
    not_passed = len(nova.NOT_PASSED)
    assert f"| {total} | {total - not_passed} passed, {not_passed} as nova says |" in PAGE


def test_the_version_of_nova_is_the_locked_one() -> None:
    [locked] = [
        line.split()[0].removeprefix("nova==")
        for line in (ROOT / "requirements" / "nova.txt").read_text().splitlines()
        if line.startswith("nova==")
    ]
    assert f"| nova {locked}, functional |" in PAGE
