"""The page on writing drivers, and the driver to start from that it names."""

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roost.agent.driver import Driver
from roost.agent.provider_tree import ProviderTree, TreeError
from roost.agent.reshape import ReshapeImpossible, move_inventory, rename_class
from roost.agent.tree_node import ProviderData
from roost.client import Client, Consumer, Inventory, direct
from roost.client.calls import Call
from tests.support.roost_server import RoostServer

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "drivers.md"
TEMPLATE = ROOT / "docs" / "examples" / "driver"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The template as a user has copied it."""
    return Path(shutil.copytree(TEMPLATE, tmp_path / "driver"))


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.process
def test_the_tests_of_the_template_pass(folder: Path) -> None:
    done = run(folder, "pytest", "-q", "-p", "no:cacheprovider")
    assert (done.returncode, " failed" in done.stdout) == (0, False), done.stdout
    assert re.search(r"\b[5-9] passed", done.stdout)


@pytest.mark.process
def test_the_template_runs_from_its_folder(
    client: Client, agent_server: RoostServer, folder: Path
) -> None:
    (folder / "licences.json").write_text(json.dumps({"products": {"cad": 20}}))
    driver = ["--driver", "licences:LicenceDriver", "-o", "path=licences.json"]
    done = run(folder, "roost", "agent", "run", *driver, "--once", "--url", agent_server.url)
    assert done.returncode == 0, done.stderr
    assert {each.name for each in client.providers()} == {"licences", "cad"}


@pytest.mark.process
def test_the_package_registers_its_driver(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    options = [
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "--target",
        str(target),
    ]
    done = run(folder, "pip", "install", *options, ".")
    assert done.returncode == 0, done.stderr
    [names] = target.glob("roost_driver_licences-*.dist-info/entry_points.txt")
    assert names.read_text().split() == [
        "[roost.agent.drivers]",
        "licences",
        "=",
        "licences:LicenceDriver",
    ]
    assert (target / "licences.py").exists()


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


@pytest.mark.parametrize(
    "names",
    [
        public(ProviderTree),
        public(Driver),
        set(ProviderData.__struct_fields__),
        {each.__name__ for each in (move_inventory, rename_class, ReshapeImpossible, TreeError)},
    ],
    ids=["tree", "driver", "data", "functions"],
)
def test_the_page_names_everything(names: set[str]) -> None:
    text = re.sub(r"```.*?```", "", PAGE.read_text(), flags=re.DOTALL)
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", text))))
    assert names <= words


def test_the_python_of_the_page_is_python() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        ast.parse(block)


def test_the_reshape_of_the_page_is_accepted(tmp_path: Path) -> None:
    [body] = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    described: dict[str, Any] = json.loads(body)
    host, card = described["inventories"]
    [(consumer, record)] = described["allocations"].items()
    with direct(f"sqlite:///{tmp_path}/roost.db", sync=True) as client:
        client.create_provider("host", uuid=host)
        client.create_provider("card", uuid=card, parent_uuid=host)
        client.set_inventories(host, {"VCPU": Inventory(total=16), "VGPU": Inventory(total=8)}, 0)
        held = {host: {"VCPU": 4, "VGPU": 2}}
        fields = {name: record[name] for name in ("project_id", "user_id", "consumer_type")}
        client.set_consumer(Consumer(uuid=consumer, allocations=held, **fields))
        inventories = described["inventories"]
        assert (
            client.inventories(host).generation
            == (inventories[host]["resource_provider_generation"])
        )
        client.send(Call(method="POST", path="/reshaper", body=described, read=lambda _: None))
        assert client.usages(card) == {"VGPU": 2}
