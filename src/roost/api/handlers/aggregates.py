"""/resource_providers/{uuid}/aggregates."""

import functools

from roost.api.http.error_wording import Wordings, worded
from roost.api.http.messages import Reply, Request
from roost.api.parsing import bodies
from roost.api.schemas import aggregates as schema
from roost.api.schemas import canonical_uuid
from roost.api.versions import Version
from roost.errors import ProviderGenerationConflict
from roost.model import ProviderAggregates
from roost.operations.aggregates import read_aggregates, replace_aggregates
from roost.operations.providers import read_provider
from roost.service.service import Roost

WORDINGS: Wordings = {
    ProviderGenerationConflict: "Resource provider's generation already changed. "
    "Please update the generation and try again."
}


def get(roost: Roost, request: Request, uuid: str) -> Reply:
    return _show(read_aggregates(roost, provider_uuid=uuid), request.version)


def put(roost: Roost, request: Request, uuid: str) -> Reply:
    carries_generation = request.version >= schema.SINCE_GENERATION
    body = bodies.read(
        request.body,
        schema.put(request.version),
        missing=functools.partial(read_provider, roost, uuid=uuid),
    )
    aggregates = body["aggregates"] if carries_generation else body
    generation = body["resource_provider_generation"] if carries_generation else None
    with worded(WORDINGS):
        changed = replace_aggregates(
            roost,
            provider_uuid=uuid,
            # Two spellings of one UUID are one aggregate.
            aggregates=list(dict.fromkeys(map(canonical_uuid, aggregates))),
            expected_generation=None if generation is None else bodies.whole(generation),
        )
    return _show(changed, request.version)


def _show(found: ProviderAggregates, version: Version) -> Reply:
    body: dict[str, object] = {"aggregates": found.aggregates}
    if version >= schema.SINCE_GENERATION:
        body["resource_provider_generation"] = found.generation
    return Reply(body=body, shows_state=True)
