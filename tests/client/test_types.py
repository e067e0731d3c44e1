"""The types of the client, as a program that uses it sees them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import roost
from roost.client import Capacity, Client, Explanation, Inventory

ROOT = Path(__file__).parents[2]

PROGRAM = """\
from roost.client import Client, direct

client = Client("http://localhost")
reveal_type(client.provider("uuid"))
reveal_type(client.inventories("uuid").inventories["VCPU"].capacity)
reveal_type(client.candidates({"resources": "VCPU:1"}).candidates[0].allocations)
reveal_type(client.project_usages("project"))
reveal_type(client.events().events[0].kind)
reveal_type(client.explain({"resources": "VCPU:1"})["nearest"][0]["providers"][0]["name"])
reveal_type(client.capacity({"resources": "VCPU:1"})["count"])
client.update_provider("uuid", name="name", parent_uuid=None)
with direct() as local:
    reveal_type(local)
"""
REVEALED = [
    "roost.client.values.Provider",
    "int",
    "Mapping[str, Mapping[str, int]]",
    "Mapping[str, Any]",
    "roost.model.EventKind",
    "str",
    "int",
    "roost.client.client.Client",
]


@pytest.mark.process
def test_a_program_sees_the_types_of_the_client(tmp_path: Path) -> None:
    """roost as an installed package, imported by a program in another folder."""
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-color-output", "--no-pretty"),
            *("--config-file", "", "--cache-dir", str(ROOT / ".mypy_cache" / "client_types")),
            "program.py",
        ],
        cwd=tmp_path,
        # In a checkout that is not the installed one, mypy must find the package of this checkout.
        env={**os.environ, "PYTHONPATH": str(Path(roost.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert "py.typed" not in done.stdout
    assert done.returncode == 0, done.stdout + done.stderr
    revealed = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert [re.sub(r"\b(builtins|typing|collections\.abc)\.", "", each) for each in revealed] == (
        REVEALED
    )


@pytest.fixture
def host(client: Client) -> str:
    found = client.create_provider(f"host of {os.urandom(8).hex()}")
    client.set_inventories(found.uuid, {"VCPU": Inventory(total=8)}, found.generation)
    return found.uuid


def test_answers_have_the_documented_types(client: Client, host: str) -> None:
    """Every documented field, and no other."""
    for query in ("VCPU:4", "VCPU:9", "VCPU:9&can_split=VCPU", "VCPU:1&required=HW_CPU_X86_AVX"):
        resources, *more = query.split("&")
        parameters = {"resources": resources, "in_tree": host}
        parameters |= dict(each.split("=") for each in more)
        for tree_uuid in (None, host):
            explained = client.explain(parameters, tree_uuid=tree_uuid)
            assert msgspec.convert(explained, Explanation) == explained
        counted = client.capacity(parameters)
        assert msgspec.convert(counted, Capacity) == counted
