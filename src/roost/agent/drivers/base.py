"""What a driver is: the one who knows what a machine, or anything else, has to give."""

import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from roost.agent.provider_tree import ProviderTree

# Consumer UUID -> what GET /allocations/{consumer} says of it, plus what the caller needs to
# write it back. Drivers edit "allocations" -> provider UUID -> "resources" in place.
Allocations = dict[str, dict[str, Any]]


class ReshapeNeeded(Exception):
    """Resources that consumers may hold have to move to other providers, or change their class."""


class DriverError(Exception):
    """A driver cannot do its work: bad options, or input that it cannot read."""


class Driver(ABC):
    """One source of truth about providers. It is made once, and asked again and again."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = dict(options)

    def nodenames(self) -> list[str]:
        """The names of the roots that this driver answers for."""
        return [socket.gethostname()]

    def root_uuid(self, nodename: str) -> str | None:
        """The UUID that a root must have; None: whatever the service has, or makes up."""
        return None

    @abstractmethod
    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Turn the tree that the service has into the one that should be, in place.

        The root is there already. Without `allocations` nothing that consumers may hold is to be
        moved: a driver that would have to raises ReshapeNeeded. With them, it moves what they hold
        along with the inventories, in place.
        """
