"""The files in `deploy/` match what roost accepts. test_uwsgi.py runs uwsgi.ini."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from configparser import RawConfigParser
from pathlib import Path

import click
import pytest

from roost.api.probes import OPEN_ROUTES
from roost.cli.main import roost as program
from roost.settings import OPTIONS
from tests.deployment.uwsgi_server import DEPLOY

ROOT = DEPLOY.parent
PAGES = ("operations/alerts.md", "operations/running.md", "how-to/agent.md")
DOCUMENTS = "".join((ROOT / "docs" / page).read_text() for page in PAGES)
COMMAND_LINE = (ROOT / "docs" / "reference" / "command-line.md").read_text()
INSTALLED = "/opt/roost/bin"
UNITS = sorted(path.name for path in DEPLOY.glob("*.service"))
# The file with the variables of each unit.
ENVIRONMENTS = {name: "agent.env" if "agent" in name else "roost.env" for name in UNITS}
PROXIES = ["apache.conf", "haproxy.cfg", "nginx.conf"]


def accept(arguments: list[str]) -> None:
    """Parse a command line of `roost` without running it."""
    command: click.Command = program
    while isinstance(command, click.Group):
        command = command.commands[arguments[0]]
        arguments = arguments[1:]
    command.make_context(command.name, list(arguments))


def environment_of(text: str) -> dict[str, str]:
    """The variables of a file for EnvironmentFile=, including those that are commented out."""
    pairs = re.findall(r"^#?([A-Z_]+)=(.*)$", text, flags=re.M)
    return dict(pairs)


class Unit:
    """A unit file, whose options may occur more than once."""

    def __init__(self, name: str) -> None:
        self.text = (DEPLOY / name).read_text()
        self.lines = [line for line in self.text.splitlines() if not line.startswith("#")]

    def values(self, option: str) -> list[str]:
        found = [line.partition("=") for line in self.lines]
        return [value for name, _, value in found if name == option]

    def environment(self) -> dict[str, str]:
        pairs = (pair for value in self.values("Environment") for pair in shlex.split(value))
        return dict(pair.split("=", 1) for pair in pairs)


@pytest.mark.parametrize("name", sorted(path.name for path in DEPLOY.iterdir()))
def test_every_file_is_documented(name: str) -> None:
    assert f"(../../deploy/{name})" in DOCUMENTS


@pytest.mark.parametrize("name", UNITS)
class TestUnits:
    def test_systemd_accepts_it(self, name: str, tmp_path: Path) -> None:
        if shutil.which("systemd-analyze") is None:
            # At least the sections and options are readable, and none is continued on the next
            # line.
            parser = RawConfigParser(strict=False)
            parser.read(DEPLOY / name)
            assert parser.sections() == ["Unit", "Service", "Install"]
            return
        # systemd-analyze checks that the programs exist.
        unit = tmp_path / name
        here = str(Path(sys.executable).parent)
        unit.write_text((DEPLOY / name).read_text().replace(INSTALLED, here))
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", unit],
            capture_output=True,
            text=True,
            check=False,
        )
        # It also reports on other units of the machine.
        complaints = [line for line in done.stderr.splitlines() if name in line]
        assert (done.returncode, complaints) == (0, [])

    def test_its_commands_are_accepted(self, name: str) -> None:
        unit = Unit(name)
        for option in ("ExecStartPre", "ExecStart"):
            for line in unit.values(option):
                for variable, value in unit.environment().items():
                    line = line.replace(f"${{{variable}}}", value).replace(f"${variable}", value)
                words = shlex.split(line)
                assert words[0].startswith(f"{INSTALLED}/")
                assert (Path(sys.executable).parent / Path(words[0]).name).exists()
                if words[0] == f"{INSTALLED}/roost":
                    accept(words[1:])

    def test_systemd_waits_longer_than_it_takes_to_stop(self, name: str) -> None:
        from roost.server.supervisor import STOP_SECONDS_MAX

        mercy = re.search(r"worker-reload-mercy = (\d+)", (DEPLOY / "uwsgi.ini").read_text())
        assert mercy is not None
        [stop] = Unit(name).values("TimeoutStopSec")
        assert int(stop) > max(STOP_SECONDS_MAX, int(mercy[1]))


class TestEnvironment:
    @pytest.mark.parametrize("name", sorted(set(ENVIRONMENTS.values())))
    def test_every_variable_is_an_option_or_used_by_a_unit(self, name: str) -> None:
        known = {
            f"OS_{group.upper()}__{option.dest.upper()}"
            for group, options in OPTIONS.items()
            for option in options
        }
        known |= {"OS_PLACEMENT_CONFIG_DIR"}
        known |= {variable for unit in UNITS for variable in Unit(unit).environment()}
        if name == "agent.env":
            # Those of every command that sends requests.
            known = set(re.findall(r"\b(?:OS|ROOST)_[A-Z_]+\b", COMMAND_LINE))
            known |= Unit("roost-agent.service").environment().keys()
        assert environment_of((DEPLOY / name).read_text()).keys() <= known

    @pytest.mark.parametrize("name", UNITS)
    def test_units_read_the_file(self, name: str) -> None:
        assert Unit(name).values("EnvironmentFile") == [f"-/etc/roost/{ENVIRONMENTS[name]}"]


class TestContainer:
    """What the steps say; tests/packages/test_container.py takes them."""

    @pytest.fixture
    def steps(self) -> list[tuple[str, str]]:
        text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines]

    def of(self, steps: list[tuple[str, str]], instruction: str) -> list[str]:
        return [rest for name, rest in steps if name == instruction]

    def test_nothing_is_installed_that_is_not_locked(self, steps: list[tuple[str, str]]) -> None:
        installs = [
            command
            for run in self.of(steps, "RUN")
            for command in run.split("&&")
            if "/pip " in command
        ]
        assert len(installs) == 4
        for command in installs:
            assert "--no-deps" in command
            assert re.search("--require-hashes|--no-index|--no-build-isolation", command)

    def test_the_copied_files_exist_and_suffice_to_build(
        self, steps: list[tuple[str, str]]
    ) -> None:
        copies = [copy.split() for copy in self.of(steps, "COPY") if "--from" not in copy]
        sources = {source for words in copies for source in words[:-1]}
        assert all((ROOT / source).exists() for source in sources)
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        # Patterns of files below a folder come with the folder.
        needed = {path.partition("/")[0] for path in ["README.md", *project["license-files"]]}
        assert {*needed, "src"} <= sources
        # Engines see nothing else of the repository.
        ignored, *seen = [
            line
            for line in (ROOT / ".dockerignore").read_text().splitlines()
            if not line.startswith("#")
        ]
        assert ignored == "*"
        assert {line.removeprefix("!") for line in seen} == sources

    def test_python_is_new_enough(self, steps: list[tuple[str, str]]) -> None:
        for base in self.of(steps, "FROM"):
            version = re.match(r"python:3\.(\d+)-slim", base)
            assert version is not None
            assert int(version[1]) >= 11

    def test_it_does_not_run_as_root(self, steps: list[tuple[str, str]]) -> None:
        [user] = self.of(steps, "USER")
        assert int(user) > 0
        assert f"--uid {user} " in " ".join(self.of(steps, "RUN"))

    def test_its_command_is_accepted_and_the_health_check_reaches_it(
        self, steps: list[tuple[str, str]]
    ) -> None:
        [entry] = self.of(steps, "ENTRYPOINT")
        assert json.loads(entry) == [f"{INSTALLED}/roost"]
        # The instruction CMD, not the one inside HEALTHCHECK.
        [command] = self.of(steps, "CMD")
        accept(json.loads(command))
        [port] = self.of(steps, "EXPOSE")
        [check] = self.of(steps, "HEALTHCHECK")
        words = json.loads(check.partition("CMD ")[2])
        assert f"http://127.0.0.1:{port}/readyz" in words[2]
        compile(words[2], "HEALTHCHECK", "exec")


@pytest.mark.parametrize("name", PROXIES)
class TestProxies:
    def test_paths_without_authentication_are_not_public(self, name: str) -> None:
        text = (DEPLOY / name).read_text().replace("\\", "")
        for route in OPEN_ROUTES:
            assert re.search(rf"[/(|]{re.escape(route.path[1:])}\b", text), route.path

    def test_options_that_it_names_exist(self, name: str) -> None:
        text = (DEPLOY / name).read_text()
        assert "[oslo_middleware]\n#   enable_proxy_headers_parsing = true" in text
        assert "[roost]url_prefix" in text
        names = {option.dest for group in ("oslo_middleware", "roost") for option in OPTIONS[group]}
        assert {"enable_proxy_headers_parsing", "url_prefix"} <= names
        accept(["serve", "--prefix", "/placement"])
