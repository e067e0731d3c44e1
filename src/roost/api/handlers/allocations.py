"""/allocations, /allocations/{consumer_uuid} and /resource_providers/{uuid}/allocations."""

from typing import Any

from roost.api.http import pieces
from roost.api.http.error_wording import ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.parsing import bodies
from roost.api.parsing.allocations import check_consumer_uuid, parse_consumer, parse_consumers
from roost.api.schemas import bounds
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
from roost.model import ConsumerAllocations, ProviderConsumers
from roost.operations.allocations import (
    delete_allocations,
    read_consumer,
    read_provider_consumers,
    replace_allocations,
)
from roost.service.service import Roost
from roost.uuids import canonical_uuid, is_consumer_key

_NO_ROOM = "Unable to allocate inventory: {error}"

CONFLICT_WORDINGS: ErrorWordings = {
    CapacityExceeded: _NO_ROOM,
    ConstraintViolated: _NO_ROOM,
    MissingInventory: _NO_ROOM,
    ConcurrentUpdate: _NO_ROOM,
}
POST_WORDINGS: ErrorWordings = {
    **CONFLICT_WORDINGS,
    UnknownResourceClass: "Unable to allocate inventory {error}",
}
PUT_WORDINGS: ErrorWordings = {
    **CONFLICT_WORDINGS,
    UnknownResourceClass: "Unable to allocate inventory for consumer {uuid}: {error}",
}
PROVIDER_WORDINGS: ErrorWordings = {
    ProviderNotFound: "Resource provider '{uuid}' not found: {error}"
}


def get(roost: Roost, request: Request, consumer_uuid: str) -> Reply:
    found = None
    if is_consumer_key(consumer_uuid):
        found = read_consumer(roost, consumer_uuid=consumer_uuid)
    if found is None:
        # A consumer that holds nothing and one that does not exist look alike.
        return Reply(body={"allocations": {}}, shows_state=True)
    return Reply(body=render(found, request.version), shows_state=True, modified=found.modified)


def put(roost: Roost, request: Request, consumer_uuid: str) -> Reply:
    check_consumer_uuid(consumer_uuid)
    body = bodies.read(request.body, request.body_schema)
    change = parse_consumer(
        body,
        canonical_uuid(consumer_uuid),
        request.version,
        sent_as=consumer_uuid,
        as_stored=roost.as_stored,
    )
    with reword_errors(PUT_WORDINGS, uuid=change.consumer_uuid):
        replace_allocations(roost, changes=[change])
    return Reply(status=204)


def post(roost: Roost, request: Request) -> Reply:
    body = bodies.read(request.body, request.body_schema, values_max=bounds.VALUES_OF_CONSUMERS_MAX)
    changes = parse_consumers(body, request.version, as_stored=roost.as_stored)
    with reword_errors(POST_WORDINGS):
        replace_allocations(roost, changes=changes)
    return Reply(status=204)


def delete(roost: Roost, request: Request, consumer_uuid: str) -> Reply:
    if not is_consumer_key(consumer_uuid):
        raise ConsumerNotFound(consumer_uuid)
    delete_allocations(roost, consumer_uuid=consumer_uuid)
    return Reply(status=204)


def get_of_provider(roost: Roost, request: Request, uuid: str) -> Reply:
    with reword_errors(PROVIDER_WORDINGS, uuid=uuid):
        found = read_provider_consumers(roost, provider_uuid=uuid)
    shown = render_of_provider(found, request.version)
    if len(found.consumers) > pieces.ENTRIES_MAX:
        end = b',"resource_provider_generation":%d}' % found.generation
        stream = pieces.encoded_object(b'{"allocations":', shown["allocations"], end)
        return Reply(pieces=stream, shows_state=True, modified=found.modified)
    return Reply(body=shown, shows_state=True, modified=found.modified)


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
