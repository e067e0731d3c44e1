"""The names that a cloud knows: traits and resource classes."""

from roost.client import wire
from roost.client.calls import Call, Query, path_to, request


class CatalogRequests:
    @request
    def traits(self, query: Query | None = None) -> Call[frozenset[str]]:
        """All traits, or those that a query selects by name, or by whether a provider has them."""
        return Call(
            method="GET", path="/traits", query=query or {}, read=wire.trait_names, since=(1, 6)
        )

    @request
    def has_trait(self, name: str) -> Call[bool]:
        """Whether a trait exists."""
        path = path_to("traits", name)
        return Call(method="GET", path=path, read=wire.exists, absent=False, since=(1, 6))

    @request
    def create_trait(self, name: str) -> Call[None]:
        """Make sure that a trait exists."""
        path = path_to("traits", name)
        return Call(method="PUT", path=path, read=wire.nothing, since=(1, 6), repeatable=True)

    @request
    def delete_trait(self, name: str) -> Call[None]:
        """Delete a custom trait that no provider has."""
        return Call(method="DELETE", path=path_to("traits", name), read=wire.nothing, since=(1, 6))

    @request
    def resource_classes(self) -> Call[frozenset[str]]:
        """All resource classes."""
        return Call(
            method="GET", path="/resource_classes", read=wire.resource_class_names, since=(1, 2)
        )

    @request
    def has_resource_class(self, name: str) -> Call[bool]:
        """Whether a resource class exists."""
        path = path_to("resource_classes", name)
        return Call(method="GET", path=path, read=wire.exists, absent=False, since=(1, 2))

    @request
    def create_resource_class(self, name: str, *, exist_ok: bool = True) -> Call[None]:
        """Make sure that a custom resource class exists.

        Without `exist_ok`, one that exists already raises `Conflict`.
        """
        if not exist_ok:
            path, body = "/resource_classes", {"name": name}
            return Call(method="POST", path=path, body=body, read=wire.nothing, since=(1, 2))
        path = path_to("resource_classes", name)
        return Call(method="PUT", path=path, read=wire.nothing, since=(1, 7), repeatable=True)

    @request
    def rename_resource_class(self, name: str, new_name: str) -> Call[None]:
        """Give a custom resource class another name. Only versions 1.2 to 1.6 have this request."""
        return Call(
            method="PUT",
            path=path_to("resource_classes", name),
            body={"name": new_name},
            read=wire.nothing,
            since=(1, 2),
            until=(1, 6),
        )

    @request
    def delete_resource_class(self, name: str) -> Call[None]:
        """Delete a custom resource class of which no provider has an inventory."""
        path = path_to("resource_classes", name)
        return Call(method="DELETE", path=path, read=wire.nothing, since=(1, 2))
