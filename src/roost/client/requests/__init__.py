"""Every request of the API, by noun: each is defined once, for both clients."""

from roost.client.requests.allocations import AllocationRequests
from roost.client.requests.candidates import CandidateRequests
from roost.client.requests.catalog import CatalogRequests
from roost.client.requests.events import EventRequests
from roost.client.requests.inventories import InventoryRequests
from roost.client.requests.providers import ProviderRequests
from roost.client.requests.service import ServiceRequests


class Requests(
    ProviderRequests,
    InventoryRequests,
    CatalogRequests,
    AllocationRequests,
    CandidateRequests,
    EventRequests,
    ServiceRequests,
):
    """Every request of the API as a method."""
