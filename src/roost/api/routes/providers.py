"""Routes of resource providers, of what each provider has, and of what all have together."""

from roost.api.handlers import (
    aggregates,
    allocations,
    inventories,
    provider_list,
    providers,
    summary,
    traits,
    usages,
)
from roost.api.handlers.root import Extension
from roost.api.http.messages import Request
from roost.api.routes.route import PolicyRule, Route
from roost.api.schemas import aggregates as aggregate_schemas
from roost.api.schemas import allocations as allocation_schemas
from roost.api.schemas import in_all_versions
from roost.api.schemas import inventories as inventory_schemas
from roost.api.schemas import providers as provider_schemas
from roost.api.schemas import summary as summary_schemas
from roost.api.schemas import traits as trait_schemas
from roost.api.schemas import usages as usage_schemas

_PROVIDERS = "/resource_providers"
_PROVIDER = "/resource_providers/{uuid}"
_INVENTORIES = "/resource_providers/{uuid}/inventories"
_INVENTORY = "/resource_providers/{uuid}/inventories/{resource_class}"
_AGGREGATES = "/resource_providers/{uuid}/aggregates"
_TRAITS = "/resource_providers/{uuid}/traits"

_CREATE = PolicyRule("placement:resource_providers:create")
_UPDATE_INVENTORIES = PolicyRule(
    "placement:resource_providers:inventories:update", "Change inventories of a provider."
)
_DELETE_INVENTORIES = PolicyRule(
    "placement:resource_providers:inventories:delete", "Delete inventories of a provider."
)

# The rules of the parts that a list can include.
_PART_RULES = {
    "inventories": PolicyRule("placement:resource_providers:inventories:list"),
    "usages": PolicyRule("placement:resource_providers:usages"),
    "traits": PolicyRule("placement:resource_providers:traits:list"),
    "aggregates": PolicyRule("placement:resource_providers:aggregates:list"),
}


def _rules_of_parts(request: Request) -> list[str]:
    return [_PART_RULES[part].name for part in provider_list.parts_asked_for(request)]


_GENERATION = "Refused with 409 if the generation in the body is not that of the provider."

ROUTES = (
    Route(
        "GET",
        _PROVIDERS,
        provider_list.get_all,
        PolicyRule("placement:resource_providers:list"),
        "List resource providers.",
        "Without parameters, all of them; with several, those that match each. `include` adds what "
        "each of them has.",
        query=provider_schemas.documented_listing,
        answer=provider_schemas.listing_answer,
        rules_besides=_rules_of_parts,
        operation_id="providers.get_all",
        may_take_long=True,
    ),
    Route(
        "POST",
        _PROVIDERS,
        providers.post,
        _CREATE,
        "Create a resource provider.",
        "The header location of the answer has its address. From 1.20 on the answer shows the "
        "provider.",
        until=(1, 19),
        body=provider_schemas.create,
        statuses=(201,),
        names_location=True,
    ),
    Route(
        "POST",
        _PROVIDERS,
        providers.post,
        _CREATE,
        "Create a resource provider.",
        "As the root of a new tree, or below a parent. Its name and its UUID must be new; without "
        "a UUID it gets one.",
        since=(1, 20),
        body=provider_schemas.create,
        answer=provider_schemas.answer,
        names_location=True,
    ),
    Route(
        "GET",
        _PROVIDER,
        providers.get,
        PolicyRule("placement:resource_providers:show"),
        "Show a resource provider.",
        "404 if there is none with this UUID.",
        answer=provider_schemas.answer,
    ),
    Route(
        "PUT",
        _PROVIDER,
        providers.put,
        PolicyRule("placement:resource_providers:update"),
        "Rename a resource provider, or give it a parent.",
        "From 1.37 on a parent can be changed and removed.",
        body=provider_schemas.update,
        answer=provider_schemas.answer,
    ),
    Route(
        "DELETE",
        _PROVIDER,
        providers.delete,
        PolicyRule("placement:resource_providers:delete"),
        "Delete a resource provider.",
        "Refused with 409 while it has allocations or children.",
        statuses=(204,),
    ),
    Route(
        "GET",
        _INVENTORIES,
        inventories.get_all,
        _PART_RULES["inventories"],
        "List the inventories of a provider.",
        "By resource class, with the generation of the provider, which writes send back.",
        answer=in_all_versions(inventory_schemas.ALL),
    ),
    Route(
        "POST",
        _INVENTORIES,
        inventories.post,
        PolicyRule("placement:resource_providers:inventories:create"),
        "Add an inventory to a provider.",
        "Fields that are left out have defaults: nothing reserved, any unit, a ratio of 1.0. "
        "Refused with 409 if the provider has an inventory of the class.",
        body=in_all_versions(inventory_schemas.POST),
        statuses=(201,),
        answer=in_all_versions(inventory_schemas.ONE),
        names_location=True,
    ),
    Route(
        "PUT",
        _INVENTORIES,
        inventories.put_all,
        _UPDATE_INVENTORIES,
        "Replace all inventories of a provider.",
        _GENERATION,
        body=in_all_versions(inventory_schemas.PUT_ALL),
        answer=in_all_versions(inventory_schemas.ALL),
    ),
    Route(
        "DELETE",
        _INVENTORIES,
        inventories.delete_all,
        _DELETE_INVENTORIES,
        "Delete all inventories of a provider.",
        "Refused with 409 while somebody holds something of them.",
        since=(1, 5),
        status_before=405,
        statuses=(204,),
    ),
    Route(
        "GET",
        _INVENTORY,
        inventories.get,
        PolicyRule("placement:resource_providers:inventories:show"),
        "Show one inventory of a provider.",
        "404 if the provider has none of this class.",
        answer=in_all_versions(inventory_schemas.ONE),
    ),
    Route(
        "PUT",
        _INVENTORY,
        inventories.put,
        _UPDATE_INVENTORIES,
        "Change one inventory of a provider.",
        _GENERATION,
        body=in_all_versions(inventory_schemas.PUT_ONE),
        answer=in_all_versions(inventory_schemas.ONE),
    ),
    Route(
        "DELETE",
        _INVENTORY,
        inventories.delete,
        _DELETE_INVENTORIES,
        "Delete one inventory of a provider.",
        "Refused with 409 while somebody holds something of it.",
        statuses=(204,),
    ),
    Route(
        "GET",
        f"{_PROVIDER}/usages",
        usages.get_of_provider,
        _PART_RULES["usages"],
        "Show how much of a provider is used.",
        "Of each class that it has an inventory of.",
        answer=in_all_versions(usage_schemas.OF_PROVIDER),
    ),
    Route(
        "GET",
        _AGGREGATES,
        aggregates.get,
        _PART_RULES["aggregates"],
        "List the aggregates of a provider.",
        "From 1.19 on with the generation of the provider.",
        answer=aggregate_schemas.answer,
        since=(1, 1),
    ),
    Route(
        "PUT",
        _AGGREGATES,
        aggregates.put,
        PolicyRule("placement:resource_providers:aggregates:update"),
        "Replace the aggregates of a provider.",
        "From 1.19 on refused with 409 if the generation in the body is not that of the provider.",
        since=(1, 1),
        body=aggregate_schemas.put,
        answer=aggregate_schemas.answer,
    ),
    Route(
        "GET",
        f"{_PROVIDER}/allocations",
        allocations.get_of_provider,
        PolicyRule("placement:resource_providers:allocations:list"),
        "List who holds what of a provider.",
        "By consumer. What a consumer holds of other providers is not shown.",
        answer=allocation_schemas.of_provider,
        may_take_long=True,
    ),
    Route(
        "GET",
        _TRAITS,
        traits.get_of_provider,
        _PART_RULES["traits"],
        "List the traits of a provider.",
        "With the generation of the provider, which writes send back.",
        answer=in_all_versions(trait_schemas.OF_PROVIDER),
        since=(1, 6),
    ),
    Route(
        "PUT",
        _TRAITS,
        traits.put_of_provider,
        PolicyRule("placement:resource_providers:traits:update"),
        "Replace the traits of a provider.",
        _GENERATION,
        since=(1, 6),
        body=in_all_versions(trait_schemas.PUT_OF_PROVIDER),
        answer=in_all_versions(trait_schemas.OF_PROVIDER),
    ),
    Route(
        "DELETE",
        _TRAITS,
        traits.delete_of_provider,
        PolicyRule("placement:resource_providers:traits:delete"),
        "Take all traits from a provider.",
        "Without a generation: use PUT with no traits where others may write meanwhile.",
        since=(1, 6),
        statuses=(204,),
    ),
    Route(
        "GET",
        "/summary",
        summary.get,
        PolicyRule("placement:summary:list"),
        "Show what all providers have together, and how much of it is used.",
        "With `by`, also for each aggregate, and for each trait of the roots of trees.",
        since=(1, 39),
        query=in_all_versions(summary_schemas.QUERY),
        answer=in_all_versions(summary_schemas.SUMMARY),
        extension=Extension.SUMMARY,
        may_take_long=True,
    ),
)
