"""Every path and method of the API, since when there is what, and under which rule."""

from collections.abc import Callable

from roost.api.handlers import (
    aggregates,
    allocations,
    candidates,
    capacity,
    events,
    explain,
    inventories,
    placements,
    providers,
    reshaper,
    resource_classes,
    root,
    traits,
    usages,
)
from roost.api.http.messages import OpenReply, Reply, Request
from roost.api.versions import VERSION_MAX, VERSION_MIN
from roost.model import Value

# A handler takes the service, the request, and what the path names; it gives a reply.
Handler = Callable[..., Reply]


class Route(Value, frozen=True):
    """One method of one path."""

    method: str
    path: str
    handler: Handler
    rule: str | None  # None: for everybody, even without a token
    since: tuple[int, int] = VERSION_MIN
    until: tuple[int, int] = VERSION_MAX
    status_before: int = 404  # in versions that do not know the method
    without_json: bool = False  # neither body nor reply is JSON, so no media type is refused
    gives_events: bool = False  # as JSON, or as a stream of server-sent events
    # The project that a request is about, where the rule depends on it.
    project_of: Callable[[Request], str | None] | None = None

    @property
    def reads_json(self) -> bool:
        return self.method in ("POST", "PUT") and not self.without_json

    @property
    def gives_json(self) -> bool:
        return self.method == "GET" and not self.without_json


class OpenRoute(Value, frozen=True):
    """A path beside the API, for GET alone: without a token, a version or a policy."""

    path: str
    summary: str
    answer: Callable[..., OpenReply]
    content_type: str
    statuses: tuple[int, ...] = (200,)


_PROVIDERS = "/resource_providers"
_PROVIDER = "/resource_providers/{uuid}"
_INVENTORIES = "/resource_providers/{uuid}/inventories"
_INVENTORY = "/resource_providers/{uuid}/inventories/{resource_class}"
_AGGREGATES = "/resource_providers/{uuid}/aggregates"
_PROVIDER_TRAITS = "/resource_providers/{uuid}/traits"
_CLASSES = "/resource_classes"
_CLASS = "/resource_classes/{name}"
_TRAIT = "/traits/{name}"
_CONSUMER = "/allocations/{consumer_uuid}"

# Rules have the names that existing policy files use. Methods of one path stand in the order in
# which `allow` lists them.
ROUTES = (
    Route("GET", "/", root.get, None, without_json=True),
    Route("GET", _PROVIDERS, providers.get_all, "placement:resource_providers:list"),
    Route("POST", _PROVIDERS, providers.post, "placement:resource_providers:create"),
    Route("GET", _PROVIDER, providers.get, "placement:resource_providers:show"),
    Route("PUT", _PROVIDER, providers.put, "placement:resource_providers:update"),
    Route("DELETE", _PROVIDER, providers.delete, "placement:resource_providers:delete"),
    Route(
        "GET", _INVENTORIES, inventories.get_all, "placement:resource_providers:inventories:list"
    ),
    Route(
        "POST", _INVENTORIES, inventories.post, "placement:resource_providers:inventories:create"
    ),
    Route(
        "PUT", _INVENTORIES, inventories.put_all, "placement:resource_providers:inventories:update"
    ),
    Route(
        "DELETE",
        _INVENTORIES,
        inventories.delete_all,
        "placement:resource_providers:inventories:delete",
        since=(1, 5),
        status_before=405,
    ),
    Route("GET", _INVENTORY, inventories.get, "placement:resource_providers:inventories:show"),
    Route("PUT", _INVENTORY, inventories.put, "placement:resource_providers:inventories:update"),
    Route(
        "DELETE", _INVENTORY, inventories.delete, "placement:resource_providers:inventories:delete"
    ),
    Route(
        "GET", f"{_PROVIDER}/usages", usages.get_of_provider, "placement:resource_providers:usages"
    ),
    Route(
        "GET",
        _AGGREGATES,
        aggregates.get,
        "placement:resource_providers:aggregates:list",
        since=(1, 1),
    ),
    Route(
        "PUT",
        _AGGREGATES,
        aggregates.put,
        "placement:resource_providers:aggregates:update",
        since=(1, 1),
    ),
    Route(
        "GET",
        f"{_PROVIDER}/allocations",
        allocations.get_of_provider,
        "placement:resource_providers:allocations:list",
    ),
    Route(
        "GET",
        _PROVIDER_TRAITS,
        traits.get_of_provider,
        "placement:resource_providers:traits:list",
        since=(1, 6),
    ),
    Route(
        "PUT",
        _PROVIDER_TRAITS,
        traits.put_of_provider,
        "placement:resource_providers:traits:update",
        since=(1, 6),
    ),
    Route(
        "DELETE",
        _PROVIDER_TRAITS,
        traits.delete_of_provider,
        "placement:resource_providers:traits:delete",
        since=(1, 6),
    ),
    Route(
        "GET", _CLASSES, resource_classes.get_all, "placement:resource_classes:list", since=(1, 2)
    ),
    Route(
        "POST", _CLASSES, resource_classes.post, "placement:resource_classes:create", since=(1, 2)
    ),
    Route("GET", _CLASS, resource_classes.get, "placement:resource_classes:show", since=(1, 2)),
    Route(
        "PUT",
        _CLASS,
        resource_classes.rename,
        "placement:resource_classes:update",
        since=(1, 2),
        until=(1, 6),
    ),
    Route(
        "PUT",
        _CLASS,
        resource_classes.ensure,
        "placement:resource_classes:update",
        since=(1, 7),
        without_json=True,
    ),
    Route(
        "DELETE", _CLASS, resource_classes.delete, "placement:resource_classes:delete", since=(1, 2)
    ),
    Route("GET", "/traits", traits.get_all, "placement:traits:list", since=(1, 6)),
    Route("GET", _TRAIT, traits.get, "placement:traits:show", since=(1, 6), without_json=True),
    Route("PUT", _TRAIT, traits.put, "placement:traits:update", since=(1, 6), without_json=True),
    Route("DELETE", _TRAIT, traits.delete, "placement:traits:delete", since=(1, 6)),
    Route("POST", "/allocations", allocations.post, "placement:allocations:manage", since=(1, 13)),
    Route("GET", _CONSUMER, allocations.get, "placement:allocations:list"),
    Route("PUT", _CONSUMER, allocations.put, "placement:allocations:update"),
    Route("DELETE", _CONSUMER, allocations.delete, "placement:allocations:delete"),
    Route(
        "GET",
        "/allocation_candidates",
        candidates.get,
        "placement:allocation_candidates:list",
        since=(1, 10),
    ),
    Route(
        "POST",
        "/allocation_candidates",
        candidates.post,
        "placement:allocation_candidates:list",
        since=(1, 39),
        status_before=405,
    ),
    Route(
        "GET",
        "/allocation_candidates/explain",
        explain.get,
        "placement:allocation_candidates:list",
        since=(1, 39),
    ),
    Route(
        "POST",
        "/allocation_candidates/explain",
        explain.post,
        "placement:allocation_candidates:list",
        since=(1, 39),
    ),
    Route("GET", "/capacity", capacity.get, "placement:allocation_candidates:list", since=(1, 39)),
    Route(
        "POST", "/capacity", capacity.post, "placement:allocation_candidates:list", since=(1, 39)
    ),
    Route("POST", "/placements", placements.post, "placement:placements:create", since=(1, 39)),
    Route("GET", "/events", events.get, "placement:events:list", since=(1, 39), gives_events=True),
    Route(
        "GET", "/usages", usages.get, "placement:usages", since=(1, 9), project_of=usages.project_of
    ),
    Route("POST", "/reshaper", reshaper.post, "placement:reshaper:reshape", since=(1, 30)),
)
