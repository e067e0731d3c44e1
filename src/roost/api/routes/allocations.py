"""Routes of allocations: who holds what, and how much a project uses."""

from roost.api.handlers import allocations, reshaper, usages
from roost.api.routes.route import PolicyRule, Route
from roost.api.schemas import allocations as allocation_schemas
from roost.api.schemas import usages as usage_schemas

_CONSUMER = "/allocations/{consumer_uuid}"

ROUTES = (
    Route(
        "POST",
        "/allocations",
        allocations.post,
        PolicyRule("placement:allocations:manage"),
        "Change the allocations of several consumers at once.",
        "All of them change, or none.",
        since=(1, 13),
        body=allocation_schemas.post,
        may_be_large=True,
        may_take_long=True,
        statuses=(204,),
    ),
    Route(
        "GET",
        _CONSUMER,
        allocations.get,
        PolicyRule("placement:allocations:list"),
        "Show the allocations of a consumer.",
        "A consumer that holds nothing and one that does not exist look alike.",
    ),
    Route(
        "PUT",
        _CONSUMER,
        allocations.put,
        PolicyRule("placement:allocations:update"),
        "Replace the allocations of a consumer.",
        "From 1.28 on refused with 409 if the generation in the body is not that of the consumer.",
        body=allocation_schemas.put,
        statuses=(204,),
    ),
    Route(
        "DELETE",
        _CONSUMER,
        allocations.delete,
        PolicyRule("placement:allocations:delete"),
        "Delete the allocations of a consumer.",
        statuses=(204,),
    ),
    Route(
        "GET",
        "/usages",
        usages.get,
        PolicyRule("placement:usages", default="rule:admin_or_project_reader_or_service_api"),
        "Show how much a project uses.",
        since=(1, 9),
        query=usage_schemas.query,
        may_take_long=True,
        project_of=usages.project_of,
    ),
    Route(
        "POST",
        "/reshaper",
        reshaper.post,
        PolicyRule("placement:reshaper:reshape", default="rule:service_api"),
        "Move inventories and allocations within a tree.",
        "All inventories and allocations in the body change in one transaction, or none.",
        since=(1, 30),
        body=allocation_schemas.reshape,
        may_be_large=True,
        may_take_long=True,
        statuses=(204,),
    ),
)
