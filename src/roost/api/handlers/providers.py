"""/resource_providers and /resource_providers/{uuid}."""

import functools
import uuid as uuids
from typing import Any

from msgspec import UNSET

from roost.api.http.error_wording import ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.http_error import HttpError
from roost.api.parsing import bodies
from roost.api.schemas.providers import LINKS, SINCE_TREES
from roost.errors import (
    InvalidParent,
    ProviderExists,
    ProviderNotFound,
    UnknownParent,
)
from roost.model import Provider
from roost.operations.providers import (
    create_provider,
    delete_provider,
    read_provider,
    update_provider,
)
from roost.service.service import Roost
from roost.uuids import canonical_uuid

CREATE_WORDINGS: ErrorWordings = {
    InvalidParent: 'Unable to create resource provider "{name}", {uuid}: '
    "Object action create failed because: {error}"
}
UPDATE_WORDINGS: ErrorWordings = {
    ProviderExists: "Conflicting resource provider {error.value} already exists.",
    InvalidParent: "Unable to save resource provider {uuid}: "
    "Object action update failed because: {error}",
    # Placement says "create" here as well, and clients match on it.
    UnknownParent: "Unable to save resource provider {uuid}: "
    "Object action create failed because: {error}",
}
DELETE_WORDINGS: ErrorWordings = {
    ProviderNotFound: "No resource provider with uuid {uuid} found for delete"
}


def post(roost: Roost, request: Request) -> Reply:
    body = bodies.read(request.body, request.body_schema)
    uuid = canonical_uuid(body["uuid"]) if "uuid" in body else str(uuids.uuid4())
    parent = body.get("parent_provider_uuid")
    if not body["name"]:
        # In Placement's words, which clients may match.
        reason = "Object action create failed because: name is required"
        raise HttpError(400, f'Unable to create resource provider "", {uuid}: {reason}')
    with reword_errors(CREATE_WORDINGS, name=body["name"], uuid=uuid):
        provider = create_provider(
            roost,
            uuid=uuid,
            name=body["name"],
            parent_uuid=None if parent is None else roost.as_stored(parent),
        )
    location = f"/resource_providers/{provider.uuid}"
    if request.version < (1, 20):
        return Reply(status=201, location=location)
    return Reply(
        location=location,
        body=render(provider, request),
        shows_state=True,
        modified=provider.modified,
    )


def get(roost: Roost, request: Request, uuid: str) -> Reply:
    return _show(read_provider(roost, uuid=uuid), request)


def put(roost: Roost, request: Request, uuid: str) -> Reply:
    body = bodies.read(
        request.body,
        request.body_schema,
        check_exists=functools.partial(read_provider, roost, uuid=uuid),
    )
    if not body["name"]:
        raise HttpError(400, "The name of a resource provider is required.")
    parent = body.get("parent_provider_uuid", UNSET)
    with reword_errors(UPDATE_WORDINGS, uuid=uuid):
        provider = update_provider(
            roost,
            uuid=uuid,
            name=body["name"],
            parent_uuid=roost.as_stored(parent) if isinstance(parent, str) else parent,
            may_reparent=request.version >= (1, 37),
        )
    return _show(provider, request)


def delete(roost: Roost, request: Request, uuid: str) -> Reply:
    with reword_errors(DELETE_WORDINGS, uuid=uuid):
        delete_provider(roost, uuid=uuid)
    return Reply(status=204)


def render(provider: Provider, request: Request) -> dict[str, Any]:
    path = f"{request.root_path}/resource_providers/{provider.uuid}"
    shown: dict[str, Any] = {
        "uuid": provider.uuid,
        "name": provider.name,
        "generation": provider.generation,
        "links": [
            {"rel": name, "href": path + suffix}
            for since, name, suffix in LINKS
            if request.version >= since
        ],
    }
    if request.version >= SINCE_TREES:
        shown["parent_provider_uuid"] = provider.parent_uuid
        shown["root_provider_uuid"] = provider.root_uuid
    return shown


def _show(provider: Provider, request: Request) -> Reply:
    return Reply(body=render(provider, request), shows_state=True, modified=provider.modified)
