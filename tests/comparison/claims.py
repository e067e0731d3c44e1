"""Writes that set the allocations of consumers: allocations and the reshaper."""

from collections.abc import Mapping
from typing import Any

from tests.comparison.choices import Choices
from tests.comparison.requests import Request, minor_of
from tests.comparison.worlds import make_any_inventory


def replace_allocations(choose: Choices) -> Request:
    version = choose.version() if choose.likely(0.3) else choose.version(28)
    minor, consumer = minor_of(version), choose.consumer()
    body = make_claim(choose, minor, consumer)
    if minor >= 28 and choose.likely(0.15):
        make_empty(body)
        if not choose.has_allocations(consumer):
            consumer = choose.one_time_consumer()
    if minor < 12:
        body["allocations"] = [
            {"resource_provider": {"uuid": provider}, **one}
            for provider, one in body["allocations"].items()
        ]
    if minor < 8:
        body = {"allocations": body["allocations"]}
    return Request("PUT", f"/allocations/{consumer}", version, body=body)


def allocate_at_unknown_provider(choose: Choices) -> Request:
    consumer = choose.one_time_consumer()
    body = make_claim(choose, 39, consumer)
    make_empty(body)
    body["allocations"] = {
        choose.one_of(*choose.world.unused_providers): {"resources": {"VCPU": 1}}
    }
    return Request("PUT", f"/allocations/{consumer}", "1.39", body=body)


def change_several_allocations(choose: Choices) -> Request:
    version = choose.version(13) if choose.likely(0.3) else choose.version(28)
    return Request("POST", "/allocations", version, body=make_claims(choose, minor_of(version)))


def delete_allocations(choose: Choices) -> Request:
    return Request("DELETE", f"/allocations/{choose.consumer()}", choose.version())


def reshape(choose: Choices) -> Request:
    version = choose.version(30)
    providers = choose.some_of(sorted(choose.state.providers), choose.one_of(1, 2))
    body = {
        "inventories": {
            provider: {
                "resource_provider_generation": choose.generation(provider),
                "inventories": new_inventories(choose, provider),
            }
            for provider in providers
        },
        "allocations": make_claims(choose, minor_of(version)) if choose.likely(0.6) else {},
    }
    return Request("POST", "/reshaper", version, body=body)


def new_inventories(choose: Choices, provider: str) -> dict[str, Any]:
    """Mostly the present inventories, with one changed, added or left out."""
    kept = {
        name: inventory if choose.likely(0.6) else make_any_inventory(choose.chance)
        for name, inventory in choose.inventories(provider).items()
        if choose.likely(0.85)
    }
    if choose.likely(0.4):
        kept[choose.resource_class(provider)] = make_any_inventory(choose.chance)
    return kept


def make_claims(choose: Choices, minor: int) -> dict[str, Any]:
    claims = {}
    for consumer in choose.some_of(choose.world.consumer_uuids, 2):
        claims[consumer] = make_claim(choose, minor, consumer)
        if choose.has_allocations(consumer) and choose.likely(0.3):
            make_empty(claims[consumer])
    return claims


def make_claim(choose: Choices, minor: int, consumer: str) -> dict[str, Any]:
    """A body that sets what one consumer holds, in the form since 1.12."""
    stored = choose.state.consumers.get(consumer, {})
    claim: dict[str, Any] = {
        "allocations": new_allocations(choose, stored),
        "project_id": choose.one_of("project-1", "project-1", "project-2"),
        "user_id": choose.one_of("user-1", "user-1", "user-2"),
    }
    if minor >= 28:
        wrong = choose.likely(0.12)
        expected = choose.one_of(None, 0, 1, 9) if wrong else stored.get("consumer_generation")
        claim["consumer_generation"] = expected
    if minor >= 34 and choose.likely(0.2):
        claim["mappings"] = {"_A": sorted(claim["allocations"])}
    if minor >= 38:
        claim["consumer_type"] = choose.one_of("INSTANCE", "INSTANCE", "MIGRATION")
    return claim


def make_empty(claim: dict[str, Any]) -> None:
    """Change the claim so that the consumer holds nothing."""
    claim["allocations"] = {}
    claim.pop("mappings", None)


def new_allocations(choose: Choices, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Close to what the consumer holds, or something new that may not fit."""
    present = stored.get("allocations", {})
    if present and choose.likely(0.5):
        kept = {own: {"resources": dict(one["resources"])} for own, one in present.items()}
        resources = kept[choose.one_of(*sorted(kept))]["resources"]
        name = choose.one_of(*sorted(resources))
        resources[name] = max(1, resources[name] + choose.one_of(-1, 0, 1, 2))
        return kept
    chosen: dict[str, Any] = {}
    # Only consumers that no later request names may claim from an unknown provider.
    providers = sorted(choose.state.providers) or choose.world.unused_providers
    for provider in choose.some_of(providers, choose.one_of(1, 1, 2)):
        names = {choose.resource_class(provider) for _ in range(choose.one_of(1, 1, 2))}
        chosen[provider] = {
            "resources": {name: choose.one_of(1, 1, 2, 3, 5) for name in sorted(names)}
        }
    return chosen
