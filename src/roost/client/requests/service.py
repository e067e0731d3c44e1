"""The service as a whole: what it can do, and what its cloud has."""

from collections.abc import Iterable, Mapping
from typing import Any

from roost.client import wire
from roost.client.calls import EXTENSION, Call, request
from roost.client.values import Summary


class ServiceRequests:
    @request
    def extensions(self) -> Call[frozenset[str]]:
        """What the service can do beyond the Placement API, named as in docs/reference/beyond.md.

        A service that is not roost has none.
        """
        return Call(method="GET", path="/", read=wire.extensions)

    @request
    def openapi(self) -> Call[Mapping[str, Any]]:
        """The OpenAPI document of the service. Only roost has this request."""
        return Call(method="GET", path="/openapi.json", read=dict)

    @request
    def summary(
        self, *, by: Iterable[str] = (), resource_classes: Iterable[str] = ()
    ) -> Call[Summary]:
        """What the whole cloud has and uses, by resource class.

        `by` asks for the same by `aggregates`, by `traits` of the roots, or by both.
        `resource_classes` selects classes. Only roost has this request.
        """
        query: dict[str, str] = {}
        if by := list(by):
            query["by"] = ",".join(by)
        if resource_classes := list(resource_classes):
            query["resource_class"] = ",".join(resource_classes)
        return Call(
            method="GET",
            path="/summary",
            query=query,
            read=wire.as_it_is,
            shape=Summary,
            since=EXTENSION,
        )
