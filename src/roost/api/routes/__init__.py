"""The contract of the API: every method of every path, in one table.

Requests are routed by it, and the OpenAPI document and the rules of the policy are made from it.
The routes of one path are in the order in which the header `allow` lists their methods.
"""

from roost.api.handlers import root
from roost.api.routes import allocations, candidates, catalog, providers
from roost.api.routes.route import OpenRoute, PolicyRule, Route
from roost.api.schemas import in_all_versions
from roost.api.schemas import root as root_schemas

__all__ = ["ROUTES", "OpenRoute", "PolicyRule", "Route"]

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/",
        root.get,
        None,
        "List versions and extensions.",
        "The versions that the service speaks, and what it offers beyond them. Needs no token.",
        answer=in_all_versions(root_schemas.VERSIONS),
        checks_accept=False,
    ),
    *providers.ROUTES,
    *catalog.ROUTES,
    *allocations.ROUTES,
    *candidates.ROUTES,
)
