"""Drivers by name: the built-in ones, those that a package declares, and any class of a module."""

import os
import re
import sys
from collections.abc import Mapping
from functools import reduce
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from roost.agent.driver import Driver, DriverError
from roost.agent.guarded_driver import message, named_failures

GROUP = "roost.agent.drivers"

# Our own, so that they are found even if the package was not reinstalled after they were added.
BUILT_IN = {
    "linux": "roost.agent.drivers.linux:LinuxDriver",
    "libvirt": "roost.agent.drivers.libvirt:LibvirtDriver",
    "file": "roost.agent.drivers.file:FileDriver",
}

_MODULE_AND_CLASS = re.compile(r"(?P<module>\w+(\.\w+)*):(?P<kind>\w+(\.\w+)*)")


def load_driver(name: str, options: Mapping[str, str]) -> Driver:
    """Find a driver by its name, or as module:Class, and create it with its options.

    The module may be in the current folder. Raises `DriverError`.
    """
    kind = _class_of_module(name) if ":" in name else _declared_class(name)
    if not (isinstance(kind, type) and issubclass(kind, Driver)):
        raise DriverError(f"The driver {name!r} is not a Driver, but {kind!r}.")
    with named_failures(name):
        return kind(options)


def _declared_class(name: str) -> object:
    known = {each: EntryPoint(each, value, GROUP) for each, value in BUILT_IN.items()}
    known |= {each.name: each for each in entry_points(group=GROUP)}
    if name not in known:
        raise DriverError(
            f"There is no driver {name!r}; there are {', '.join(sorted(known))}, and module:Class "
            "for any other."
        )
    try:
        return known[name].load()
    except Exception as error:  # importing a foreign module may raise anything
        raise DriverError(
            f"The driver {name!r} ({known[name].value}) cannot be loaded: {message(error)}"
        ) from error


def _class_of_module(name: str) -> object:
    parts = _MODULE_AND_CLASS.fullmatch(name)
    if parts is None:
        raise DriverError(f"The driver {name!r} is neither a name nor module:Class.")
    # As `python -m` does. A command that is installed has the folder of its script instead.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module: object = import_module(parts["module"])
    except Exception as error:
        raise DriverError(f"The driver {name!r} cannot be loaded: {message(error)}") from error
    try:
        return reduce(getattr, parts["kind"].split("."), module)
    except AttributeError as error:
        raise DriverError(f"The driver {name!r}: {message(error)}") from error
