"""docs/how-to: every recipe, played from top to bottom on an empty service."""

import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.documents.openstack import openstack
from tests.support.installation import ROOT
from tests.support.page_player import PagePlayer
from tests.support.preloaded_program import PreloadedProgram
from tests.support.roost_server import RoostServer

# The last section of each recipe, and of no other page in the folder.
MARK = "\n## What can go wrong\n"
FOLDER = ROOT / "docs" / "how-to"
RECIPES = [page for page in sorted(FOLDER.glob("*.md")) if MARK in page.read_text()]
URL = "http://127.0.0.1:8778"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PreloadedProgram]:
    with PreloadedProgram(tmp_path_factory.mktemp("program")) as program:
        yield program


def test_every_recipe_is_listed() -> None:
    assert RECIPES
    contents = (FOLDER / "index.md").read_text()
    for page in RECIPES:
        title = page.read_text().partition("\n")[0].removeprefix("# ")
        assert f"| [{title}]({page.name}) |" in contents


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_a_recipe(page: Path, program: PreloadedProgram, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    python = Path(sys.executable).parent
    around = openstack(folder) if page.stem == "replace-nova-audit" else nullcontext()
    with around, RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path) as server:
        environment = {
            "HOME": str(folder),
            "PATH": os.pathsep.join([str(program.bin), str(python), "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "ROOST_URL": server.url,
        }
        with PagePlayer(
            environment=environment, folder=folder, scratch=tmp_path, there={URL: server.url}
        ) as player:
            player.play(page.name, page.read_text())
