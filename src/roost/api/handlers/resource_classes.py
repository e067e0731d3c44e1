"""/resource_classes and /resource_classes/{name}."""

from typing import Any

from roost.api.http.error_wording import ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.parsing import bodies
from roost.api.parsing.extension_refusals import BODY
from roost.api.parsing.validation import validate
from roost.api.schemas import resource_classes as schema
from roost.errors import ResourceClassExists, ResourceClassInUse, StandardName
from roost.operations.resource_classes import (
    create_resource_class,
    delete_resource_class,
    ensure_resource_class,
    list_resource_classes,
    read_resource_class,
    rename_resource_class,
)
from roost.service.service import Roost

POST_WORDINGS: ErrorWordings = {
    ResourceClassExists: "Conflicting resource class already exists: {name}"
}
RENAME_WORDINGS: ErrorWordings = {StandardName: "Cannot update standard resource class {name}"}
DELETE_WORDINGS: ErrorWordings = {
    StandardName: "Error in delete resource class: Cannot delete standard resource class {name}.",
    ResourceClassInUse: "Error in delete resource class: {error}",
}


def get_all(roost: Roost, request: Request) -> Reply:
    classes = list_resource_classes(roost)
    return Reply(
        body={"resource_classes": [_render(found.name, request) for found in classes]},
        shows_state=True,
        modified=max((found.modified for found in classes if found.modified), default=None),
    )


def post(roost: Roost, request: Request) -> Reply:
    name = bodies.read(request.body, request.body_schema)["name"]
    with reword_errors(POST_WORDINGS, name=name):
        create_resource_class(roost, name=name)
    return Reply(status=201, location=f"/resource_classes/{name}")


def get(roost: Roost, request: Request, name: str) -> Reply:
    found = read_resource_class(roost, name=name)
    return Reply(body=_render(found.name, request), shows_state=True, modified=found.modified)


def rename(roost: Roost, request: Request, name: str) -> Reply:
    """PUT before 1.7."""
    new_name = bodies.read(request.body, request.body_schema)["name"]
    with reword_errors(RENAME_WORDINGS, name=name):
        rename_resource_class(roost, name=name, new_name=new_name)
    return Reply(body=_render(new_name, request))


def ensure(roost: Roost, request: Request, name: str) -> Reply:
    """PUT from 1.7."""
    validate({"name": name}, schema.BODY, BODY)
    made = ensure_resource_class(roost, name=name)
    return Reply(status=201 if made else 204, location=f"/resource_classes/{name}")


def delete(roost: Roost, request: Request, name: str) -> Reply:
    with reword_errors(DELETE_WORDINGS, name=name):
        delete_resource_class(roost, name=name)
    return Reply(status=204)


def _render(name: str, request: Request) -> dict[str, Any]:
    href = f"{request.root_path}/resource_classes/{name}"
    return {"name": name, "links": [{"rel": "self", "href": href}]}
