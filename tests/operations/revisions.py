"""Earlier revisions of roost that can be run: their source, from the history of the repository."""

import io
import os
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.roost_server import command

ROOT = Path(__file__).parents[2]


class Revision:
    """The source of a commit in a folder, run with the packages of the tests."""

    def __init__(self, commit: str, folder: Path) -> None:
        if not _has_history() or _git("cat-file", "-e", f"{commit}^{{commit}}").returncode:
            pytest.skip(f"this copy of the repository does not have commit {commit}")
        packed = _git("archive", commit, "src")
        assert packed.returncode == 0, packed.stderr
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
        self._source = folder / "src"

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables with which Python finds this revision first."""
        return {"PYTHONPATH": str(self._source)}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the `roost` of this revision."""
        return subprocess.run(
            command(*arguments),
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )


def _has_history() -> bool:
    found = _git("rev-parse", "--is-shallow-repository")
    return found.returncode == 0 and found.stdout.strip() == b"false"


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=False)
