"""Which versions a part of the document is about."""

from collections.abc import Callable, Iterable
from typing import Any

from roost.api.routes import Route
from roost.api.schemas import Schema
from roost.api.versions import VERSIONS, Version

X_OPENSTACK = "x-openstack"

_VERSIONS = [Version(*map(int, name.split("."))) for name in VERSIONS]


def version_range(since: tuple[int, int], until: tuple[int, int]) -> dict[str, Any]:
    return {X_OPENSTACK: {"min-ver": str(Version(*since)), "max-ver": str(Version(*until))}}


def first_versions(route: Route, names_of: Callable[[Schema], Iterable[str]]) -> dict[str, Version]:
    """The first version in which the query string of a route has each name."""
    found: dict[str, Version] = {}
    for version in _VERSIONS:
        if route.query is not None and route.since <= version <= route.until:
            for name in names_of(route.query(version)):
                found.setdefault(name, version)
    return found
