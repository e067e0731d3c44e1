"""What a driver is: it knows which resources a machine, or anything else, provides."""

import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from roost.agent.provider_tree import ProviderTree

# Consumer UUID -> the answer of GET /allocations/{consumer}, which has all that is needed to write
# it back. Drivers edit "allocations" -> provider UUID -> "resources" in place.
Allocations = dict[str, dict[str, Any]]

# Where the resources of a consumer are: resource class -> the name or the UUID of the provider, or
# several of them with the amount that is on each.
Whereabouts = Mapping[str, str | Mapping[str, int]]


class ReshapeNeeded(Exception):
    """Resources that consumers may hold have to move to other providers, or change their class."""


class DriverError(Exception):
    """A driver cannot work: its options are wrong, or it cannot read its input.

    The message may have several lines, one for each thing that is wrong.
    """


class Driver(ABC):
    """Describes providers. A process creates it once and calls it at every update."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = dict(options)

    def nodenames(self) -> list[str]:
        """The names of the root providers that this driver describes."""
        return [socket.gethostname()]

    def root_uuid(self, nodename: str) -> str | None:
        """The UUID that a root must have. None: the service's own, or a new one for a new root."""
        return None

    def where(self, nodename: str, consumer: str) -> Whereabouts:
        """Where the resources of a consumer really are, as far as the driver knows.

        A reshape asks for consumers whose resources it has to move, by their UUIDs in lower case
        and with dashes. For a class that is not in the answer, the agent chooses a provider with
        enough room.
        """
        return {}

    @abstractmethod
    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Turn the tree that the service has into the desired one, in place.

        The tree already contains the root. Without `allocations` a driver must not move anything
        that consumers may hold; if it has to, it raises ReshapeNeeded. It is then called again,
        with `allocations` and with the tree as it has left it, and moves what consumers hold along
        with the inventories, in place. A consumer that it empties or removes holds nothing any
        more. Whatever it leaves where there is no room for it, the agent moves.

        A periodic update also calls it a second time, to find out whether anybody would have to
        move. If so, the agent writes nothing.
        """
