"""Requests that write, made from a seed and from what the cloud looks like at that moment."""

import copy
import random
from collections.abc import Callable, Mapping
from typing import Any

from comparison.requests import VERSIONS, Request, minor_of
from comparison.state import State
from comparison.worlds import CLASSES, SHARING, TRAITS, World, make_inventory, make_uuid, some

# The API has a maker for each kind of write; a kind that is listed twice is made twice as often.
Maker = Callable[["Writer"], Request]

WRONG_VALUES = (None, "", "nope", -1, 0, 1.5, True, [], {}, 2**31, "CUSTOM_NOPE")


class Writer:
    """Makes the next write. It knows the cloud, and gets generations right most of the time."""

    def __init__(self, chance: random.Random, world: World, state: State) -> None:
        self.chance = chance
        self.world = world
        self.state = state

    def write(self) -> Request:
        request = self.chance.choice(MAKERS)(self)
        return self.spoiled(request) if self.chance.random() < 0.12 else request

    def spoiled(self, request: Request) -> Request:
        """The same with one value of the body lost, added or replaced."""
        request = self.by_strangers(request)
        body = copy.deepcopy(request.body)
        places = [place for place in objects_in(body) if place]
        if not places:
            return request
        place = self.chance.choice(places)
        key = self.chance.choice(sorted(place))
        way = self.chance.random()
        if way < 0.4:
            place[key] = self.chance.choice(WRONG_VALUES)
        elif way < 0.8:
            del place[key]
        else:
            place["color"] = "red"
        if request.path == "/resource_providers" and "uuid" not in body:
            return request  # or each side would choose a UUID
        return Request(request.method, request.path, request.version, request.query, body)

    def by_strangers(self, request: Request) -> Request:
        """The same for consumers that are never named again, unless they have allocations."""
        names = {
            consumer: consumer if self.has_allocations(consumer) else self.left_behind()
            for consumer in self.world.consumer_uuids
        }
        path, body = request.path, request.body
        if path.startswith("/allocations/"):
            consumer = path.removeprefix("/allocations/")
            path = f"/allocations/{names.get(consumer, consumer)}"
        elif path == "/allocations":
            body = {names[consumer]: claim for consumer, claim in body.items()}
        elif path == "/reshaper":
            claims = {names[consumer]: claim for consumer, claim in body["allocations"].items()}
            body = {**body, "allocations": claims}
        return Request(request.method, path, request.version, request.query, body)

    # What is chosen again and again

    def version(self, lowest: int = 0) -> str:
        """Old versions are as often asked as new ones, where the request is the same in both."""
        return self.chance.choice(VERSIONS[lowest:])

    def provider(self) -> str:
        if not self.state.providers or self.chance.random() < 0.05:
            return self.chance.choice(self.world.unused_providers)
        return self.chance.choice(sorted(self.state.providers))

    def generation(self, provider: str) -> int:
        if provider not in self.state.providers:
            return 0
        current = self.state.generation(provider)
        return current if self.chance.random() < 0.85 else current + self.chance.choice((-1, 1, 7))

    def inventories(self, provider: str) -> Mapping[str, Any]:
        return self.state.inventories(provider) if provider in self.state.providers else {}

    def resource_class(self, provider: str) -> str:
        present = sorted(self.inventories(provider))
        if present and self.chance.random() < 0.7:
            return self.chance.choice(present)
        return self.chance.choice((*CLASSES, "CUSTOM_NOPE"))

    # Providers

    def create_provider(self) -> Request:
        version = self.version()
        body: dict[str, Any] = {
            "uuid": self.chance.choice((make_uuid(self.chance), *self.world.unused_providers)),
            "name": f"provider-{self.chance.randint(1, 30)}",
        }
        if minor_of(version) >= 14 and self.chance.random() < 0.7:
            body["parent_provider_uuid"] = self.provider()
        return Request("POST", "/resource_providers", version, body=body)

    def change_provider(self) -> Request:
        version = self.version() if self.chance.random() < 0.5 else self.version(36)
        provider = self.provider()
        current = self.state.providers.get(provider, {"name": "nobody"})
        body = {"name": current["name"]}
        if self.chance.random() < 0.3:
            body["name"] = f"provider-{self.chance.randint(1, 30)}"
        if minor_of(version) >= 14 and self.chance.random() < 0.8:
            body["parent_provider_uuid"] = self.chance.choice(
                (None, current.get("parent_provider_uuid"), self.provider(), self.provider())
            )
        return Request("PUT", f"/resource_providers/{provider}", version, body=body)

    def delete_provider(self) -> Request:
        return Request("DELETE", f"/resource_providers/{self.provider()}", self.version())

    # What a provider has

    def create_inventory(self) -> Request:
        provider = self.provider()
        body = {"resource_class": self.resource_class(provider), **make_inventory(self.chance)}
        path = f"/resource_providers/{provider}/inventories"
        return Request("POST", path, self.version(), body=body)

    def replace_inventories(self) -> Request:
        provider = self.provider()
        body = {
            "resource_provider_generation": self.generation(provider),
            "inventories": self.new_inventories(provider),
        }
        path = f"/resource_providers/{provider}/inventories"
        return Request("PUT", path, self.version(), body=body)

    def new_inventories(self, provider: str) -> dict[str, Any]:
        """Mostly what is there, with something changed, added or left out."""
        kept = {
            name: inventory if self.chance.random() < 0.6 else make_inventory(self.chance)
            for name, inventory in self.inventories(provider).items()
            if self.chance.random() < 0.85
        }
        if self.chance.random() < 0.4:
            kept[self.resource_class(provider)] = make_inventory(self.chance)
        return kept

    def change_inventory(self) -> Request:
        provider = self.provider()
        body = {
            "resource_provider_generation": self.generation(provider),
            **make_inventory(self.chance),
        }
        path = f"/resource_providers/{provider}/inventories/{self.resource_class(provider)}"
        return Request("PUT", path, self.version(), body=body)

    def delete_inventory(self) -> Request:
        provider = self.provider()
        path = f"/resource_providers/{provider}/inventories/{self.resource_class(provider)}"
        return Request("DELETE", path, self.version())

    def delete_inventories(self) -> Request:
        path = f"/resource_providers/{self.provider()}/inventories"
        return Request("DELETE", path, self.version(4))

    def replace_aggregates(self) -> Request:
        provider, version = self.provider(), self.version()
        body: Any = list(some(self.chance, self.world.aggregates, 0.5))
        if minor_of(version) >= 19:
            body = {"resource_provider_generation": self.generation(provider), "aggregates": body}
        return Request("PUT", f"/resource_providers/{provider}/aggregates", version, body=body)

    def replace_traits(self) -> Request:
        provider = self.provider()
        traits = list(some(self.chance, (*TRAITS, SHARING), 0.3))
        if self.chance.random() < 0.1:
            traits += ["CUSTOM_NOPE", "CUSTOM_NEITHER"]
        body = {"resource_provider_generation": self.generation(provider), "traits": traits}
        path = f"/resource_providers/{provider}/traits"
        return Request("PUT", path, self.version(5), body=body)

    def delete_traits(self) -> Request:
        return Request("DELETE", f"/resource_providers/{self.provider()}/traits", self.version(5))

    # Allocations

    def consumer(self) -> str:
        return self.chance.choice(self.world.consumer_uuids)

    def has_allocations(self, consumer: str) -> bool:
        return bool(self.state.consumers.get(consumer, {}).get("allocations"))

    def claim(self, minor: int, consumer: str) -> dict[str, Any]:
        """What a consumer is to have, as written from 1.12 on."""
        told = self.state.consumers.get(consumer, {})
        body: dict[str, Any] = {
            "allocations": self.new_allocations(told),
            "project_id": self.chance.choice(("project-1", "project-1", "project-2")),
            "user_id": self.chance.choice(("user-1", "user-1", "user-2")),
        }
        if minor >= 28:
            expected = told.get("consumer_generation")
            if self.chance.random() < 0.12:
                expected = self.chance.choice((None, 0, 1, 9))
            body["consumer_generation"] = expected
        if minor >= 34 and self.chance.random() < 0.2 and body["allocations"]:
            body["mappings"] = {"_A": sorted(body["allocations"])}
        if minor >= 38:
            body["consumer_type"] = self.chance.choice(("INSTANCE", "INSTANCE", "MIGRATION"))
        return body

    def new_allocations(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """Close to what the consumer has, or something new that may or may not fit."""
        present = told.get("allocations", {})
        if present and self.chance.random() < 0.5:
            kept = {own: {"resources": dict(one["resources"])} for own, one in present.items()}
            resources = kept[self.chance.choice(sorted(kept))]["resources"]
            name = self.chance.choice(sorted(resources))
            resources[name] = max(1, resources[name] + self.chance.choice((-1, 0, 1, 2)))
            return kept
        chosen: dict[str, Any] = {}
        for _ in range(self.chance.choice((1, 1, 2))):
            provider = self.existing_provider()
            names = {self.resource_class(provider) for _ in range(self.chance.choice((1, 1, 2)))}
            chosen[provider] = {
                "resources": {name: self.chance.choice((1, 1, 2, 3, 5)) for name in sorted(names)}
            }
        return chosen

    def existing_provider(self) -> str:
        """A name of no provider would leave the consumer behind; see `left_behind`."""
        return self.chance.choice(sorted(self.state.providers) or self.world.unused_providers)

    def replace_allocations(self) -> Request:
        version = self.version() if self.chance.random() < 0.3 else self.version(28)
        minor, consumer = minor_of(version), self.consumer()
        body = self.claim(minor, consumer)
        if minor >= 28 and self.chance.random() < 0.15:
            body["allocations"] = {}
            body.pop("mappings", None)
            if not self.has_allocations(consumer):
                consumer = self.left_behind()
        if minor < 12:
            body["allocations"] = [
                {"resource_provider": {"uuid": provider}, **one}
                for provider, one in body["allocations"].items()
            ]
        if minor < 8:
            body = {"allocations": body["allocations"]}
        return Request("PUT", f"/allocations/{consumer}", version, body=body)

    def left_behind(self) -> str:
        """A consumer that is never named again.

        The reference keeps a record of one whose first write is empty or names an unknown
        provider, and refuses its first good write. Roost does not, so the two would part ways.
        """
        return make_uuid(self.chance)

    def allocate_at_unknown_provider(self) -> Request:
        body = self.claim(39, self.left_behind())
        provider = self.chance.choice(self.world.unused_providers)
        body["allocations"] = {provider: {"resources": {"VCPU": 1}}}
        body.pop("mappings", None)
        return Request("PUT", f"/allocations/{self.left_behind()}", "1.39", body=body)

    def change_several_allocations(self) -> Request:
        version = self.version(13) if self.chance.random() < 0.3 else self.version(28)
        claims = self.several_claims(minor_of(version))
        return Request("POST", "/allocations", version, body=claims)

    def several_claims(self, minor: int) -> dict[str, Any]:
        claims = {}
        for consumer in self.chance.sample(self.world.consumer_uuids, 2):
            claims[consumer] = self.claim(minor, consumer)
            if self.has_allocations(consumer) and self.chance.random() < 0.3:
                claims[consumer]["allocations"] = {}
                claims[consumer].pop("mappings", None)
        return claims

    def delete_allocations(self) -> Request:
        return Request("DELETE", f"/allocations/{self.consumer()}", self.version())

    def reshape(self) -> Request:
        version = self.version(30)
        providers = sorted(self.state.providers)
        chosen = self.chance.sample(providers, min(len(providers), self.chance.choice((1, 2))))
        body = {
            "inventories": {
                provider: {
                    "resource_provider_generation": self.generation(provider),
                    "inventories": self.new_inventories(provider),
                }
                for provider in chosen
            },
            "allocations": self.several_claims(minor_of(version))
            if self.chance.random() < 0.6
            else {},
        }
        return Request("POST", "/reshaper", version, body=body)

    # Names

    def create_trait(self) -> Request:
        return Request("PUT", f"/traits/{self.trait()}", self.version(5))

    def delete_trait(self) -> Request:
        return Request("DELETE", f"/traits/{self.trait()}", self.version(5))

    def trait(self) -> str:
        return self.chance.choice((*TRAITS, "CUSTOM_NEW", "CUSTOM_new", "NEW"))

    def create_class(self) -> Request:
        name = self.custom_class()
        if self.chance.random() < 0.5:
            return Request("POST", "/resource_classes", self.version(2), body={"name": name})
        return Request("PUT", f"/resource_classes/{name}", self.version(7))

    def rename_class(self) -> Request:
        version = self.chance.choice(VERSIONS[2:7])
        path = f"/resource_classes/{self.custom_class()}"
        return Request("PUT", path, version, body={"name": self.custom_class()})

    def delete_class(self) -> Request:
        return Request("DELETE", f"/resource_classes/{self.custom_class()}", self.version(2))

    def custom_class(self) -> str:
        return self.chance.choice(("CUSTOM_X", "CUSTOM_NEW", "CUSTOM_new", "NEW", "VCPU"))


MAKERS: tuple[Maker, ...] = (
    Writer.create_provider,
    Writer.create_provider,
    Writer.change_provider,
    Writer.change_provider,
    Writer.delete_provider,
    Writer.create_inventory,
    Writer.replace_inventories,
    Writer.replace_inventories,
    Writer.change_inventory,
    Writer.change_inventory,
    Writer.delete_inventory,
    Writer.delete_inventories,
    Writer.replace_aggregates,
    Writer.replace_traits,
    Writer.delete_traits,
    Writer.replace_allocations,
    Writer.replace_allocations,
    Writer.replace_allocations,
    Writer.replace_allocations,
    Writer.allocate_at_unknown_provider,
    Writer.change_several_allocations,
    Writer.change_several_allocations,
    Writer.delete_allocations,
    Writer.reshape,
    Writer.reshape,
    Writer.create_trait,
    Writer.delete_trait,
    Writer.create_class,
    Writer.rename_class,
    Writer.delete_class,
)


def objects_in(body: Any) -> list[dict[str, Any]]:
    """Every JSON object in a body."""
    if isinstance(body, dict):
        return [body, *(found for value in body.values() for found in objects_in(value))]
    if isinstance(body, list):
        return [found for value in body for found in objects_in(value)]
    return []
