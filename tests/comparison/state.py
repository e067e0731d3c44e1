"""The state of a cloud, read through the API."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tests.comparison.requests import Request
from tests.comparison.worlds import SHARING

VERSION = "1.39"

PARTS = ("inventories", "traits", "aggregates", "usages", "allocations")


def outline_requests(consumers: Iterable[str]) -> Iterator[Request]:
    """Reads that are cheap and together show every generation."""
    yield Request("GET", "/resource_providers", VERSION)
    for consumer in consumers:
        yield Request("GET", f"/allocations/{consumer}", VERSION)


def part_requests(providers: Iterable[str]) -> Iterator[Request]:
    """All reads about some providers."""
    for provider in providers:
        for part in PARTS:
            yield Request("GET", f"/resource_providers/{provider}/{part}", VERSION)


# What does not belong to a provider.
REMAINING_REQUESTS = (
    Request("GET", "/traits", VERSION, (("name", "startswith:CUSTOM"),)),
    Request("GET", "/traits", VERSION, (("associated", "true"),)),
    Request("GET", "/resource_classes", VERSION),
    Request("GET", "/usages", VERSION, (("project_id", "project-1"),)),
    Request("GET", "/usages", "1.9", (("project_id", "project-1"), ("user_id", "user-1"))),
)


@dataclasses.dataclass(frozen=True)
class State:
    """A cloud as one side describes it: the source of later requests and of known differences."""

    providers: Mapping[str, Mapping[str, Any]]  # UUID -> as in the list of providers
    parts: Mapping[tuple[str, str], Any]  # provider UUID, part -> its body
    consumers: Mapping[str, Mapping[str, Any]]  # UUID -> its allocations

    def generation(self, provider: str) -> int:
        return self.providers[provider]["generation"]

    def root(self, provider: str) -> str:
        return self.providers[provider]["root_provider_uuid"]

    def inventories(self, provider: str) -> Mapping[str, Mapping[str, Any]]:
        return self.parts[provider, "inventories"]["inventories"]

    def traits(self, provider: str) -> list[str]:
        return self.parts[provider, "traits"]["traits"]

    def aggregates(self, provider: str) -> list[str]:
        return self.parts[provider, "aggregates"]["aggregates"]

    @property
    def sharing(self) -> set[str]:
        """Providers that can serve other trees than their own."""
        return {
            one for one in self.providers if SHARING in self.traits(one) and self.aggregates(one)
        }


def read_state(
    ask: Callable[[Request], Any], consumers: Iterable[str], known: State | None = None
) -> State:
    """Read everything; with `known`, only what has another generation than there."""
    providers: dict[str, Any] = {}
    allocations: dict[str, Any] = {}
    for request in outline_requests(consumers):
        body = ask(request)
        if request.path == "/resource_providers":
            providers = {one["uuid"]: one for one in body["resource_providers"]}
        else:
            allocations[request.path.removeprefix("/allocations/")] = body
    kept = {
        one
        for one, body in providers.items()
        if known is not None
        and one in known.providers
        and known.generation(one) == body["generation"]
    }
    parts: dict[tuple[str, str], Any] = {}
    if known is not None:
        parts = {key: body for key, body in known.parts.items() if key[0] in kept}
    for request in part_requests(one for one in providers if one not in kept):
        _, _, provider, part = request.path.split("/")
        parts[provider, part] = ask(request)
    if known is None:
        for request in REMAINING_REQUESTS:
            ask(request)
    return State(providers, parts, allocations)
