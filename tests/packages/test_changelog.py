"""CHANGELOG.md has the form of keepachangelog.com."""

import datetime

import pytest
from packaging.version import Version

from tests.packages.changelog import KINDS, PATH, UNRELEASED, NotReady, notes, releases

TEXT = PATH.read_text()
RELEASES = releases(TEXT)


def test_it_begins_with_what_is_not_released() -> None:
    assert RELEASES[0].version == UNRELEASED
    assert RELEASES[0].date is None
    assert TEXT.count("\n## ") == len(RELEASES)


def test_releases_have_dates_and_go_back_in_time() -> None:
    dates = [datetime.date.fromisoformat(release.date or "") for release in RELEASES[1:]]
    versions = [Version(release.version) for release in RELEASES[1:]]
    assert dates == sorted(dates, reverse=True)
    assert versions == sorted(versions, reverse=True)


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.version)
def test_changes_are_of_the_known_kinds(release) -> None:
    assert release.kinds == [kind for kind in KINDS if kind in release.kinds]


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.version)
def test_every_release_has_an_address(release) -> None:
    assert f"\n[{release.version}]: https://" in TEXT


def test_the_notes_of_a_release() -> None:
    text = (
        "# Changelog\n\n## [Unreleased]\n\n## [1.1.0] - 2026-02-01\n\n- New.\n\n"
        "## [1.0.0] - 2026-01-01\n\n- Old.\n\n[1.1.0]: x\n"
    )
    assert notes(text, "1.1.0") == "- New."
    for wrong in (
        text.replace(" - 2026-02-01", ""),
        text.replace("[1.1.0]: x", ""),
        text.replace("## [Unreleased]\n", ""),
        text.replace("[1.1.0] -", "[1.2.0] -"),
    ):
        with pytest.raises(NotReady, match=r"CHANGELOG\.md"):
            notes(wrong, "1.1.0")
