"""The rules of the policy, made from the table of routes.

Names, defaults and scopes are those of Placement, so that existing policy files keep their meaning.
"""

from collections.abc import Sequence

from oslo_policy import policy

from roost.api.routes import ROUTES

# A token must be for a project; one for the whole system has the wrong scope.
SCOPES = ["project"]

# The default of every rule before there were roles for services and readers. It still counts
# while [oslo_policy]enforce_new_defaults is false.
_ONLY_ADMINISTRATORS = policy.DeprecatedRule(
    name="rule:admin_api",
    check_str="role:admin",
    deprecated_reason="Services and the readers of a project have roles of their own now.",
    deprecated_since="Wallaby",
)

# The rules that other rules refer to.
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


def list_rules() -> Sequence[policy.RuleDefault]:
    """Every rule, for `oslopolicy-sample-generator --namespace roost`."""
    names = dict.fromkeys(route.rule.name for route in ROUTES if route.rule is not None)
    return [*BASE_RULES, *map(_documented, names)]


def _documented(name: str) -> policy.DocumentedRuleDefault:
    routes = [(route, route.rule) for route in ROUTES if route.rule and route.rule.name == name]
    route, rule = routes[0]
    # A method whose meaning changed has one route for each range of versions.
    operations = dict.fromkeys((route.path, route.method) for route, _ in routes)
    return policy.DocumentedRuleDefault(
        name,
        rule.default,
        rule.description or route.summary,
        [{"path": path, "method": method} for path, method in operations],
        scope_types=SCOPES,
    )
