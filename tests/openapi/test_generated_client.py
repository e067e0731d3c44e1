"""A client that openapi-python-client generates from a running service works with that service."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.api import openapi
from roost.api.probes import OPEN_ROUTES
from tests.support.roost_server import RoostServer

# Made by scripts/environment.
TOOLS = Path(sys.prefix) / "openapi" / "bin"
PACKAGE = "placement_api"
PROGRAM = Path(__file__).parent / "client_program.py"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "openapi.md"

pytestmark = pytest.mark.process


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    # The generator looks for ruff, which formats what it has written.
    environment = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}", "PYTHONPATH": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("service")
    with RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server:
        yield server


@pytest.fixture(scope="module")
def folder(server: RoostServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the generated package in it."""
    if not TOOLS.exists():
        message = "openapi-python-client is not installed: scripts/test installs it"
        if os.environ.get("CI") == "true":
            raise RuntimeError(message)
        pytest.skip(message)
    folder = tmp_path_factory.mktemp("client")
    made = run(
        *(TOOLS / "openapi-python-client", "generate", "--url", f"{server.url}/openapi.json"),
        *("--meta", "none", "--output-path", folder / PACKAGE, "--fail-on-warning"),
        folder=folder,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert "arning" not in made.stdout + made.stderr
    return folder


def test_a_generated_client_makes_searches_and_claims(server: RoostServer, folder: Path) -> None:
    done = run(TOOLS / "python", PROGRAM, server.url, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "done\n"


def test_the_example_of_the_documents_works(server: RoostServer, folder: Path) -> None:
    [program] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (folder / "example.py").write_text(program.replace("http://127.0.0.1:8778", server.url))
    first = run(TOOLS / "python", "example.py", folder=folder)
    assert re.fullmatch(r"made [0-9a-f-]{36}\n\d+ candidates\n", first.stdout), first
    second = run(TOOLS / "python", "example.py", folder=folder)
    assert second.stdout.startswith("refused: 409 placement.duplicate_name "), second


def test_a_generated_client_has_types(folder: Path) -> None:
    """A type checker knows what every call returns, and finds nothing wrong with the program."""
    checked = run(
        *(sys.executable, "-m", "mypy", "--strict", "--no-incremental"),
        *("--python-executable", TOOLS / "python", PROGRAM),
        folder=folder,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_operation_has_a_function(folder: Path) -> None:
    functions = {
        path.stem for path in (folder / PACKAGE / "api").glob("*/*.py") if path.stem != "__init__"
    }
    known = {
        operation["operationId"].replace(".", "_")
        for methods in openapi.document(OPEN_ROUTES)["paths"].values()
        for operation in methods.values()
    }
    assert functions == known
