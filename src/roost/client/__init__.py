"""A typed client of the whole API.

    from roost.client import Client, Inventory, NoAuth

    with Client("http://127.0.0.1:8778", auth=NoAuth("admin")) as client:
        host = client.create_provider("host1")
        client.set_inventories(host.uuid, {"VCPU": Inventory(total=8)}, host.generation)

`direct` opens the same client without a server, directly on a database.
"""

from roost.client.auth import Auth, KeystoneAuth, NoAuth
from roost.client.client import Client
from roost.client.direct import direct
from roost.client.errors import (
    ApiError,
    BadRequest,
    ClientError,
    ConcurrentUpdate,
    Conflict,
    Forbidden,
    Gone,
    NotFound,
    NotUnderstood,
    Unauthorized,
    Unavailable,
    Unreachable,
    VersionUnavailable,
)
from roost.client.explanations import Capacity, Explanation
from roost.client.values import (
    Candidate,
    Candidates,
    Consumer,
    Event,
    EventKind,
    Events,
    Inventory,
    Provider,
    ProviderAggregates,
    ProviderInventories,
    ProviderSummary,
    ProviderTraits,
    Resources,
)

__all__ = [
    "ApiError",
    "Auth",
    "BadRequest",
    "Candidate",
    "Candidates",
    "Capacity",
    "Client",
    "ClientError",
    "ConcurrentUpdate",
    "Conflict",
    "Consumer",
    "Event",
    "EventKind",
    "Events",
    "Explanation",
    "Forbidden",
    "Gone",
    "Inventory",
    "KeystoneAuth",
    "NoAuth",
    "NotFound",
    "NotUnderstood",
    "Provider",
    "ProviderAggregates",
    "ProviderInventories",
    "ProviderSummary",
    "ProviderTraits",
    "Resources",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
    "VersionUnavailable",
    "direct",
]
