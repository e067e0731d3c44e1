"""Every route of the API has a method of the client, and every method a route."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from roost.api.handlers.root import Extension
from roost.api.probes import OPEN_PATHS
from roost.api.routes import ROUTES, Route
from roost.api.versions import VERSION_MAX
from roost.client import AsyncClient, Client, Consumer, Inventory, ProviderInventories, Request
from roost.client.calls import Call, Pages
from roost.client.requests import Requests
from tests.support.names import uid

ANY = uid("any")
LONG = Request().resources(VCPU=1)
while len(str(LONG)) < 8000:
    LONG = LONG.member_of(ANY)
SEARCHES = (LONG, "resources=VCPU:1")
CONSUMER = Consumer(uuid=ANY, project_id="project", user_id="user", consumer_type="INSTANCE")
INVENTORY = Inventory(total=1)

# For each method, calls of it that between them use all of its routes.
CALLS: dict[str, list[Callable[[Any], Any]]] = {
    "all_candidates": [lambda client, each=each: client.all_candidates(each) for each in SEARCHES],
    "bulk_providers": [lambda client: client.bulk_providers()],
    "candidates": [lambda client, each=each: client.candidates(each) for each in SEARCHES],
    "capacity": [lambda client, each=each: client.capacity(each) for each in SEARCHES],
    "consumer": [lambda client: client.consumer(ANY)],
    "consumers": [lambda client: client.consumers()],
    "create_inventory": [lambda client: client.create_inventory(ANY, "VCPU", INVENTORY, 1)],
    "create_provider": [lambda client: client.create_provider("name")],
    "create_resource_class": [
        lambda client: client.create_resource_class("CUSTOM_A"),
        lambda client: client.create_resource_class("CUSTOM_A", exist_ok=False),
    ],
    "create_trait": [lambda client: client.create_trait("CUSTOM_A")],
    "delete_consumer": [lambda client: client.delete_consumer(ANY)],
    "delete_inventories": [lambda client: client.delete_inventories(ANY)],
    "delete_inventory": [lambda client: client.delete_inventory(ANY, "VCPU")],
    "delete_provider": [lambda client: client.delete_provider(ANY)],
    "delete_provider_traits": [lambda client: client.delete_provider_traits(ANY)],
    "delete_resource_class": [lambda client: client.delete_resource_class("CUSTOM_A")],
    "delete_trait": [lambda client: client.delete_trait("CUSTOM_A")],
    "events": [lambda client: client.events()],
    "explain": [lambda client, each=each: client.explain(each) for each in SEARCHES],
    "extensions": [lambda client: client.extensions()],
    "has_resource_class": [lambda client: client.has_resource_class("CUSTOM_A")],
    "has_trait": [lambda client: client.has_trait("CUSTOM_A")],
    "hold": [lambda client: client.hold(tree=ANY, seconds=1)],
    "inventories": [lambda client: client.inventories(ANY)],
    "inventory": [lambda client: client.inventory(ANY, "VCPU")],
    "openapi": [lambda client: client.openapi()],
    "place": [lambda client: client.place("resources=VCPU:1", [CONSUMER])],
    "project_usages": [
        lambda client: client.project_usages("project"),
        lambda client: client.project_usages("project", user_id="user", consumer_type="all"),
    ],
    "provider": [lambda client: client.provider(ANY)],
    "provider_aggregates": [lambda client: client.provider_aggregates(ANY)],
    "provider_consumers": [lambda client: client.provider_consumers(ANY)],
    "provider_traits": [lambda client: client.provider_traits(ANY)],
    "providers": [lambda client: client.providers()],
    "release_hold": [lambda client: client.release_hold(ANY)],
    "rename_resource_class": [lambda client: client.rename_resource_class("CUSTOM_A", "CUSTOM_B")],
    "reshape": [
        lambda client: client.reshape(
            {ANY: ProviderInventories(generation=1, inventories={})}, [CONSUMER]
        )
    ],
    "resource_classes": [lambda client: client.resource_classes()],
    "set_consumer": [lambda client: client.set_consumer(CONSUMER)],
    "set_consumers": [lambda client: client.set_consumers([CONSUMER])],
    "set_inventories": [lambda client: client.set_inventories(ANY, {"VCPU": INVENTORY}, 1)],
    "set_inventory": [lambda client: client.set_inventory(ANY, "VCPU", INVENTORY, 1)],
    "set_provider_aggregates": [lambda client: client.set_provider_aggregates(ANY, [ANY], 1)],
    "set_provider_traits": [lambda client: client.set_provider_traits(ANY, ["HW_A"], 1)],
    "summary": [lambda client: client.summary()],
    "traits": [lambda client: client.traits()],
    "tree": [lambda client: client.tree(ANY)],
    "update_provider": [lambda client: client.update_provider(ANY, name="name")],
    "usages": [lambda client: client.usages(ANY)],
    "watch": [lambda client: client.watch()],
}


class Recorder(Requests):
    """A client that sends nothing, and returns what it would have sent."""

    def send(self, call: Call[Any]) -> Call[Any]:
        return call

    def items(self, pages: Pages[Any]) -> Call[Any]:
        return pages.first


def methods() -> Iterator[str]:
    for name in dir(Requests):
        if not name.startswith("_"):
            yield name


def routes_of(call: Call[Any]) -> list[Route]:
    """The routes that a call takes, in the versions that it may be sent in."""
    return [
        route
        for route in ROUTES
        if route.method == call.method
        and re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), call.path)
        and route.since <= (call.until or VERSION_MAX)
        and call.since <= route.until
    ]


def sent() -> dict[str, list[Call[Any]]]:
    return {name: [make(Recorder()) for make in calls] for name, calls in CALLS.items()}


def test_every_method_is_here() -> None:
    assert sorted(CALLS) == sorted(methods())


def test_every_route_has_a_method() -> None:
    """Of a handler that serves several ranges of versions, the newest is enough."""
    reached = [route for calls in sent().values() for call in calls for route in routes_of(call)]
    served = {(each.path, each.handler) for each in reached}
    missing = [each for each in ROUTES if (each.path, each.handler) not in served]
    assert [(each.method, each.path) for each in missing] == []


@pytest.mark.parametrize("name", CALLS)
def test_a_method_sends_what_the_service_knows(name: str) -> None:
    for call in sent()[name]:
        if call.path in OPEN_PATHS:
            continue
        (route,) = routes_of(call)
        # It is not sent to a service that is too old for it.
        assert call.since >= route.since
        assert call.until is None or call.until <= route.until
        if route.extension is not None:
            assert call.since == VERSION_MAX


def test_a_client_knows_the_extensions_of_its_service(client: Client) -> None:
    assert client.extensions() == client.known_extensions == set(Extension)
    assert client.openapi()["openapi"].startswith("3.")


@pytest.mark.parametrize("name", CALLS)
def test_methods_describe_themselves(name: str) -> None:
    """As `help` and editors show them."""
    blocking, awaiting = getattr(Client, name), getattr(AsyncClient, name)
    assert blocking.__doc__ == awaiting.__doc__
    assert blocking.__doc__.strip()
    assert blocking.__name__ == name
    shown, shown_awaiting = (inspect.signature(each) for each in (blocking, awaiting))
    assert list(shown.parameters) == list(shown_awaiting.parameters)
    assert "Call" not in str(shown)
    assert "Pages" not in str(shown)
    assert "Awaitable[" in str(shown_awaiting) or "AsyncIterator[" in str(shown_awaiting)
