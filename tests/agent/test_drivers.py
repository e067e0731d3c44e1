"""Loading drivers by name."""

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from roost.agent import drivers
from roost.agent.driver import Driver, DriverError
from roost.agent.drivers import BUILT_IN, GROUP, load_driver


class OwnDriver(Driver):
    def update_provider_tree(self, provider_tree, nodename, allocations=None):
        provider_tree.add_traits(nodename, "CUSTOM_OWN")


@pytest.fixture
def declared(monkeypatch):
    """A package that declares drivers."""
    points = [
        EntryPoint("own", f"{__name__}:OwnDriver", GROUP),
        EntryPoint("broken", "no.such.module:Driver", GROUP),
        EntryPoint("other", "pathlib:Path", GROUP),
    ]
    monkeypatch.setattr(drivers, "entry_points", lambda group: points)


def test_the_package_declares_the_built_in_drivers():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["entry-points"][GROUP] == BUILT_IN


def test_a_driver_of_another_package_is_loaded(declared):
    driver = load_driver("own", {"colour": "blue"})
    assert isinstance(driver, OwnDriver)
    assert driver.options == {"colour": "blue"}
    assert len(driver.nodenames()) == 1
    assert driver.root_uuid("host") is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nobody", "no driver 'nobody'; there are broken, file, libvirt, linux, other, own"),
        ("broken", r"'broken' \(no.such.module:Driver\) cannot be loaded"),
        ("other", "'other' is not a Driver, but <class .*Path'>"),
    ],
)
def test_a_driver_that_cannot_be_loaded_is_an_error(declared, name, words):
    with pytest.raises(DriverError, match=words):
        load_driver(name, {})
