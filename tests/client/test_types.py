"""The types of the client, as a program that uses it sees them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import roost.client
from roost.client import Client, Inventory, Request
from roost.client.calls import Call
from roost.client.requests import Requests
from tests.support.installation import Installation

ROOT = Path(__file__).parents[2]
EXPLAIN = "/allocation_candidates/explain"

PROGRAM = Path(__file__).with_name("typed_program.py")


def test_the_program_uses_everything() -> None:
    """All names that `roost.client` exports, and all requests of a client."""
    text = PROGRAM.read_text()
    assert [
        name for name in roost.client.__all__ if len(re.findall(rf"\b{name}\b", text)) < 2
    ] == []
    requests = [name for name in dir(Requests) if not name.startswith("_")]
    assert [name for name in requests if f"client.{name}(" not in text] == []


@pytest.mark.process
def test_a_program_sees_the_types_of_the_installed_package(tmp_path: Path) -> None:
    """The program is in another folder, and roost in its environment, from a wheel."""
    environment = Installation(tmp_path / "environment")
    environment.create()
    assert (environment.packages / "roost" / "py.typed").exists()
    shutil.copy(PROGRAM, tmp_path / "program.py")
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-color-output", "--no-pretty"),
            *("--config-file", "", "--cache-dir", str(ROOT / ".mypy_cache" / "client_types")),
            *("--python-executable", str(environment.python), "program.py"),
        ],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout == "Success: no issues found in 1 source file\n", done.stdout + done.stderr


@pytest.fixture
def host(client: Client) -> str:
    found = client.create_provider(f"host of {os.urandom(8).hex()}")
    client.set_inventories(found.uuid, {"VCPU": Inventory(total=8)}, found.generation)
    return found.uuid


def as_sent(client: Client, path: str, asked: Request) -> bytes:
    """The JSON of an answer."""
    query, read = asked.query(), msgspec.json.encode
    return client.send(Call(method="GET", path=path, query=query, read=read, since=(1, 39)))


@pytest.mark.parametrize(
    "asked",
    [
        Request().resources(VCPU=4),
        Request().resources(VCPU=9),
        Request().resources(VCPU=9).can_split("VCPU"),
        Request().resources(VCPU=1).required("HW_CPU_X86_AVX"),
        Request().group("_A", VCPU=1).group("_B", VCPU=1).same_subtree("_A", "!_B"),
    ],
    ids=str,
)
def test_answers_have_the_documented_fields(client: Client, host: str, asked: Request) -> None:
    """As JSON they are what the service sent, in the same order."""
    asked = asked.in_tree(host)
    for tree_uuid in (None, host):
        explained = client.explain(asked, tree_uuid=tree_uuid)
        about = asked if tree_uuid is None else asked.with_one("tree", tree_uuid)
        assert msgspec.json.encode(explained) == as_sent(client, EXPLAIN, about)
    counted = client.capacity(asked)
    assert msgspec.json.encode(counted) == as_sent(client, "/capacity", asked)
