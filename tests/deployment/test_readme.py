"""The README's minute with roost, as it is written there: two terminals, and a program."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx
import pytest

from tests.support.database_servers import free_port
from tests.support.installation import ROOT, environment_of_a_newcomer
from tests.support.page_player import PagePlayer
from tests.support.pages import blocks
from tests.support.service_process import ServiceProcess
from tests.support.terminal_session import Shell, commands

TITLE = "## A minute with roost\n"
URL = "http://127.0.0.1:8778"
# What a clone has and the minute needs.
CLONED = ("src", "docs", "LICENSE", "README.md", "pyproject.toml")


def minute() -> str:
    _, _, text = (ROOT / "README.md").read_text().partition(TITLE)
    assert text
    return text.partition("\n## ")[0]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("clone")
    for name in CLONED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return environment_of_a_newcomer(tmp_path_factory.mktemp("home"))


def test_the_minute(clone: Path, environment: Mapping[str, str], tmp_path: Path) -> None:
    text = minute()
    first, *_ = blocks(text)
    *install, serve = [command.text for command in commands(first.text)]
    assert serve == "roost serve"
    with first_terminal(environment, clone, tmp_path) as shell:
        for command in install:
            done = shell.run(command)
            assert done.status == 0, "\n".join(done.output)
    with (
        Service(install, environment, tmp_path) as service,
        PagePlayer(
            environment={**environment, "ROOST_URL": service.url},
            folder=clone,
            scratch=tmp_path,
            there={URL: service.url},
        ) as player,
    ):
        player.play("README.md", text.partition(first.text)[2].partition("```")[2])


def first_terminal(environment: Mapping[str, str], folder: Path, scratch: Path) -> Shell:
    (scratch / "first").mkdir()
    return Shell(environment=environment, folder=folder, scratch=scratch / "first")


class Service(ServiceProcess):
    """The last command of the first terminal, on a port of its own."""

    def __init__(self, before: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        [activate] = [line for line in before if line.startswith(". ")]
        super().__init__(
            ["bash", "-c", f"{activate}\nexec roost serve --port {port}"],
            environment=environment,
            output_path=folder / "serve.log",
            is_ready=lambda: httpx.get(f"{self.url}/", timeout=5).status_code == 200,
        )
