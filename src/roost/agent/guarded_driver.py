"""A driver whose every failure is one line that names it, whatever it raises.

Drivers are written by others. One that fails must not end the agent with a traceback, nor leave
anything half done, nor hold up nodes that it describes well.
"""

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from roost.agent.driver import Allocations, Driver, DriverError, ReshapeNeeded, Whereabouts
from roost.agent.driver_calls import CALL_SECONDS_MAX, DriverCalls
from roost.agent.provider_tree import ProviderData, ProviderTree, TreeError
from roost.agent.stopping import Stopped
from roost.model import INTEGER_MAX, Inventory

Answer = TypeVar("Answer")


class DriverFailed(DriverError):
    """A driver has raised something. The message says which driver, and for which node."""


class GuardedDriver(Driver):
    """Calls a driver, one call at a time and none for too long, and checks what it answers.

    Nodes are updated by several threads, and drivers need not be thread-safe.
    """

    def __init__(
        self,
        driver: Driver,
        name: str,
        stop: threading.Event | None = None,
        *,
        seconds_max: float = CALL_SECONDS_MAX,
    ) -> None:
        """A call that takes longer than `seconds_max` is given up, and is a failure of its node.

        Once `stop` is set, the driver is not called any more: `Stopped` is raised instead.
        """
        self._driver = driver
        self._name = name
        self._calls = DriverCalls(name, seconds_max, stop or threading.Event())

    def nodenames(self) -> list[str]:
        def ask() -> list[str]:
            names = _converted("nodenames()", list(self._driver.nodenames()), list[str])
            # Each node is updated once, however often the driver names it.
            return list(dict.fromkeys(names))

        return self._call("nodenames()", None, ask)

    def root_uuid(self, nodename: str) -> str | None:
        def ask() -> str | None:
            found = self._driver.root_uuid(nodename)
            return None if found is None else str(UUID(found))

        return self._call("root_uuid()", nodename, ask)

    def where(self, nodename: str, consumer: str) -> Whereabouts:
        what = f"where({consumer})"

        def ask() -> Whereabouts:
            places = {
                name: dict(place) if isinstance(place, Mapping) else place
                for name, place in self._driver.where(nodename, consumer).items()
            }
            known: Whereabouts = _converted(what, places, dict[str, str | dict[str, int]])
            return known

        return self._call(what, nodename, ask)

    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """As the driver does it. After a failure neither argument is of use any more.

        A call that was given up may edit them still.
        """
        roots = {root.uuid: root.name for root in provider_tree.roots}
        before = provider_tree.copy()

        def ask() -> None:
            try:
                self._driver.update_provider_tree(provider_tree, nodename, allocations=allocations)
            except ReshapeNeeded as needed:
                if allocations is None:
                    raise
                raise DriverError(f"it asked for a reshape twice: {needed}") from needed
            _check_roots(roots, {root.uuid: root.name for root in provider_tree.roots})
            for uuid in provider_tree.get_provider_uuids():
                data = provider_tree.data(uuid)
                _check_provider(data)
                # What it leaves as it was is not its fault: others may have written that.
                if not before.exists(uuid) or before.has_inventory_changed(uuid, data.inventory):
                    _check_amounts(data)
            for consumer, record in (allocations or {}).items():
                _check_record(consumer, record)

        self._call("update_provider_tree()", nodename, ask)

    def _call(self, what: str, nodename: str | None, ask: Callable[[], Answer]) -> Answer:
        with named_failures(self._name, nodename):
            return self._calls.make(what, nodename, ask)


@contextmanager
def named_failures(driver: str, nodename: str | None = None) -> Iterator[None]:
    """Whatever a driver raises becomes `DriverFailed`; ReshapeNeeded alone is an answer.

    `Stopped` comes from the agent itself.
    """
    try:
        yield
    except (ReshapeNeeded, DriverFailed, Stopped):
        raise
    except Exception as error:
        parts = [f"driver {driver}", *([] if nodename is None else [nodename]), message(error)]
        raise DriverFailed(": ".join(parts)) from error


def message(error: Exception) -> str:
    """What a driver has raised, in a line; the type is named unless the message is for people."""
    if isinstance(error, DriverError | TreeError) and str(error):
        # Made for people. A file may have several things wrong with it, each on a line.
        return str(error)
    return ": ".join(filter(None, (type(error).__name__, " ".join(str(error).split()))))


# ---------------------------------------------------------------------------------------------
# What a driver may answer


def _converted(what: str, found: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        raise DriverError(f"{what}: {error}") from error


def _check_roots(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """The next update would not find a root that is new or has another name, and add it again."""
    if lost := before.keys() - after.keys():
        raise DriverError(f"it removed or moved the root {before[min(lost)]}")
    if added := after.keys() - before.keys():
        raise DriverError(
            f"it added the root {after[min(added)]}: the nodes that it describes are its roots"
        )
    for uuid, name in before.items():
        if after[uuid] != name:
            raise DriverError(
                f"it renamed the root {name} to {after[uuid]}: a host gets another name from "
                "nodenames() and root_uuid()"
            )


def _check_provider(data: ProviderData) -> None:
    what = f"the provider {data.name}"
    _converted(what, msgspec.structs.asdict(data), ProviderData)
    for resource_class, fields in data.inventory.items():
        _converted(f"{what}: the inventory of {resource_class}", fields, Inventory)


def _check_amounts(data: ProviderData) -> None:
    """A reshape takes amounts that the service otherwise refuses, and nobody could claim them."""
    for resource_class, fields in data.inventory.items():
        what = f"the inventory of {resource_class} on provider {data.name}"
        total, reserved, ratio = (
            fields[name] for name in ("total", "reserved", "allocation_ratio")
        )
        if not 1 <= total <= INTEGER_MAX:
            raise DriverError(f"{what}: the total is {total}, expected 1 to {INTEGER_MAX}")
        if not 0 <= reserved <= total:
            raise DriverError(f"{what}: {reserved} of {total} are reserved")
        if not (math.isfinite(ratio) and ratio >= 0):
            raise DriverError(f"{what}: the allocation_ratio is {ratio}")


def _check_record(consumer: str, record: Any) -> None:
    what = f"the allocations of {consumer}"
    if not isinstance(record, Mapping) or "allocations" not in record:
        raise DriverError(f"{what}: expected an object with allocations")
    _converted(what, record["allocations"], dict[str, dict[str, Any]])
    for provider, held in record["allocations"].items():
        resources = held.get("resources")
        _converted(f"{what}: {provider}: resources", resources, dict[str, int])
