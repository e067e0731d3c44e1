"""What the tests of packages share: the distributions of this checkout, built once."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packages.contents import ROOT


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what `scripts/release --check` has built and found good."""
    folder: Path = tmp_path_factory.mktemp("distributions")
    command = [ROOT / "scripts" / "release", "--check", "--output", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of this checkout as a repository with one commit, whatever state this one is in."""
    folder = tmp_path / "checkout"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Tests", "-c", "user.email=tests@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "A state", "--allow-empty")
