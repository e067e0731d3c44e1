"""Routes of allocations: who holds what, and how much a project uses."""

from roost.api.handlers import allocation_list, allocations, holds, reshaper, usages
from roost.api.handlers.root import Extension
from roost.api.routes.route import PolicyRule, Route
from roost.api.schemas import allocations as allocation_schemas
from roost.api.schemas import holds as hold_schemas
from roost.api.schemas import in_all_versions
from roost.api.schemas import usages as usage_schemas

_CONSUMER = "/allocations/{consumer_uuid}"

_LIST_RULE = PolicyRule("placement:allocations:list", "Show the allocations of consumers.")

_RESHAPE_RULE = PolicyRule(
    "placement:reshaper:reshape",
    "Move inventories and allocations within a tree, and let claims wait for that.",
    default="rule:service_api",
)

ROUTES = (
    Route(
        "POST",
        "/allocations",
        allocations.post,
        PolicyRule("placement:allocations:manage"),
        "Change the allocations of several consumers at once.",
        "All of them change, or none. A consumer with empty allocations gives back all that it "
        "holds. Moving a server is the typical use: its migration takes over what it held.",
        since=(1, 13),
        body=allocation_schemas.post,
        may_be_large=True,
        may_take_long=True,
        statuses=(204,),
    ),
    Route(
        "GET",
        "/allocations",
        allocation_list.get,
        _LIST_RULE,
        "List consumers with all that they hold.",
        "In the order of their creation. Without parameters, all of them; with several, those that "
        "match each.",
        since=(1, 39),
        # The path is older than the method.
        status_before=405,
        query=in_all_versions(allocation_schemas.LIST),
        answer=in_all_versions(allocation_schemas.CONSUMERS),
        extension=Extension.LIST_ALLOCATIONS,
        may_take_long=True,
        operation_id="allocations.get_all",
    ),
    Route(
        "GET",
        _CONSUMER,
        allocations.get,
        _LIST_RULE,
        "Show the allocations of a consumer.",
        "A consumer that holds nothing and one that does not exist look alike.",
        answer=allocation_schemas.answer,
    ),
    Route(
        "PUT",
        _CONSUMER,
        allocations.put,
        PolicyRule("placement:allocations:update"),
        "Replace the allocations of a consumer.",
        "This is the claim: refused with 409 if a provider has not enough left. From 1.28 on also "
        "refused if the generation in the body is not that of the consumer; that of a new one is "
        "null.",
        body=allocation_schemas.put,
        statuses=(204,),
    ),
    Route(
        "DELETE",
        _CONSUMER,
        allocations.delete,
        PolicyRule("placement:allocations:delete"),
        "Delete the allocations of a consumer.",
        "The consumer gives back all that it holds. 404 if it holds nothing.",
        statuses=(204,),
    ),
    Route(
        "GET",
        "/usages",
        usages.get,
        PolicyRule("placement:usages", default="rule:admin_or_project_reader_or_service_api"),
        "Show how much a project uses.",
        "Of each resource class, by the type of the consumers from 1.38 on; `user_id` and "
        "`consumer_type` narrow it down.",
        since=(1, 9),
        query=usage_schemas.query,
        answer=usage_schemas.answer,
        may_take_long=True,
        project_of=usages.project_of,
    ),
    Route(
        "POST",
        "/reshaper",
        reshaper.post,
        _RESHAPE_RULE,
        "Move inventories and allocations within a tree.",
        "All inventories and allocations in the body change in one transaction, or none.",
        since=(1, 30),
        body=allocation_schemas.reshape,
        may_be_large=True,
        may_take_long=True,
        statuses=(204,),
    ),
    Route(
        "POST",
        "/holds",
        holds.post,
        _RESHAPE_RULE,
        "Let claims in a tree wait for a reshape.",
        "Until a reshape of the tree succeeds, the hold is deleted, or its time is over. The "
        "answer comes when all processes of the service know of it.",
        since=(1, 39),
        body=in_all_versions(hold_schemas.POST),
        answer=in_all_versions(hold_schemas.HOLD),
        shows_state=False,
        extension=Extension.HOLDS,
        may_take_long=True,
    ),
    Route(
        "DELETE",
        "/holds/{hold_id}",
        holds.delete,
        _RESHAPE_RULE,
        "End a hold before its time is over.",
        "The claims that waited go on. 404 if the hold has ended already.",
        since=(1, 39),
        extension=Extension.HOLDS,
        statuses=(204,),
    ),
)
