"""A typed client of the whole API.

    with Client("http://127.0.0.1:8778", auth=NoAuth("admin")) as client:
        host = client.create_provider("host1")
        client.set_inventories(host.uuid, {"VCPU": Inventory(total=8)}, host.generation)

`direct` gives the same client without a server, on nothing but a database.
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
from roost.client.values import (
    Candidate,
    Candidates,
    Consumer,
    Event,
    Events,
    Inventory,
    Provider,
    ProviderAggregates,
    ProviderInventories,
    ProviderSummary,
    ProviderTraits,
)

__all__ = [
    "ApiError",
    "Auth",
    "BadRequest",
    "Candidate",
    "Candidates",
    "Client",
    "ClientError",
    "ConcurrentUpdate",
    "Conflict",
    "Consumer",
    "Event",
    "Events",
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
    "Unauthorized",
    "Unavailable",
    "Unreachable",
    "VersionUnavailable",
    "direct",
]
