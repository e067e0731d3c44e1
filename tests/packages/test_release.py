"""scripts/release refuses what is not prepared, and says what remains to be done for what is."""

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from tests.packages import changelog
from tests.packages.conftest import commit, git
from tests.packages.contents import ROOT

VERSION = "7.8.9"
SECTION = f"## [{VERSION}] - 2026-01-31\n\n### Added\n\n- Something.\n\n"


@pytest.fixture
def prepared(checkout: Path) -> Path:
    """A repository whose changelog has the section, and with the environment of the tests."""
    (checkout / ".venv").symlink_to(ROOT / ".venv")
    (checkout / ".gitignore").write_text((ROOT / ".gitignore").read_text() + ".venv\n")
    path = checkout / "CHANGELOG.md"
    text = path.read_text()
    unreleased = changelog.releases(text)[0].text
    if unreleased:
        text = text.replace(unreleased, "")
    text = re.sub(r"^(?=## \[\d)", SECTION, text, count=1, flags=re.MULTILINE)
    path.write_text(f"{text}[{VERSION}]: https://example.org/releases/{VERSION}\n")
    commit(checkout)
    return checkout


def release(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [checkout / "scripts" / "release", *arguments]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


def refusal(checkout: Path, *arguments: str) -> str:
    done = release(checkout, *arguments)
    assert done.returncode == 1
    assert not (checkout / "dist").exists()
    [line] = done.stderr.splitlines()
    return line


def test_a_prepared_version_is_built(prepared: Path) -> None:
    done = release(prepared, VERSION)
    assert done.returncode == 0, done.stderr
    files = sorted(path.name for path in (prepared / "dist").glob("roost*"))
    assert files == [
        f"roost-{VERSION}-py3-none-any.whl",
        f"roost-{VERSION}.tar.gz",
        f"roost_placement-{VERSION}-py3-none-any.whl",
        f"roost_placement-{VERSION}.tar.gz",
    ]
    for name in files:
        checksum = hashlib.sha256((prepared / "dist" / name).read_bytes()).hexdigest()
        assert f"{checksum}  {name}" in done.stdout
    commit = git(prepared, "rev-parse", "HEAD")
    assert f'git tag --annotate v{VERSION} --message "roost {VERSION}" {commit}' in done.stdout
    assert "twine upload dist/*.whl dist/*.tar.gz" in done.stdout
    assert (prepared / "dist" / "notes.md").read_text() == "### Added\n\n- Something.\n"
    assert git(prepared, "tag") == ""


class TestRefusals:
    def test_no_version(self, prepared: Path) -> None:
        assert refusal(prepared) == "Which version? See scripts/release --help"
        assert refusal(prepared, "v1").startswith("v1 is no version; expected 1.2.3")
        assert refusal(prepared, "--quick").startswith("Unknown: --quick")

    def test_changes_that_are_not_committed(self, prepared: Path) -> None:
        (prepared / "README.md").write_text("changed")
        assert "changes that are not committed" in refusal(prepared, VERSION)

    def test_a_tag_of_another_commit(self, prepared: Path) -> None:
        git(prepared, "tag", f"v{VERSION}")
        commit(prepared)
        assert refusal(prepared, VERSION).startswith(f"v{VERSION} is another commit already")

    def test_a_version_without_a_section(self, prepared: Path) -> None:
        assert "[7.9.0] is not the section below" in refusal(prepared, "7.9.0")

    def test_what_is_left_below_unreleased(self, prepared: Path) -> None:
        path = prepared / "CHANGELOG.md"
        title = "## [Unreleased]\n"
        path.write_text(path.read_text().replace(title, f"{title}\n### Fixed\n\n- Another.\n"))
        commit(prepared)
        assert "move what is below [Unreleased]" in refusal(prepared, VERSION)
