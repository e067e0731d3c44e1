"""Creates providers, inventories, traits and allocations through the HTTP API."""

import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx

from tests.support import answer_schemas
from tests.support.headers import ADMIN

# Recent enough for nested providers and consumer generations, but older than consumer types, which
# the files expect to be unset.
MICROVERSION = "1.28"
# The last version at which setting aggregates does not change the generation of the provider.
MICROVERSION_AGGREGATES = "1.18"


class World:
    """Writes to one server, and remembers the generation of each provider it created."""

    def __init__(self, server_url: str) -> None:
        self._client = httpx.Client(
            base_url=server_url, headers=ADMIN, timeout=30, event_hooks=answer_schemas.HOOKS
        )
        self._generations: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._client.close()

    def provider(
        self,
        name: str,
        inventories: Mapping[str, int | Mapping[str, Any]] | None = None,
        *,
        uuid_: str | None = None,
        parent: str | None = None,
        aggregates: Sequence[str] = (),
        traits: Sequence[str] = (),
    ) -> str:
        """Create a provider with everything that belongs to it; its UUID."""
        body = {"name": name, "uuid": uuid_ or new_uuid()}
        if parent:
            body["parent_provider_uuid"] = parent
        provider = body["uuid"]
        self._send("POST", "/resource_providers", body)
        self._generations[provider] = 0
        if aggregates:
            self.set_aggregates(provider, aggregates)
        if traits:
            self.set_traits(provider, traits)
        self.add_inventories(provider, inventories or {})
        return provider

    def set_aggregates(self, provider: str, aggregates: Sequence[str]) -> None:
        path = f"/resource_providers/{provider}/aggregates"
        self._send("PUT", path, list(aggregates), microversion=MICROVERSION_AGGREGATES)

    def set_traits(self, provider: str, traits: Sequence[str]) -> None:
        for trait in traits:
            if trait.startswith("CUSTOM_"):
                self._send("PUT", f"/traits/{trait}")
        body = {
            "traits": list(traits),
            "resource_provider_generation": self._generations[provider],
        }
        self._send("PUT", f"/resource_providers/{provider}/traits", body)
        self._generations[provider] += 1

    def add_inventories(
        self, provider: str, inventories: Mapping[str, int | Mapping[str, Any]]
    ) -> None:
        """Add the inventories one by one: each is a total alone, or a mapping with more fields."""
        for resource_class, given in inventories.items():
            if resource_class.startswith("CUSTOM_"):
                self.ensure_resource_class(resource_class)
            fields = {"total": given} if isinstance(given, int) else dict(given)
            body = {
                "resource_class": resource_class,
                "max_unit": fields["total"],
                "resource_provider_generation": self._generations[provider],
                **fields,
            }
            self._send("POST", f"/resource_providers/{provider}/inventories", body)
            self._generations[provider] += 1

    def ensure_resource_class(self, name: str) -> None:
        self._send("PUT", f"/resource_classes/{name}")

    def allocate(
        self, provider: str, resources: Mapping[str, int], *, project: str, user: str
    ) -> str:
        """Create a consumer that holds these resources; its UUID."""
        consumer = new_uuid()
        body = {
            "allocations": {provider: {"resources": dict(resources)}},
            "consumer_generation": None,
            "project_id": project,
            "user_id": user,
        }
        self._send("PUT", f"/allocations/{consumer}", body)
        self._generations[provider] += 1
        return consumer

    def _send(
        self, method: str, path: str, body: Any = None, *, microversion: str = MICROVERSION
    ) -> None:
        response = self._client.request(
            method,
            path,
            json=body,
            headers={"openstack-api-version": f"placement {microversion}"},
        )
        if not response.is_success:
            raise RuntimeError(f"{method} {path}: {response.status_code} {response.text}")


def new_uuid() -> str:
    return str(uuid.uuid4())
