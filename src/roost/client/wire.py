"""Conversion between the values of the client and the JSON of the API."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from roost.client.calls import Page
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
from roost.model import UNKNOWN_CONSUMER_TYPE

Answer = TypeVar("Answer")

_INVENTORY_FIELDS = Inventory.__struct_fields__


def provider(found: Any) -> Provider:
    return Provider(
        uuid=found["uuid"],
        name=found["name"],
        generation=found["generation"],
        parent_uuid=found.get("parent_provider_uuid"),
        root_uuid=found.get("root_provider_uuid", found["uuid"]),
    )


def providers(found: Any) -> list[Provider]:
    return [provider(each) for each in found["resource_providers"]]


def nothing(found: Any) -> None:
    """The answer says no more than that the request was done."""


def exists(found: Any) -> bool:
    """It was found."""
    return True


def extensions(found: Any) -> frozenset[str]:
    return frozenset(found.get("extensions", ()))


def inventory(found: Mapping[str, Any]) -> Inventory:
    return Inventory(**{name: found[name] for name in _INVENTORY_FIELDS if name in found})


def inventory_body(value: Inventory) -> dict[str, Any]:
    return msgspec.structs.asdict(value)


def inventories(found: Any) -> ProviderInventories:
    return ProviderInventories(
        generation=found["resource_provider_generation"],
        inventories={name: inventory(each) for name, each in found["inventories"].items()},
    )


def inventories_body(values: Mapping[str, Inventory], generation: int) -> dict[str, Any]:
    return {
        "resource_provider_generation": generation,
        "inventories": {name: inventory_body(each) for name, each in values.items()},
    }


def provider_generation(found: Any) -> int:
    return int(found["resource_provider_generation"])


def usages(found: Any) -> Mapping[str, Any]:
    read: Mapping[str, Any] = found["usages"]
    return read


def trait_names(found: Any) -> frozenset[str]:
    return frozenset(found["traits"])


def resource_class_names(found: Any) -> frozenset[str]:
    return frozenset(each["name"] for each in found["resource_classes"])


def traits(found: Any) -> ProviderTraits:
    return ProviderTraits(
        generation=found["resource_provider_generation"], traits=frozenset(found["traits"])
    )


def aggregates(found: Any) -> ProviderAggregates:
    return ProviderAggregates(
        generation=found["resource_provider_generation"], aggregates=frozenset(found["aggregates"])
    )


def consumer(uuid: str, found: Any) -> Consumer:
    return Consumer(
        uuid=uuid,
        allocations={key: each["resources"] for key, each in found["allocations"].items()},
        project_id=found.get("project_id"),
        user_id=found.get("user_id"),
        generation=found.get("consumer_generation"),
        consumer_type=found.get("consumer_type"),
    )


def provider_consumers(found: Any) -> Mapping[str, Resources]:
    return {consumer: held["resources"] for consumer, held in found["allocations"].items()}


# From the next version on, a consumer must have a type.
LAST_WITHOUT_TYPE = (1, 37)


def consumer_bodies(
    values: Iterable[Consumer],
) -> tuple[dict[str, dict[str, Any]], tuple[int, int] | None]:
    """The body for each consumer, and the newest version that they may be sent in.

    A consumer without a type can be written only in a version that has no types. The service then
    keeps the types that its consumers have.
    """
    consumers = list(values)
    typed = all(each.consumer_type not in (None, UNKNOWN_CONSUMER_TYPE) for each in consumers)
    bodies = {each.uuid: _consumer_body(each, typed=typed) for each in consumers}
    return bodies, None if typed else LAST_WITHOUT_TYPE


def _consumer_body(value: Consumer, *, typed: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "allocations": {key: {"resources": dict(held)} for key, held in value.allocations.items()},
        "project_id": value.project_id,
        "user_id": value.user_id,
        "consumer_generation": value.generation,
    }
    if value.mappings is not None:
        body["mappings"] = value.mappings
    if typed:
        body["consumer_type"] = value.consumer_type
    return body


def candidate(found: Any) -> Candidate:
    return Candidate(
        allocations={key: each["resources"] for key, each in found["allocations"].items()},
        mappings=found.get("mappings", {}),
    )


def placements(found: Any) -> Mapping[str, Candidate]:
    return {uuid: candidate(each) for uuid, each in found["placements"].items()}


def candidates_page(found: Any) -> Page[Candidate]:
    return Page(items=candidates(found).candidates, next=found.get("next"))


def as_it_is(found: Answer) -> Answer:
    """The answer has the shape of its value."""
    return found


def candidates(found: Any) -> Candidates:
    return Candidates(
        candidates=[candidate(request) for request in found["allocation_requests"]],
        summaries={
            key: ProviderSummary(
                capacity={name: each["capacity"] for name, each in summary["resources"].items()},
                used={name: each["used"] for name, each in summary["resources"].items()},
                traits=frozenset(summary.get("traits", ())),
                parent_uuid=summary.get("parent_provider_uuid"),
                root_uuid=summary.get("root_provider_uuid", key),
            )
            for key, summary in found["provider_summaries"].items()
        },
        complete=found.get("complete", True),
    )


def events(found: Any) -> Events:
    return Events(
        events=[
            Event(
                kind=_event_kind(each["kind"]),
                provider_uuid=each.get("resource_provider"),
                root_uuid=each.get("tree"),
                generation=each.get("generation"),
                usage=each.get("usage", {}),
                deleted=each.get("deleted", False),
            )
            for each in found["events"]
        ],
        position=found["position"],
    )


def events_page(found: Any) -> Page[Event]:
    read = events(found)
    return Page(items=read.events, next=read.position)


def _event_kind(text: str) -> EventKind:
    try:
        return EventKind(text)
    except ValueError:
        # A newer service may have kinds that this client does not know. Clients that compare kinds
        # skip such an event; raising an error would keep them from all events after it.
        return cast("EventKind", text)
