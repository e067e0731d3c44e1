"""The commands of roost-placement have the arguments, output and exit codes of Placement's."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.installation import Installation

SHELL = Path(__file__).with_name("command_shell.py")
NEWEST = "a082b8bb98d0"


class Result(NamedTuple):
    code: int
    output: str
    errors: str


class Side:
    """The commands of one of the two, with a database of their own."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.folder = folder
        # Where neither finds a configuration of this machine.
        self.default = folder / "default"
        self.default.mkdir(parents=True)
        self.configuration = folder / "placement.conf"
        # Complete, so that roost has no findings of its own.
        self.configuration.write_text(
            "[keystone_authtoken]\nauth_url = http://127.0.0.1:1\nauth_type = password\n"
            "username = placement\npassword = secret\nproject_name = service\n"
            "user_domain_id = default\nproject_domain_id = default\n"
            f"[placement_database]\nconnection = sqlite:///{folder / 'placement.db'}\n"
        )
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._process = subprocess.Popen(
            [python, SHELL],
            env={**environment, "OS_PLACEMENT_CONFIG_DIR": str(self.default)},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, line: str) -> Result:
        """Run `manage` or `status` with arguments, in which {folder} is that of this side."""
        name, *arguments = line.format(folder=self.folder).split()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, *arguments]) + "\n")
        self._process.stdin.flush()
        return Result(*json.loads(self._process.stdout.readline()))

    def configured(self, line: str) -> Result:
        name, _, rest = line.partition(" ")
        return self.run(f"{name} --config-file {{folder}}/placement.conf {rest}")

    def execute(self, *statements: str) -> None:
        with sqlite3.connect(self.folder / "placement.db") as connection:
            for statement in statements:
                connection.execute(statement)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


class Sides(NamedTuple):
    roost: Side
    reference: Side

    def same(self, line: str, *, code: int, output: bool = True) -> Result:
        """Run a line on both. The exit codes are equal, and what is printed if `output` says so."""
        ours, theirs = self.roost.configured(line), self.reference.configured(line)
        assert (ours.code, theirs.code) == (code, code), f"{line}\n{ours}\n{theirs}"
        if output:
            assert ours.output == theirs.output, line
        assert "Traceback" not in ours.errors
        return ours

    def execute(self, *statements: str) -> None:
        for side in self:
            side.execute(*statements)


@pytest.fixture(scope="module")
def sides(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    folder = tmp_path_factory.mktemp("commands")
    both = Sides(
        Side(installation.python, folder / "roost"),
        Side(Path(sys.executable), folder / "reference"),
    )
    yield both
    for side in both:
        side.close()


PROVIDERS = [
    f"INSERT INTO resource_providers (id, uuid, name, generation) VALUES ({number}, "
    f"'{number:08d}-0000-4000-8000-000000000000', 'host-{number}', 0)"
    for number in range(1, 61)
]
ALLOCATIONS = [
    "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES "
    f"({number}, '{number:08d}-0000-4000-8000-00000000000c', 0, 1)"
    for number in range(1, 4)
]


def test_from_an_empty_database_to_a_complete_one(sides: Sides) -> None:
    sides.same("manage db version", code=0)
    sides.same("status upgrade check", code=255, output=False)
    sides.same("manage db online_data_migrations", code=2, output=False)
    # Placement would believe it, and then try to migrate tables that do not exist.
    found = sides.roost.configured("manage db stamp head")
    assert found.code == 1
    assert "The tables are not those of a082b8bb98d0" in found.errors
    sides.same("manage db version", code=0)
    assert sides.same("manage db sync", code=0).output == ""
    sides.same("manage -d db sync", code=0)
    assert sides.same("manage db version", code=0).output == f"{NEWEST}\n"
    sides.same("manage db online_data_migrations", code=0)
    sides.same("status upgrade check", code=0)

    sides.execute(*PROVIDERS)
    sides.same("status upgrade check", code=2, output=False)
    for number in ("0", "-1", "x", "9" * 5000):
        sides.same(f"manage db online_data_migrations --max-count {number}", code=127)
    sides.same("manage db online_data_migrations --max-count 5", code=1, output=False)
    sides.same("manage db online_data_migrations", code=0, output=False)
    sides.same("status upgrade check", code=0)

    sides.execute(*ALLOCATIONS)
    sides.same("status upgrade check", code=1, output=False)
    found = sides.same("manage db online_data_migrations --max-count 2", code=1)
    assert "2 rows matched query create_incomplete_consumers, 2 migrated" in found.output
    sides.same("manage db online_data_migrations --max-count 2", code=1)
    sides.same("manage db online_data_migrations --max-count +2", code=0)
    sides.same("status upgrade check", code=0)
    # Where Placement fails: more than any database counts.
    sides.execute("UPDATE resource_providers SET root_provider_id = NULL WHERE id = 1")
    line = f"manage db online_data_migrations --max-count {10**30}"
    assert [sides.roost.configured(line).code for _ in range(2)] == [1, 0]

    for side in sides:
        (side.folder / "policy.yaml").write_text('{"placement:usages": "role:admin"}')
    found = sides.same("status upgrade check", code=2, output=False)
    assert found.output.count("Result: Success") == 2
    assert "| Check: Policy File JSON to YAML Migration " in found.output

    for version in ("422ece571366", "b4ed", "base", "head"):
        sides.same(f"manage db stamp {version}", code=0)
        sides.same("manage db version", code=0)
    assert sides.same("manage db stamp nonsense", code=1).errors.count("\n") == 1
    sides.same("manage db stamp", code=2)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("manage db version", 1),
        ("status upgrade check", 1),
        ("manage --config-file {folder}/nowhere.conf db version", 1),
        ("manage --config-dir {folder}/nowhere db version", 1),
        ("manage nonsense", 2),
        ("manage --nonsense db version", 2),
        ("manage db nonsense", 2),
        ("manage db sync -d", 2),
        ("manage db version --config-file {folder}/placement.conf", 2),
        ("status", 2),
        ("status upgrade", 2),
        ("status nonsense", 2),
        ("manage --help", 0),
        ("manage --version", 0),
        ("status --help", 0),
        ("manage --config-dir {folder} db version", 0),
        ("manage --config-dir={folder} --log-file {folder}/log --nodebug db version", 0),
        ("manage --config-file={folder}/placement.conf --use-json --use-journal db", 0),
    ],
)
def test_arguments(sides: Sides, line: str, code: int) -> None:
    found = sides.roost.run(line)
    assert (found.code, sides.reference.run(line).code) == (code, code), found
    if code == 1:
        assert found.errors.count("\n") == 1
        assert found.output == ""


def test_further_findings_do_not_change_the_exit_code(
    installation: Installation, tmp_path: Path
) -> None:
    """What roost finds beyond Placement's checks is shown as a warning."""
    side = Side(installation.python, tmp_path / "roost")
    with side.configuration.open("a") as file:
        file.write("sqlite_synchronous = false\n[api]\nauth_strategy = noauth2\n")
    assert side.configured("manage db sync").code == 0
    found = side.configured("status upgrade check")
    assert found.code == 0
    for title in ("roost: authentication", "roost: SQLite"):
        assert f"| Check: {title} " in found.output
    assert found.output.count("Result: Warning") == 2
    assert found.output.count("Result: Success") == 3
    as_json = json.loads(side.configured("status upgrade check --json").output)
    assert as_json["name"] == "Upgrade Check Results"
    results = {each["check"]: each["result"] for each in as_json["checks"]}
    assert results["Incomplete Consumers"] == 0
    assert results["roost: SQLite"] == 1
    side.close()


def test_files_and_folders_on_the_command_line(installation: Installation, tmp_path: Path) -> None:
    """The last one wins; a file takes the place of placement.conf, a folder of its snippets."""
    side = Side(installation.python, tmp_path / "roost")
    folder = side.folder / "folder"
    folder.mkdir()
    (folder / "one.conf").write_text("[placement_database]\nconnection = sqlite:////nowhere/a\n")
    given = "--config-file {folder}/placement.conf"
    assert side.run(f"manage {given} db sync").code == 0
    assert side.run(f"manage --config-dir {{folder}}/folder {given} db version").code == 0
    assert side.run(f"manage {given} --config-dir {{folder}}/folder db version").code == 1
    default = side.default
    (default / "placement.conf.d").mkdir()
    (default / "placement.conf").write_text("[api]\nauth_strategy = nonsense\n")
    assert side.run("manage db version").code == 1
    assert side.run(f"manage {given} db version").code == 0
    (default / "placement.conf").write_text(side.configuration.read_text())
    (default / "placement.conf.d" / "one.conf").write_text("[api]\nauth_strategy = nonsense\n")
    (folder / "one.conf").write_text("[api]\nauth_strategy = noauth2\n")
    assert side.run("manage db version").code == 1
    assert side.run("manage --config-dir {folder}/folder db version").output == f"{NEWEST}\n"
    side.close()


def test_what_is_only_for_the_service_does_not_matter(
    installation: Installation, tmp_path: Path
) -> None:
    """Its log file is not created, and a given file is enough, without the default folder."""
    sides = Sides(
        Side(installation.python, tmp_path / "roost"),
        Side(Path(sys.executable), tmp_path / "reference"),
    )
    for side in sides:
        side.default.rmdir()
        assert side.configured("manage db sync").code == 0
        text = side.configuration.read_text()
        for log_file in (side.folder / "placement.log", "/nonexistent/placement.log", ""):
            side.configuration.write_text(f"{text}[DEFAULT]\nlog_file = {log_file}\n")
            found = side.configured("manage db version")
            assert (found.code, found.output) == (0, f"{NEWEST}\n"), found
            assert side.configured("status upgrade check").code == 0
        assert not (side.folder / "placement.log").exists()
        side.close()
