"""Generated requests that write, made from the present state of the cloud."""

import copy
from collections.abc import Callable
from typing import Any

from tests.comparison import claims
from tests.comparison.choices import Choices
from tests.comparison.requests import VERSIONS, Request, minor_of
from tests.comparison.worlds import SHARING, TRAITS, make_any_inventory, make_uuid, some

WRONG_VALUES = (None, "", "nope", -1, 0, 1.5, True, [], {}, 2**31, "CUSTOM_NOPE")


def make_write(choose: Choices) -> Request:
    request = choose.one_of(*MAKERS)(choose)
    return spoiled(choose, request) if choose.likely(0.12) else request


# ---------------------------------------------------------------------------------------------
# Providers


def create_provider(choose: Choices) -> Request:
    version = choose.version()
    body: dict[str, Any] = {
        "uuid": choose.one_of(make_uuid(choose.chance), *choose.world.unused_providers),
        "name": some_name(choose),
    }
    if minor_of(version) >= 14 and choose.likely(0.7):
        body["parent_provider_uuid"] = choose.provider()
    return Request("POST", "/resource_providers", version, body=body)


def change_provider(choose: Choices) -> Request:
    version = choose.version() if choose.likely(0.5) else choose.version(36)
    provider = choose.provider()
    current = choose.state.providers.get(provider, {"name": "nobody"})
    body = {"name": some_name(choose) if choose.likely(0.3) else current["name"]}
    if minor_of(version) >= 14 and choose.likely(0.8):
        parent = current.get("parent_provider_uuid")
        body["parent_provider_uuid"] = choose.one_of(
            None, parent, choose.provider(), choose.provider()
        )
    return Request("PUT", f"/resource_providers/{provider}", version, body=body)


def some_name(choose: Choices) -> str:
    """Often a name that is taken."""
    return f"provider-{choose.chance.randint(1, 30)}"


def delete_provider(choose: Choices) -> Request:
    return Request("DELETE", f"/resource_providers/{choose.provider()}", choose.version())


# ---------------------------------------------------------------------------------------------
# What a provider has


def create_inventory(choose: Choices) -> Request:
    provider = choose.provider()
    body = {"resource_class": choose.resource_class(provider), **make_any_inventory(choose.chance)}
    path = f"/resource_providers/{provider}/inventories"
    return Request("POST", path, choose.version(), body=body)


def replace_inventories(choose: Choices) -> Request:
    provider = choose.provider()
    body = {
        "resource_provider_generation": choose.generation(provider),
        "inventories": claims.new_inventories(choose, provider),
    }
    path = f"/resource_providers/{provider}/inventories"
    return Request("PUT", path, choose.version(), body=body)


def change_inventory(choose: Choices) -> Request:
    provider = choose.provider()
    body = {
        "resource_provider_generation": choose.generation(provider),
        **make_any_inventory(choose.chance),
    }
    path = f"/resource_providers/{provider}/inventories/{choose.resource_class(provider)}"
    return Request("PUT", path, choose.version(), body=body)


def delete_inventory(choose: Choices) -> Request:
    provider = choose.provider()
    path = f"/resource_providers/{provider}/inventories/{choose.resource_class(provider)}"
    return Request("DELETE", path, choose.version())


def delete_inventories(choose: Choices) -> Request:
    path = f"/resource_providers/{choose.provider()}/inventories"
    return Request("DELETE", path, choose.version(4))


def replace_aggregates(choose: Choices) -> Request:
    provider, version = choose.provider(), choose.version()
    body: Any = list(some(choose.chance, choose.world.aggregates, 0.5))
    if minor_of(version) >= 19:
        body = {"resource_provider_generation": choose.generation(provider), "aggregates": body}
    return Request("PUT", f"/resource_providers/{provider}/aggregates", version, body=body)


def replace_traits(choose: Choices) -> Request:
    provider = choose.provider()
    traits = list(some(choose.chance, (*TRAITS, SHARING), 0.3))
    if choose.likely(0.1):
        traits += ["CUSTOM_NOPE", "CUSTOM_NEITHER"]
    body = {"resource_provider_generation": choose.generation(provider), "traits": traits}
    path = f"/resource_providers/{provider}/traits"
    return Request("PUT", path, choose.version(5), body=body)


def delete_traits(choose: Choices) -> Request:
    return Request("DELETE", f"/resource_providers/{choose.provider()}/traits", choose.version(5))


# ---------------------------------------------------------------------------------------------
# Names


def create_trait(choose: Choices) -> Request:
    return Request("PUT", f"/traits/{some_trait(choose)}", choose.version(5))


def delete_trait(choose: Choices) -> Request:
    return Request("DELETE", f"/traits/{some_trait(choose)}", choose.version(5))


def some_trait(choose: Choices) -> str:
    return choose.one_of(*TRAITS, "CUSTOM_NEW", "CUSTOM_new", "NEW")


def create_class(choose: Choices) -> Request:
    name = some_class(choose)
    if choose.likely(0.5):
        return Request("POST", "/resource_classes", choose.version(2), body={"name": name})
    return Request("PUT", f"/resource_classes/{name}", choose.version(7))


def rename_class(choose: Choices) -> Request:
    path, version = f"/resource_classes/{some_class(choose)}", choose.one_of(*VERSIONS[2:7])
    return Request("PUT", path, version, body={"name": some_class(choose)})


def delete_class(choose: Choices) -> Request:
    return Request("DELETE", f"/resource_classes/{some_class(choose)}", choose.version(2))


def some_class(choose: Choices) -> str:
    return choose.one_of("CUSTOM_X", "CUSTOM_NEW", "CUSTOM_new", "NEW", "VCPU")


# A function that is listed twice is chosen twice as often.
MAKERS: tuple[Callable[[Choices], Request], ...] = (
    *(create_provider, change_provider) * 2,
    delete_provider,
    create_inventory,
    *(replace_inventories, change_inventory) * 2,
    delete_inventory,
    delete_inventories,
    replace_aggregates,
    replace_traits,
    delete_traits,
    *(claims.replace_allocations,) * 4,
    *(claims.change_several_allocations, claims.reshape) * 2,
    claims.allocate_at_unknown_provider,
    claims.delete_allocations,
    create_trait,
    delete_trait,
    create_class,
    rename_class,
    delete_class,
)


# ---------------------------------------------------------------------------------------------
# Wrong bodies


def spoiled(choose: Choices, request: Request) -> Request:
    """The same request with one value of the body removed, added or replaced."""
    request = by_one_time_consumers(choose, request)
    body = copy.deepcopy(request.body)
    places = [place for place in objects_in(body) if place]
    if not places:
        return request
    place = choose.one_of(*places)
    key = choose.one_of(*sorted(place))
    way = choose.chance.random()
    if way < 0.4:
        place[key] = choose.one_of(*WRONG_VALUES)
    elif way < 0.8:
        del place[key]
    else:
        place["color"] = "red"
    if request.path == "/resource_providers" and "uuid" not in body:
        return request  # otherwise each side would choose a UUID
    return Request(request.method, request.path, request.version, request.query, body)


def by_one_time_consumers(choose: Choices, request: Request) -> Request:
    """The same request for consumers that no later request names, unless they have allocations."""
    names = {
        consumer: consumer if choose.has_allocations(consumer) else choose.one_time_consumer()
        for consumer in choose.world.consumer_uuids
    }
    path, body = request.path, request.body
    if path.startswith("/allocations/"):
        consumer = path.removeprefix("/allocations/")
        path = f"/allocations/{names.get(consumer, consumer)}"
    elif path == "/allocations":
        body = {names[consumer]: claim for consumer, claim in body.items()}
    elif path == "/reshaper":
        renamed = {names[consumer]: claim for consumer, claim in body["allocations"].items()}
        body = {**body, "allocations": renamed}
    return Request(request.method, path, request.version, request.query, body)


def objects_in(body: Any) -> list[dict[str, Any]]:
    """Every JSON object in a body."""
    if isinstance(body, dict):
        return [body, *(found for value in body.values() for found in objects_in(value))]
    if isinstance(body, list):
        return [found for value in body for found in objects_in(value)]
    return []
