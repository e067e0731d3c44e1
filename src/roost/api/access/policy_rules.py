"""The rules of policy: their names, what they allow by default, and what each is about.

Names, defaults and scopes are those of existing policy files.
"""

from collections.abc import Sequence

from oslo_policy import policy

from roost.api.routes import ROUTES

# The rules are about projects: a token for the whole system is of the wrong scope.
SCOPES = ["project"]

# What every rule was before there were roles for services and readers. It still counts while
# [oslo_policy]enforce_new_defaults is false.
_ONLY_ADMINISTRATORS = policy.DeprecatedRule(
    name="rule:admin_api",
    check_str="role:admin",
    deprecated_reason="Services and the readers of a project have roles of their own now.",
    deprecated_since="Wallaby",
)

_MANAGERS = "rule:admin_or_service_api"

BASE_RULES = [
    policy.RuleDefault(
        "admin_api", "role:admin", description="Administrators.", scope_types=SCOPES
    ),
    policy.RuleDefault(
        "service_api",
        "role:service",
        description="Other services of the cloud.",
        scope_types=SCOPES,
        deprecated_rule=_ONLY_ADMINISTRATORS,
    ),
    policy.RuleDefault(
        "admin_or_service_api",
        "role:admin or role:service",
        description="Administrators and other services: what most rules are.",
        scope_types=SCOPES,
        deprecated_rule=_ONLY_ADMINISTRATORS,
    ),
    policy.RuleDefault(
        "project_reader_api",
        "role:reader and project_id:%(project_id)s",
        description="Readers of the project that a request is about.",
        deprecated_rule=_ONLY_ADMINISTRATORS,
    ),
    policy.RuleDefault(
        "admin_or_project_reader_or_service_api",
        "role:admin or rule:project_reader_api or role:service",
        description="Administrators, other services, and readers of the project in question.",
        scope_types=SCOPES,
        deprecated_rule=_ONLY_ADMINISTRATORS,
    ),
]

# Rules that allow something else than most.
_DEFAULTS = {
    "placement:reshaper:reshape": "rule:service_api",
    "placement:usages": "rule:admin_or_project_reader_or_service_api",
}

_DESCRIPTIONS = {
    "placement:resource_providers:list": "List resource providers.",
    "placement:resource_providers:create": "Create a resource provider.",
    "placement:resource_providers:show": "Show a resource provider.",
    "placement:resource_providers:update": "Rename a resource provider, or give it a parent.",
    "placement:resource_providers:delete": "Delete a resource provider.",
    "placement:resource_providers:inventories:list": "List the inventories of a provider.",
    "placement:resource_providers:inventories:create": "Add an inventory to a provider.",
    "placement:resource_providers:inventories:show": "Show one inventory of a provider.",
    "placement:resource_providers:inventories:update": "Change inventories of a provider.",
    "placement:resource_providers:inventories:delete": "Delete inventories of a provider.",
    "placement:resource_providers:usages": "Show how much of a provider is used.",
    "placement:resource_providers:aggregates:list": "List the aggregates of a provider.",
    "placement:resource_providers:aggregates:update": "Replace the aggregates of a provider.",
    "placement:resource_providers:allocations:list": "List who holds what of a provider.",
    "placement:resource_providers:traits:list": "List the traits of a provider.",
    "placement:resource_providers:traits:update": "Replace the traits of a provider.",
    "placement:resource_providers:traits:delete": "Take all traits from a provider.",
    "placement:resource_classes:list": "List resource classes.",
    "placement:resource_classes:create": "Create a resource class.",
    "placement:resource_classes:show": "Show a resource class.",
    "placement:resource_classes:update": "Create or rename a resource class.",
    "placement:resource_classes:delete": "Delete a resource class.",
    "placement:traits:list": "List traits.",
    "placement:traits:show": "Show a trait.",
    "placement:traits:update": "Create a trait.",
    "placement:traits:delete": "Delete a trait.",
    "placement:allocations:manage": "Change the allocations of several consumers at once.",
    "placement:allocations:list": "Show the allocations of a consumer.",
    "placement:allocations:update": "Replace the allocations of a consumer.",
    "placement:allocations:delete": "Delete the allocations of a consumer.",
    "placement:allocation_candidates:list": "Find where a request fits, how often, or why not.",
    "placement:events:list": "Watch what changes.",
    "placement:placements:create": "Choose candidates for consumers and claim them.",
    "placement:usages": "Show how much a project uses.",
    "placement:reshaper:reshape": "Move inventories and allocations within a tree.",
}


def _documented(name: str) -> policy.DocumentedRuleDefault:
    # A path whose method changed its meaning has one entry for each range of versions.
    operations = dict.fromkeys((route.path, route.method) for route in ROUTES if route.rule == name)
    return policy.DocumentedRuleDefault(
        name,
        _DEFAULTS.get(name, _MANAGERS),
        _DESCRIPTIONS[name],
        [{"path": path, "method": method} for path, method in operations],
        scope_types=SCOPES,
    )


def list_rules() -> Sequence[policy.RuleDefault]:
    """Every rule, for `oslopolicy-sample-generator --namespace roost`."""
    names = dict.fromkeys(route.rule for route in ROUTES if route.rule is not None)
    return [*BASE_RULES, *map(_documented, names)]
