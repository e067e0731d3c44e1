"""/usages and /resource_providers/{uuid}/usages."""

from collections.abc import Iterable
from typing import Any

from roost.api.http.error_wording import ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.parsing import query_string
from roost.api.schemas.usages import PROJECT_LENGTH_MAX
from roost.api.versions import Version
from roost.errors import ProviderNotFound
from roost.model import ConsumerTypeUsage, Resources
from roost.operations.usages import read_project_usages, read_usages
from roost.service.service import Roost

WORDINGS: ErrorWordings = {ProviderNotFound: "No resource provider with uuid {uuid} found: {error}"}

# The value of `consumer_type` that asks for the sum of all types; no type has this name.
ALL = "all"


def get(roost: Roost, request: Request) -> Reply:
    parameters = query_string.parse(request.query_string, request.query_schema)
    consumer_type = query_string.once(parameters, "consumer_type")
    usages = read_project_usages(
        roost,
        project_id=query_string.once(parameters, "project_id") or "",
        user_id=query_string.once(parameters, "user_id"),
        consumer_type=None if consumer_type == ALL else consumer_type,
    )
    body = {"usages": render(usages, consumer_type, request.version)}
    return Reply(body=body, shows_state=True)


def project_of(request: Request) -> str | None:
    """The project that a request asks about: policy may allow its readers."""
    values = query_string.split(request.query_string).get("project_id", ())
    # Policy and handler must speak of the same project, so a repeated parameter names none. Nor
    # does a text that no project has as its id: the policy keeps its decisions for a while.
    is_one = len(values) == 1 and len(values[0]) <= PROJECT_LENGTH_MAX
    return values[0] if is_one else None


def render(
    usages: Iterable[ConsumerTypeUsage], consumer_type: str | None, version: Version
) -> dict[str, Any]:
    usages = list(usages)
    if version < (1, 38):
        return dict(_sum(usage.usages for usage in usages))
    if consumer_type == ALL:
        count = sum(usage.consumer_count for usage in usages)
        total = {"consumer_count": count, **_sum(usage.usages for usage in usages)}
        return {ALL: total} if usages else {}
    return {
        usage.consumer_type: {"consumer_count": usage.consumer_count, **usage.usages}
        for usage in usages
    }


def _sum(usages: Iterable[Resources]) -> Resources:
    total: dict[str, int] = {}
    for usage in usages:
        for name, amount in usage.items():
            total[name] = total.get(name, 0) + amount
    return total


def get_of_provider(roost: Roost, request: Request, uuid: str) -> Reply:
    with reword_errors(WORDINGS, uuid=uuid):
        found = read_usages(roost, provider_uuid=uuid)
    return Reply(
        body={"resource_provider_generation": found.generation, "usages": found.usages},
        shows_state=True,
    )
