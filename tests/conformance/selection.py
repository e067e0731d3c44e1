"""The reference's test files, and how one test in them is named."""

import functools
import importlib.resources
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gabbi import utils

# The files are read from the installed distribution, never copied.
FOLDER = Path(str(importlib.resources.files("placement"))) / "tests" / "functional" / "gabbits"

# Requests that no HTTP client sends and that every HTTP server refuses before the application sees
# them. The test still checks the status; the wording of the refusal is that of the HTTP server.
REFUSED_BY_HTTP_SERVER = {
    ("basic-http.yaml", "bad content length not int"),
}


@dataclass(frozen=True)
class Case:
    """One request of one file."""

    file: str
    position: int
    name: str

    def __str__(self) -> str:
        # The position distinguishes two tests of a file that have the same name.
        words = "_".join(self.name.lower().split())
        return f"{self.file}-{self.position:03}-{words}"


def files() -> list[str]:
    """The names of all files."""
    return [path.name for path in sorted(FOLDER.glob("*.yaml"))]


@functools.cache
def content(file: str) -> dict[str, Any]:
    """The parsed file. Running a test changes its data in place, so work on a deep copy."""
    return dict(utils.load_yaml(yaml_file=str(FOLDER / file)))


def cases() -> list[Case]:
    """Every request of every file, in order."""
    return [
        Case(file=file, position=position, name=test["name"])
        for file in files()
        for position, test in enumerate(content(file)["tests"])
    ]
