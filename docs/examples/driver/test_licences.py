"""How to test a driver: with the tracker of the agent, and a service that is a database file alone.

pip install roost pytest && pytest
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from licences import CLASS, OLD_CLASS, LicenceDriver

from roost.agent.driver import DriverError
from roost.agent.tracker import Tracker
from roost.client import Client, Consumer, Inventory, direct

USER = "9b2e0a53-6d0b-4d5a-9c0d-6f6d6a1d7c11"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with direct(f"sqlite:///{tmp_path}/roost.db", sync=True) as client:
        yield client


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "licences.json"
    path.write_text(json.dumps({"products": {"cad": 20, "fem": 5}}))
    return path


@pytest.fixture
def tracker(client: Client, file: Path) -> Tracker:
    return Tracker(client, LicenceDriver({"path": str(file)}), "licences")


def product(client: Client, name: str) -> str:
    """The UUID of a provider."""
    [found] = client.providers({"name": name})
    return found.uuid


def claim(client: Client, provider: str, resource_class: str) -> None:
    client.set_consumer(
        Consumer(
            uuid=USER,
            allocations={provider: {resource_class: 1}},
            project_id="project",
            user_id="user",
            consumer_type="SEAT",
        )
    )


def test_it_reports_what_the_file_says(client: Client, tracker: Tracker, file: Path) -> None:
    assert tracker.update(startup=True) is not None
    assert client.inventories(product(client, "cad")).inventories[CLASS].total == 20
    # Nothing has changed, so nothing is sent.
    assert tracker.update(startup=False) is None
    file.write_text(json.dumps({"products": {"cad": 30}}))
    tracker.update(startup=False)
    assert {each.name for each in client.providers()} == {"licences", "cad"}
    assert client.inventories(product(client, "cad")).inventories[CLASS].total == 30


def test_consumers_keep_what_they_hold_when_the_class_is_renamed(
    client: Client, tracker: Tracker
) -> None:
    tracker.update(startup=True)
    cad = product(client, "cad")
    # As an earlier version of the driver left it.
    client.create_resource_class(OLD_CLASS)
    generation = client.inventories(cad).generation
    client.set_inventories(cad, {OLD_CLASS: Inventory(total=20)}, generation)
    claim(client, cad, OLD_CLASS)
    plan = tracker.update(startup=True)
    assert plan is not None
    assert client.consumer(USER).allocations == {cad: {CLASS: 1}}


def test_a_product_that_is_split_takes_its_users_along(
    client: Client, tracker: Tracker, file: Path
) -> None:
    tracker.update(startup=True)
    claim(client, product(client, "cad"), CLASS)
    described = {"products": {"cad-2d": 10, "cad-3d": 10}, "seats": {"cad-3d": [USER]}}
    file.write_text(json.dumps(described))
    plan = tracker.update(startup=True)
    assert plan is not None
    # The driver knew where the user is, so nothing had to be guessed.
    assert not plan.settlement.guessed
    assert client.consumer(USER).allocations == {product(client, "cad-3d"): {CLASS: 1}}


@pytest.mark.parametrize("options", [{}, {"path": "/nowhere", "paht": "x"}])
def test_wrong_options_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(DriverError, match="option"):
        LicenceDriver(options)


def test_a_file_that_is_not_there_is_an_error_in_words(client: Client) -> None:
    tracker = Tracker(client, LicenceDriver({"path": "/nowhere"}), "licences")
    with pytest.raises(DriverError, match="/nowhere cannot be read"):
        tracker.update(startup=True)
