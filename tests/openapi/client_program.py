"""What a user of a generated client would write. The test runs it, and checks its types.

Usage: client_program.py URL
"""

import sys
from http import HTTPStatus
from uuid import UUID

from placement_api import AuthenticatedClient
from placement_api.api.allocations import allocations_get, allocations_put
from placement_api.api.candidates import candidates_get, candidates_post
from placement_api.api.events import events_get
from placement_api.api.explain import explain_get
from placement_api.api.inventories import inventories_get_all, inventories_put_all
from placement_api.api.providers import providers_get_all, providers_post
from placement_api.api.traits import traits_put, traits_put_of_provider
from placement_api.models import (
    AllocationCandidates,
    Amounts,
    CandidatesRequest,
    CandidatesRequestGroups,
    ConsumerAllocations,
    ConsumerUpdate,
    ConsumerUpdateAllocations,
    Errors,
    EventKind,
    Events,
    Explanation,
    GroupParameters,
    InventoriesUpdate,
    InventoriesUpdateInventories,
    InventoryInput,
    ProviderInventories,
    ProviderTraits,
    ResourceProvider,
    ResourceProviderCreate,
    ResourceProviders,
    TraitsUpdate,
    Verdict,
)

CONSUMER = "e1a798af-887f-455f-9f92-53e593a77a76"


def make_host(client: AuthenticatedClient) -> UUID:
    made = providers_post.sync(client=client, body=ResourceProviderCreate(name="gpu1"))
    assert isinstance(made, ResourceProvider)
    assert made.parent_provider_uuid is None
    amounts = InventoriesUpdateInventories()
    amounts["VCPU"] = InventoryInput(total=32, allocation_ratio=2.0)
    amounts["MEMORY_MB"] = InventoryInput(total=262_144, reserved=8192)
    inventories = inventories_put_all.sync(
        made.uuid,
        client=client,
        body=InventoriesUpdate(resource_provider_generation=made.generation, inventories=amounts),
    )
    assert isinstance(inventories, ProviderInventories)
    assert inventories.inventories["VCPU"].total == 32
    assert inventories.inventories["VCPU"].reserved == 0
    return made.uuid


def add_gpu(client: AuthenticatedClient, host: UUID) -> UUID:
    body = ResourceProviderCreate(name="gpu1-a100-0", parent_provider_uuid=host)
    gpu = providers_post.sync(client=client, body=body)
    assert isinstance(gpu, ResourceProvider)
    assert gpu.root_provider_uuid == host
    amounts = InventoriesUpdateInventories()
    amounts["PGPU"] = InventoryInput(total=1)
    update = InventoriesUpdate(resource_provider_generation=gpu.generation, inventories=amounts)
    assert (
        inventories_put_all.sync_detailed(gpu.uuid, client=client, body=update).status_code == 200
    )
    assert traits_put.sync_detailed("CUSTOM_A100", client=client).status_code == HTTPStatus.CREATED
    traits = traits_put_of_provider.sync(
        gpu.uuid,
        client=client,
        body=TraitsUpdate(traits=["CUSTOM_A100"], resource_provider_generation=1),
    )
    assert isinstance(traits, ProviderTraits)
    assert traits.traits == ["CUSTOM_A100"]
    return gpu.uuid


def search(client: AuthenticatedClient, host: UUID, gpu: UUID) -> ConsumerUpdateAllocations:
    """Where 8 cores and an A100 are: by a URL with a group, and by a body."""
    groups = GroupParameters()
    groups["resources_GPU"] = "PGPU:1"
    groups["required_GPU"] = ["CUSTOM_A100", "!HW_GPU_API_VULKAN"]
    found = candidates_get.sync(client=client, resources="VCPU:8", groups=groups, limit=10)
    assert isinstance(found, AllocationCandidates), found
    (candidate,) = found.allocation_requests
    assert candidate.mappings["_GPU"] == [gpu]
    assert found.provider_summaries[str(host)].resources["VCPU"].capacity == 64
    request = CandidatesRequest(
        groups=CandidatesRequestGroups.from_dict(
            {
                "": {"resources": {"VCPU": 8}},
                "_GPU": {"resources": {"PGPU": 1}, "required": ["CUSTOM_A100"]},
            }
        )
    )
    again = candidates_post.sync(client=client, body=request)
    assert isinstance(again, AllocationCandidates)
    assert again.allocation_requests == [candidate]
    return ConsumerUpdateAllocations.from_dict(candidate.allocations.to_dict())


def claim(client: AuthenticatedClient, allocations: ConsumerUpdateAllocations) -> None:
    body = ConsumerUpdate(
        allocations=allocations,
        project_id="demo",
        user_id="demo",
        consumer_generation=None,
        consumer_type="INSTANCE",
    )
    done = allocations_put.sync_detailed(CONSUMER, client=client, body=body)
    assert done.status_code == HTTPStatus.NO_CONTENT, done.content
    # The consumer is no longer new.
    refused = allocations_put.sync(CONSUMER, client=client, body=body)
    assert isinstance(refused, Errors)
    (error,) = refused.errors
    assert (error.status, error.code) == (409, "placement.concurrent_update"), error


def read_back(client: AuthenticatedClient, host: UUID, gpu: UUID, position: str) -> None:
    held = allocations_get.sync(CONSUMER, client=client)
    assert isinstance(held, ConsumerAllocations)
    assert held.allocations[str(gpu)].resources["PGPU"] == 1
    assert (held.consumer_generation, held.consumer_type) == (1, "INSTANCE")
    listed = providers_get_all.sync(client=client, tree=host, include="usages,traits")
    assert isinstance(listed, ResourceProviders)
    used = {each.uuid: each.usages for each in listed.resource_providers}[gpu]
    assert isinstance(used, Amounts)
    assert used["PGPU"] == 1
    events = events_get.sync(client=client, after=position, kind=[EventKind.ALLOCATIONS])
    assert isinstance(events, Events)
    assert {event.resource_provider for event in events.events} == {host, gpu}


def explain(client: AuthenticatedClient) -> None:
    """Why a second one does not fit."""
    groups = GroupParameters()
    groups["resources_GPU"] = "PGPU:1"
    found = explain_get.sync(client=client, groups=groups)
    assert isinstance(found, Explanation)
    assert found.verdict == Verdict.NOT_NOW
    assert found.stages[0].trees.out == 0


def see_errors(client: AuthenticatedClient) -> None:
    missing = inventories_get_all.sync(UUID(CONSUMER), client=client)
    assert isinstance(missing, Errors)
    assert missing.errors[0].title == "Not Found"


def main(url: str) -> None:
    with AuthenticatedClient(
        base_url=url,
        token="admin",
        prefix="",
        auth_header_name="X-Auth-Token",
        raise_on_unexpected_status=True,
    ) as client:
        start = events_get.sync(client=client)
        assert isinstance(start, Events)
        host = make_host(client)
        gpu = add_gpu(client, host)
        claim(client, search(client, host, gpu))
        read_back(client, host, gpu, start.position)
        explain(client)
        see_errors(client)
    print("done")


if __name__ == "__main__":
    main(sys.argv[1])
