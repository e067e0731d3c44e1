"""A program that uses all of `roost.client`, for a type checker; nobody runs it.

`assert_type` says which type a program sees.
"""

import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, assert_type

from keystoneauth1.session import Session

from roost.client import (
    AnswerTooLarge,
    ApiError,
    AsyncClient,
    Auth,
    AuthenticationFailed,
    BadRequest,
    Candidate,
    Candidates,
    Capacity,
    ClassSummary,
    Client,
    ClientError,
    ConcurrentUpdate,
    Conflict,
    Consumer,
    ConsumerDetails,
    DatabaseNotReady,
    DuplicateName,
    Event,
    EventKind,
    Events,
    ExplainedCounts,
    ExplainedInventory,
    ExplainedProvider,
    ExplainedRule,
    ExplainedStage,
    ExplainedTree,
    Explanation,
    Forbidden,
    Gone,
    GroupSummary,
    Hold,
    HoldTooSoon,
    IdempotencyKeyReused,
    InvalidRequest,
    Inventory,
    InventoryInUse,
    KeystoneAuth,
    NoAuth,
    NoCandidates,
    NotFound,
    NotUnderstood,
    Provider,
    ProviderAggregates,
    ProviderDetails,
    ProviderHasChildren,
    ProviderInUse,
    ProviderInventories,
    ProviderSummary,
    ProviderTraits,
    Relaxation,
    Request,
    Resources,
    SearchTooHard,
    Summary,
    TreeCapacity,
    Unauthorized,
    Unavailable,
    Unreachable,
    VersionUnavailable,
    direct,
)


def opened(session: Session) -> Iterator[Client]:
    auth: Auth = NoAuth("admin", roles=("admin",))
    yield Client("https://placement", auth=auth, verify="/etc/ssl/authority.pem", timeout=5)
    yield Client("https://placement", verify=ssl.create_default_context(), retries=2)
    auth = KeystoneAuth.password("https://keystone", username="u", password="p", project_name="p")
    yield Client(auth.endpoint(region="one", interface="public"), auth=auth, request_id="req-1")
    yield Client("https://placement", auth=KeystoneAuth.of_session(session))
    yield assert_type(Client.from_session(session, region="one", interface="public"), Client)
    with direct("sqlite:///roost.db", sync=True) as local:
        yield assert_type(local, Client)


def providers(client: Client, uuid: str) -> None:
    assert_type(client.version, tuple[int, int])
    assert_type(client.service_time, datetime | None)
    assert_type(client.extensions(), frozenset[str])
    assert_type(client.openapi(), Mapping[str, Any])
    host = client.create_provider("host", uuid=uuid, parent_uuid=None)
    assert_type(host, Provider)
    assert_type(client.provider(uuid).parent_uuid, str | None)
    assert_type(client.providers({"name": "host", "member_of": [uuid]}), list[Provider])
    assert_type(client.tree(uuid), list[Provider])
    assert_type(client.update_provider(uuid, name="other", parent_uuid=None), Provider)
    client.delete_provider(uuid)
    for found in client.bulk_providers(include=["traits"], tree=uuid, resources={"VCPU": 1}):
        assert_type(found, ProviderDetails)
        assert_type(found.provider.name, str)
        assert_type(found.inventories, Mapping[str, Inventory])
        assert_type(found.usages, Resources)
        assert_type(found.traits | found.aggregates, frozenset[str])


def inventories(client: Client, uuid: str) -> None:
    read = client.inventories(uuid)
    assert_type(read, ProviderInventories)
    assert_type(read.inventories["VCPU"].capacity, int)
    assert_type(client.inventory(uuid, "VCPU"), Inventory)
    vcpu = Inventory(total=8, reserved=1, allocation_ratio=2.0)
    written = client.set_inventories(uuid, {"VCPU": vcpu}, read.generation)
    assert_type(written.generation, int)
    assert_type(client.set_inventory(uuid, "VCPU", vcpu, written.generation), int)
    assert_type(client.create_inventory(uuid, "PCPU", vcpu, written.generation), int)
    client.delete_inventory(uuid, "VCPU")
    client.delete_inventories(uuid)
    assert_type(client.usages(uuid), Resources)


def names(client: Client, uuid: str, generation: int) -> None:
    assert_type(client.traits({"name": "startswith:CUSTOM_"}), frozenset[str])
    assert_type(client.has_trait("CUSTOM_A"), bool)
    client.create_trait("CUSTOM_A")
    client.delete_trait("CUSTOM_A")
    assert_type(client.resource_classes(), frozenset[str])
    assert_type(client.has_resource_class("CUSTOM_A"), bool)
    client.create_resource_class("CUSTOM_A", exist_ok=False)
    client.rename_resource_class("CUSTOM_A", "CUSTOM_B")
    client.delete_resource_class("CUSTOM_B")
    assert_type(client.provider_traits(uuid), ProviderTraits)
    assert_type(client.set_provider_traits(uuid, {"CUSTOM_A"}, generation).traits, frozenset[str])
    client.delete_provider_traits(uuid)
    assert_type(client.provider_aggregates(uuid), ProviderAggregates)
    assert_type(client.set_provider_aggregates(uuid, [uuid], generation).generation, int)


def consumers(client: Client, uuid: str) -> None:
    consumer = client.consumer(uuid)
    assert_type(consumer, Consumer)
    assert_type(consumer.allocations, Mapping[str, Resources])
    client.set_consumer(consumer)
    client.set_consumers([consumer])
    hold = client.hold(tree=uuid, seconds=2.5)
    assert_type(hold, Hold)
    client.release_hold(hold.id)
    client.reshape({uuid: ProviderInventories(generation=1, inventories={})}, [consumer])
    client.delete_consumer(uuid)
    assert_type(client.provider_consumers(uuid), Mapping[str, Resources])
    assert_type(client.project_usages("project", consumer_type="all"), Mapping[str, Any])
    before = datetime(2026, 1, 1, tzinfo=UTC)
    for found in client.consumers(tree=uuid, resource_class="VCPU", changed_before=before):
        assert_type(found, ConsumerDetails)
        assert_type(found.consumer.project_id, str | None)
        assert_type(found.changed_at, datetime | None)
    client.consumers(resource_provider={uuid})


def searches(client: Client, uuid: str) -> None:
    request = (
        Request()
        .resources({"CUSTOM_GOLD": 1}, VCPU=2)
        .required("CUSTOM_A", "!CUSTOM_B")
        .group("_NET", SRIOV_NET_VF=1, member_of=[uuid], required="CUSTOM_C")
        .same_subtree("_CPU", "_NET")
        .order("pack")
        .limit(5)
    )
    assert_type(request, Request)
    assert_type(Request.parse(str(request)), Request)
    client.candidates("resources=VCPU:1")
    client.candidates({"resources": {"VCPU": 1}, "limit": 5, "member_of": [uuid]})
    found = client.candidates(request)
    assert_type(found, Candidates)
    assert_type(found.candidates[0].allocations, Mapping[str, Resources])
    assert_type(found.summaries, Mapping[str, ProviderSummary])
    assert_type(client.all_candidates(request), Iterator[Candidate])
    placed = client.place(request, 3, project_id="project", user_id="user", apart=True)
    assert_type(placed, Mapping[str, Candidate])
    client.place(request, [Consumer(uuid=uuid, project_id="project", user_id="user"), uuid])
    capacity = client.capacity(request)
    assert_type(capacity, Capacity)
    assert_type(capacity.trees, tuple[TreeCapacity, ...])


def explanations(client: Client, request: Request, uuid: str) -> None:
    found = client.explain(request, tree_uuid=uuid)
    assert_type(found, Explanation)
    if found.verdict == "not now" and found.tree is not None:
        assert_type(found.tree, ExplainedTree)
    assert_type(found.stages, tuple[ExplainedStage, ...])
    assert_type(found.stages[0].rule, ExplainedRule)
    assert_type(found.stages[0].trees, ExplainedCounts)
    assert_type(found.stages[0].trees.before - found.stages[0].trees.after, int)
    assert_type(found.nearest[0].providers[0], ExplainedProvider)
    assert_type(found.nearest[0].providers[0].inventory, ExplainedInventory | None)
    assert_type(found.relaxations[0], Relaxation)


def summaries(client: Client) -> None:
    found = client.summary(by=["aggregates", "traits"], resource_classes=["VCPU"])
    assert_type(found, Summary)
    assert_type(found.resources["VCPU"], ClassSummary)
    assert_type(found.aggregates, Mapping[str, GroupSummary])
    assert_type(found.traits["HW_NUMA_ROOT"].resources["VCPU"].free, int)


def events(client: Client, uuid: str) -> None:
    found = client.events(wait=5, kinds=[EventKind.ALLOCATIONS])
    assert_type(found, Events)
    for event in client.watch(found.position, kinds=["provider"], tree=uuid):
        assert_type(event, Event)
        assert_type(event.kind, EventKind)


def refused(client: Client, uuid: str) -> str:
    try:
        client.delete_provider(uuid)
    except (ProviderInUse, ProviderHasChildren, InventoryInUse, DuplicateName) as error:
        return error.code
    except (NoCandidates, IdempotencyKeyReused, HoldTooSoon, ConcurrentUpdate, Conflict) as error:
        return error.detail
    except (SearchTooHard, AnswerTooLarge, BadRequest) as error:
        return error.request_id or ""
    except Unavailable as error:
        return str(error.retry_after)
    except (Unauthorized, Forbidden, NotFound, Gone, ApiError) as error:
        return str(error.status)
    except Unreachable as error:
        return "perhaps" if error.sent else "no"
    except (InvalidRequest, VersionUnavailable, NotUnderstood) as error:
        return str(error)
    except (AuthenticationFailed, DatabaseNotReady, ClientError) as error:
        return str(error)
    return ""


async def awaiting(session: Session, request: Request, uuid: str) -> None:
    assert_type(AsyncClient.from_session(session), AsyncClient)
    async with AsyncClient("https://placement", auth=NoAuth()) as client:
        assert_type(await client.version(), tuple[int, int])
        assert_type(await client.provider(uuid), Provider)
        assert_type(await client.explain(request), Explanation)
        assert_type(await client.set_inventory(uuid, "VCPU", Inventory(total=1), 1), int)
        assert_type(client.all_candidates(request), AsyncIterator[Candidate])
        async for event in client.watch():
            assert_type(event, Event)
        async for found in client.bulk_providers(limit=100):
            assert_type(found, ProviderDetails)
        names = [each.consumer.uuid async for each in client.consumers()]
        assert_type(names, list[str])


def mistakes(client: Client, waiting: AsyncClient) -> None:
    """What a type checker refuses. If it did not, mypy would say that an ignore is not needed."""
    client.provider(7)  # type: ignore[arg-type]
    client.bulk_providers(colour="red")  # type: ignore[call-arg]
    _ = client.explain("resources=VCPU:1")["verdict"]  # type: ignore[index]
    _ = waiting.provider("uuid").name  # type: ignore[attr-defined]
    for _ in waiting.watch():  # type: ignore[attr-defined]
        pass
    Request().limit("5")  # type: ignore[arg-type]
