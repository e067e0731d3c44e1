"""Drivers by name: the built-in ones, and those that a package declares as an entry point."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from roost.agent.driver import Driver, DriverError

GROUP = "roost.agent.drivers"

# Our own, so that they are found even if the package was not reinstalled after they were added.
BUILT_IN = {
    "linux": "roost.agent.drivers.linux:LinuxDriver",
    "file": "roost.agent.drivers.file:FileDriver",
}


def load_driver(name: str, options: Mapping[str, str]) -> Driver:
    """Find a driver by its name and create it with its options."""
    known = _known()
    if name not in known:
        raise DriverError(f"There is no driver {name!r}; there are {', '.join(sorted(known))}.")
    try:
        kind = known[name].load()
    except Exception as error:  # importing a foreign module may raise anything
        raise DriverError(
            f"The driver {name!r} ({known[name].value}) cannot be loaded: {error}"
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, Driver)):
        raise DriverError(f"The driver {name!r} ({known[name].value}) is not a Driver.")
    return kind(options)


def _known() -> dict[str, EntryPoint]:
    found = {name: EntryPoint(name, value, GROUP) for name, value in BUILT_IN.items()}
    return found | {each.name: each for each in entry_points(group=GROUP)}
