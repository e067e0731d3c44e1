"""An environment in which roost and roost-placement are installed, and openstack-placement is not.

The two are built and installed as wheels. What they need is linked from the environment of the
tests, package by package, as requirements/serve.txt names it. That takes a few seconds and no
network, and what the lock file lacks is missing here too.
"""

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Deployments name their database with PyMySQL, see the extra `mysql`.
DRIVERS = ("PyMySQL",)


class Installation:
    """The environment in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.python = self.bin / "python"

    @property
    def packages(self) -> Path:
        """The folder of its Python packages."""
        [found] = self.folder.glob("lib/python3*/site-packages")
        return found

    def create(self) -> None:
        venv.create(self.folder, with_pip=False, symlinks=True)
        for name in (*locked("serve"), *DRIVERS):
            self._link(name)
        wheels = self.folder / "wheels"
        build_wheels(wheels, ROOT, ROOT / "compat")
        _pip(
            *("--python", str(self.python), "install", "--no-deps", "--no-index", "--no-compile"),
            *map(str, wheels.glob("*.whl")),
        )

    def _link(self, name: str) -> None:
        """Link one distribution of the tests' environment, and write its commands."""
        found = link_distribution(name, self.packages)
        if found is None:
            return
        for entry in found.entry_points.select(group="console_scripts"):
            module, _, function = entry.value.partition(":")
            command = self.bin / entry.name
            command.write_text(
                f"#!{self.python}\nimport sys\nfrom {module} import {function}\n"
                f"sys.exit({function}())\n"
            )
            command.chmod(0o755)


def build_wheels(folder: Path, *projects: Path) -> None:
    isolation = ["--no-build-isolation", "--no-index"] if has_build_tools() else []
    _pip("wheel", "--no-deps", *isolation, "--wheel-dir", str(folder), *map(str, projects))


def environment_of_a_newcomer(home: Path) -> dict[str, str]:
    """That of a user who has nothing but Python; pip finds what is locked without a network."""
    program, packages = home / ".python", home / ".packages"
    program.mkdir()
    packages.mkdir()
    (program / "python3").symlink_to(Path(sys.executable).resolve())
    for name in (*locked("serve"), *locked("build")):
        link_distribution(name, packages)
    # To pip, the 0 means that there is no isolation.
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"} if has_build_tools() else {}
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(program), "/usr/bin", "/bin"]),
        "PYTHONPATH": str(packages),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "LANG": "C.UTF-8",
        **offline,
    }


def has_build_tools() -> bool:
    """Whether they are in the environment of the tests: unless it has the newest packages."""
    return importlib.util.find_spec("hatchling") is not None


def link_distribution(name: str, packages: Path) -> importlib.metadata.Distribution | None:
    """Link one distribution of the tests' environment into a folder; None if it is not there."""
    try:
        found = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        # Locked for other platforms.
        return None
    for part in sorted({path.parts[0] for path in found.files or ()} - {"..", "__pycache__"}):
        link = packages / part
        if not link.exists():
            link.symlink_to(Path(str(found.locate_file(part))))
    return found


def locked(name: str) -> Iterator[str]:
    """The distributions that a lock file names."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    yield from re.findall(r"^([\w.-]+)==", text, re.MULTILINE)


def _pip(*arguments: str) -> None:
    _run([sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments])


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
