"""Versions come from the tags of the repository, and every copy of it has one."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.packages.conftest import commit, git

PROJECTS = (".", "compat")


def versions(checkout: Path) -> set[str]:
    """Those of both distributions."""
    return {version(checkout / project) for project in PROJECTS}


def version(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "version"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def short_name(checkout: Path) -> str:
    return git(checkout, "rev-parse", "--short=9", "HEAD")


def test_a_clone_without_tags_counts_its_commits(checkout: Path) -> None:
    commit(checkout)
    assert versions(checkout) == {f"1.0.0.dev2+g{short_name(checkout)}"}


def test_a_tag_is_the_version(checkout: Path) -> None:
    git(checkout, "tag", "v1.2.3")
    assert versions(checkout) == {"1.2.3"}
    commit(checkout)
    assert versions(checkout) == {f"1.2.4.dev1+g{short_name(checkout)}"}
    git(checkout, "tag", "v2.0.0rc1")
    assert versions(checkout) == {"2.0.0rc1"}


def test_other_tags_are_no_versions(checkout: Path) -> None:
    git(checkout, "tag", "v1.2.3")
    commit(checkout)
    git(checkout, "tag", "measured-9.9.9")
    assert versions(checkout) == {f"1.2.4.dev1+g{short_name(checkout)}"}


def test_a_checkout_with_changes_says_so(checkout: Path) -> None:
    git(checkout, "tag", "v1.2.3")
    (checkout / "README.md").write_text("changed")
    [found] = versions(checkout)
    assert found.startswith(f"1.2.4.dev0+g{short_name(checkout)}.d")


@pytest.mark.parametrize(("tag", "expected"), [("v1.2.3", "1.2.3"), (None, "1.0.0.dev0")])
def test_an_archive_knows_its_version(
    checkout: Path, tmp_path: Path, tag: str | None, expected: str
) -> None:
    if tag:
        git(checkout, "tag", tag)
    archive, unpacked = tmp_path / "archive.tar", tmp_path / "unpacked"
    git(checkout, "archive", f"--output={archive}", "HEAD")
    with tarfile.open(archive) as found:
        found.extractall(unpacked, filter="data")
    assert versions(unpacked) == {expected}
