"""The driver that docs/agent.md shows."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from roost.agent.driver import DriverError
from roost.agent.tracker import Tracker
from roost.client import Client
from tests.agent.hosts import claim

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agent.md"
LINES_MAX = 40


def example() -> Any:
    """The class as the page defines it."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(code.splitlines()) <= LINES_MAX
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names["LicenceDriver"]


def test_the_example_follows_its_file(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "licences.json"
    path.write_text(json.dumps({"cad": 20, "fem": 5}))
    tracker = Tracker(client, example()({"path": str(path)}), "licences")
    tracker.update(startup=True)
    found = {each.name: each.uuid for each in client.providers()}
    assert set(found) == {"licences", "cad", "fem"}
    assert client.inventories(found["cad"]).inventories["CUSTOM_LICENCE"].total == 20
    path.write_text(json.dumps({"cad": 30}))
    tracker.update(startup=False)
    assert {each.name for each in client.providers()} == {"licences", "cad"}
    assert client.inventories(found["cad"]).inventories["CUSTOM_LICENCE"].total == 30


def test_the_example_renames_a_class(client: Client, tmp_path: Path) -> None:
    """A class is renamed, and consumers keep what they hold of it."""
    path = tmp_path / "licences.json"
    path.write_text(json.dumps({"cad": 20}))
    tracker = Tracker(client, example()({"path": str(path)}), "licences")
    tracker.update(startup=True)
    [cad] = client.providers({"name": "cad"})
    client.create_resource_class("CUSTOM_LICENSE")
    inventories = client.inventories(cad.uuid)
    old = {"CUSTOM_LICENSE": inventories.inventories["CUSTOM_LICENCE"]}
    client.set_inventories(cad.uuid, old, inventories.generation)
    consumer = claim(client, "engineer", {cad.uuid: {"CUSTOM_LICENSE": 3}})
    tracker.update(startup=True)
    assert client.consumer(consumer).allocations == {cad.uuid: {"CUSTOM_LICENCE": 3}}
    assert client.usages(cad.uuid) == {"CUSTOM_LICENCE": 3}


def test_the_example_needs_a_path() -> None:
    with pytest.raises(DriverError, match="path=FILE"):
        example()({})
