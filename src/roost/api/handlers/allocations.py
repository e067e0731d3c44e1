"""/allocations, /allocations/{consumer_uuid} and /resource_providers/{uuid}/allocations."""

from collections.abc import Mapping
from typing import Any

from roost.api.http.error_response import HttpError
from roost.api.http.error_wording import Wordings, worded
from roost.api.http.messages import Reply, Request
from roost.api.parsing import bodies
from roost.api.schemas import allocations as schema
from roost.api.schemas import canonical_uuid, is_uuid
from roost.api.versions import Version
from roost.errors import (
    CapacityExceeded,
    ConcurrentUpdate,
    ConstraintViolated,
    ConsumerNotFound,
    MissingInventory,
    ProviderNotFound,
    UnknownResourceClass,
)
from roost.model import ConsumerAllocations, ConsumerChange, ProviderConsumers, Resources
from roost.operations.allocations import (
    delete_allocations,
    read_consumer,
    read_provider_consumers,
    replace_allocations,
)
from roost.service.service import Roost

_NO_ROOM = "Unable to allocate inventory: {error}"

CONFLICT_WORDINGS: Wordings = {
    CapacityExceeded: _NO_ROOM,
    ConstraintViolated: _NO_ROOM,
    MissingInventory: _NO_ROOM,
    ConcurrentUpdate: _NO_ROOM,
}
POST_WORDINGS: Wordings = {
    **CONFLICT_WORDINGS,
    UnknownResourceClass: "Unable to allocate inventory {error}",
}
PUT_WORDINGS: Wordings = {
    **CONFLICT_WORDINGS,
    UnknownResourceClass: "Unable to allocate inventory for consumer {uuid}: {error}",
}
PROVIDER_WORDINGS: Wordings = {ProviderNotFound: "Resource provider '{uuid}' not found: {error}"}


def get(roost: Roost, request: Request, consumer_uuid: str) -> Reply:
    found = None
    if is_uuid(consumer_uuid):
        found = read_consumer(roost, consumer_uuid=canonical_uuid(consumer_uuid))
    if found is None:
        # A consumer that holds nothing and one that does not exist look alike.
        return Reply(body={"allocations": {}}, shows_state=True)
    return Reply(body=render(found, request.version), shows_state=True, modified=found.modified)


def put(roost: Roost, request: Request, consumer_uuid: str) -> Reply:
    if not is_uuid(consumer_uuid):
        raise HttpError(400, f"Malformed consumer_uuid: {consumer_uuid} is not a UUID")
    body = bodies.read(request.body, schema.put(request.version))
    change = parse(body, consumer_uuid, request.version)
    with worded(PUT_WORDINGS, uuid=change.consumer_uuid):
        replace_allocations(roost, changes=[change])
    return Reply(status=204)


def post(roost: Roost, request: Request) -> Reply:
    body = bodies.read(request.body, schema.post(request.version))
    changes = parse_all(body, request.version)
    with worded(POST_WORDINGS):
        replace_allocations(roost, changes=changes)
    return Reply(status=204)


def delete(roost: Roost, request: Request, consumer_uuid: str) -> Reply:
    if not is_uuid(consumer_uuid):
        raise ConsumerNotFound(consumer_uuid)
    delete_allocations(roost, consumer_uuid=canonical_uuid(consumer_uuid))
    return Reply(status=204)


def get_of_provider(roost: Roost, request: Request, uuid: str) -> Reply:
    with worded(PROVIDER_WORDINGS, uuid=uuid):
        found = read_provider_consumers(roost, provider_uuid=uuid)
    return Reply(
        body=render_of_provider(found, request.version),
        shows_state=True,
        modified=found.modified,
    )


def parse_all(body: Mapping[str, Any], version: Version) -> list[ConsumerChange]:
    """What several consumers shall hold."""
    changes = {}
    for uuid, fields in body.items():
        if not is_uuid(uuid):
            raise HttpError(400, f"Malformed consumer_uuid: {uuid} is not a UUID")
        change = parse(fields, uuid, version)
        if change.consumer_uuid in changes:
            raise HttpError(400, f"The consumer {change.consumer_uuid} is given twice")
        changes[change.consumer_uuid] = change
    return list(changes.values())


def parse(body: Mapping[str, Any], consumer_uuid: str, version: Version) -> ConsumerChange:
    """What one consumer shall hold, in the form of the version."""
    checks_generation = version >= (1, 28)
    generation = body.get("consumer_generation")
    return ConsumerChange(
        consumer_uuid=canonical_uuid(consumer_uuid),
        allocations=_parse_allocations(body["allocations"]),
        project_id=body.get("project_id"),
        user_id=body.get("user_id"),
        consumer_type=body.get("consumer_type"),
        checks_generation=checks_generation,
        expected_generation=None if generation is None else bodies.whole(generation),
    )


def _parse_allocations(allocations: Any) -> dict[str, Resources]:
    if isinstance(allocations, dict):
        pairs = [(uuid, entry["resources"]) for uuid, entry in allocations.items()]
    else:  # the list of versions before 1.12
        pairs = [(entry["resource_provider"]["uuid"], entry["resources"]) for entry in allocations]
    merged: dict[str, dict[str, int]] = {}
    for uuid, resources in pairs:
        # A list may name a provider twice; the later amount of a class counts.
        merged.setdefault(canonical_uuid(uuid), {}).update(
            {name: bodies.whole(amount) for name, amount in resources.items()}
        )
    return dict(merged)


def render(found: ConsumerAllocations, version: Version) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "allocations": {
            uuid: {"resources": held.resources, "generation": held.provider_generation}
            for uuid, held in found.allocations.items()
        }
    }
    if not found.allocations:
        return shown
    if version >= (1, 12):
        shown["project_id"] = found.project_id
        shown["user_id"] = found.user_id
    if version >= (1, 28):
        shown["consumer_generation"] = found.generation
    if version >= (1, 38):
        shown["consumer_type"] = found.consumer_type
    return shown


def render_of_provider(found: ProviderConsumers, version: Version) -> dict[str, Any]:
    consumers: dict[str, dict[str, Any]] = {}
    for uuid, share in found.consumers.items():
        consumers[uuid] = {"resources": share.resources}
        if version >= (1, 28):
            consumers[uuid]["consumer_generation"] = share.generation
    return {"allocations": consumers, "resource_provider_generation": found.generation}
