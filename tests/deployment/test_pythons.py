"""The wheel in an empty environment of each supported Python: installed, started, and used.

All other tests run with one Python, from the sources. Here the newest of the others that the
machine has is tried as well. `scripts/packages test pythons` tries all of them, and
`PYTHON=python3.12 scripts/test` runs everything with another one.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.installed_program import use_api, use_commands
from tests.support.roost_server import RoostServer

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PREFIX = "Programming Language :: Python :: "
CLASSIFIED = [each.removeprefix(PREFIX) for each in PROJECT["classifiers"] if PREFIX in each]
VERSIONS = [each for each in CLASSIFIED if each.replace(".", "").isdecimal() and "." in each]
RUNNING = "{}.{}".format(*sys.version_info)
ALL = "pythons" in os.environ.get("ROOST_PACKAGES", "")
LOCK = ROOT / "requirements" / "serve.txt"


def find_python(version: str) -> str | None:
    """An interpreter of this version: on the PATH, or among those that pyenv installed."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [
        shutil.which(f"python{version}"),
        *sorted(map(str, pyenv.glob(f"{version}.*/bin/python"))),
    ]
    # What is on the PATH may be a stand-in of pyenv, which refuses to start.
    return next((each for each in candidates if each and version_of(each) == version), None)


def version_of(python: str) -> str:
    program = "import sys; print('{}.{}'.format(*sys.version_info))"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    return done.stdout.strip()


class Environment:
    """A virtual environment with the locked packages and the wheel, and nothing of the sources.

    It stays in build/, so that the next run installs the wheel alone.
    """

    def __init__(self, version: str, python: str) -> None:
        self.folder = ROOT / "build" / "pythons" / version
        self._python = python
        # What is imported must not come from the environment of the tests.
        self.variables = {key: each for key, each in os.environ.items() if key != "PYTHONPATH"}

    def install(self, wheel: Path) -> None:
        installed = self.folder / "installed"
        checksum = hashlib.sha256(LOCK.read_bytes()).hexdigest()
        if not installed.exists() or installed.read_text() != checksum:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._run(self._python, "-m", "venv", str(self.folder))
            # Most of it is never imported, and compiling all of it would take half of the time.
            install = ("install", "--no-compile", "--require-hashes", "--no-deps")
            self._pip(*install, "--requirement", str(LOCK))
            installed.write_text(checksum)
        self._pip("install", "--no-deps", "--no-index", "--force-reinstall", str(wheel))
        self._pip("check")

    def roost(self, *arguments: str) -> str:
        return self._run(str(self.folder / "bin" / "roost"), *arguments)

    def _pip(self, *arguments: str) -> None:
        pip = str(self.folder / "bin" / "pip")
        self._run(pip, "--quiet", "--disable-pip-version-check", *arguments)

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command, env=self.variables, cwd="/", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder, ROOT]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [found] = folder.glob("*.whl")
    return found


def others() -> Iterator[str]:
    """The versions to try: all, or the newest that is not that of the other tests."""
    if ALL:
        yield from VERSIONS
        return
    found = [each for each in reversed(VERSIONS) if each != RUNNING and find_python(each)]
    yield found[0] if found else RUNNING


def test_the_versions_are_those_of_the_documents() -> None:
    assert RUNNING in VERSIONS
    assert f">={VERSIONS[0]}" == PROJECT["requires-python"]
    for document in ("README.md", "CONTRIBUTING.md"):
        listed = f"{', '.join(VERSIONS[:-1])} or {VERSIONS[-1]}"
        assert f"Python {listed}" in (ROOT / document).read_text()


@pytest.mark.parametrize("version", list(others()))
def test_the_wheel_is_installed_and_used(version: str, wheel: Path, tmp_path: Path) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"this machine has no Python {version}")
    environment = Environment(version, python)
    environment.install(wheel)
    assert environment.roost("--version").split()[-1] in wheel.name
    server = RoostServer(
        f"sqlite:///{tmp_path / 'roost.db'}",
        tmp_path,
        arguments=["--console"],
        environment=environment.variables,
        program=[str(environment.folder / "bin" / "roost")],
    )
    with server:
        use_api(server.url)
        description = ROOT / "docs" / "examples" / "gpu-cluster.yaml"
        use_commands(environment.roost, server.url, str(description))
