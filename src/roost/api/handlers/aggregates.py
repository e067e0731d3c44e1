"""/resource_providers/{uuid}/aggregates."""

import functools

from roost.api.http.error_wording import ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.parsing import bodies
from roost.api.schemas.aggregates import SINCE_GENERATION
from roost.api.versions import Version
from roost.errors import ProviderGenerationConflict
from roost.model import ProviderAggregates
from roost.operations.aggregates import read_aggregates, replace_aggregates
from roost.operations.providers import read_provider
from roost.service.service import Roost

WORDINGS: ErrorWordings = {
    ProviderGenerationConflict: "Resource provider's generation already changed. "
    "Please update the generation and try again."
}


def get(roost: Roost, request: Request, uuid: str) -> Reply:
    return _show(read_aggregates(roost, provider_uuid=uuid), request.version)


def put(roost: Roost, request: Request, uuid: str) -> Reply:
    has_generation = request.version >= SINCE_GENERATION
    body = bodies.read(
        request.body,
        request.body_schema,
        check_exists=functools.partial(read_provider, roost, uuid=uuid),
    )
    aggregates = body["aggregates"] if has_generation else body
    generation = body["resource_provider_generation"] if has_generation else None
    with reword_errors(WORDINGS):
        changed = replace_aggregates(
            roost,
            provider_uuid=uuid,
            aggregates=aggregates,
            expected_generation=None if generation is None else bodies.to_integer(generation),
        )
    return _show(changed, request.version)


def _show(found: ProviderAggregates, version: Version) -> Reply:
    body: dict[str, object] = {"aggregates": found.aggregates}
    if version >= SINCE_GENERATION:
        body["resource_provider_generation"] = found.generation
    return Reply(body=body, shows_state=True)
