"""/traits, /traits/{name} and /resource_providers/{uuid}/traits."""

import re

from roost.api.http.error_wording import ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.http_error import HttpError
from roost.api.parsing import bodies, query_string
from roost.api.parsing.query_string import Parameters
from roost.errors import (
    ProviderGenerationConflict,
    ProviderNotFound,
    StandardName,
    UnknownTrait,
)
from roost.model import ProviderTraits
from roost.operations.traits import (
    delete_trait,
    ensure_trait,
    list_traits,
    read_trait,
    read_traits,
    replace_traits,
)
from roost.quoting import quote
from roost.service.service import Roost

_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]+")
_LENGTH_MAX = 255

PROVIDER_GET_WORDINGS: ErrorWordings = {
    ProviderNotFound: "No resource provider with uuid {uuid} found: {error}"
}
PROVIDER_PUT_WORDINGS: ErrorWordings = {
    ProviderGenerationConflict: "Resource provider's generation already changed. "
    "Please update the generation and try again.",
    UnknownTrait: "No such trait {error.listed}",
}
DELETE_WORDINGS: ErrorWordings = {StandardName: "Cannot delete standard trait {name}."}


def get_all(roost: Roost, request: Request) -> Reply:
    parameters = query_string.parse(request.query_string, request.query_schema)
    names, prefix = _parse_name(parameters)
    traits = list_traits(
        roost, names=names, prefix=prefix, associated=_parse_associated(parameters)
    )
    return Reply(
        body={"traits": [trait.name for trait in traits]},
        shows_state=True,
        modified=max((trait.modified for trait in traits if trait.modified), default=None),
    )


def _parse_name(parameters: Parameters) -> tuple[frozenset[str] | None, str | None]:
    """`in:A,B` as names, `startswith:A` as a prefix."""
    text = query_string.once(parameters, "name")
    if text is None:
        return None, None
    operator, colon, value = text.partition(":")
    if colon and operator == "in":
        query_string.refuse_many("name", [value])
        return frozenset(value.split(",")), None
    if colon and operator == "startswith":
        return None, value
    raise HttpError(
        400,
        "Badly formatted name parameter. Expected name query string parameter in form: "
        f'?name=[in|startswith]:[name1,name2|prefix]. Got: "{quote(text)}"',
    )


def _parse_associated(parameters: Parameters) -> bool | None:
    text = query_string.once(parameters, "associated")
    if text is None:
        return None
    if text.lower() not in ("true", "false"):
        raise HttpError(400, 'The query parameter "associated" only accepts "true" or "false"')
    return text.lower() == "true"


def get(roost: Roost, request: Request, name: str) -> Reply:
    trait = read_trait(roost, name=name)
    return Reply(status=204, shows_state=True, modified=trait.modified)


def put(roost: Roost, request: Request, name: str) -> Reply:
    if not _CUSTOM.fullmatch(name) or len(name) > _LENGTH_MAX:
        raise HttpError(
            400,
            f"The trait is invalid. A valid trait must be no longer than {_LENGTH_MAX} characters, "
            'start with the prefix "CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and '
            '"_"',
        )
    made = ensure_trait(roost, name=name)
    return Reply(status=201 if made else 204, location=f"/traits/{name}", shows_state=True)


def delete(roost: Roost, request: Request, name: str) -> Reply:
    with reword_errors(DELETE_WORDINGS, name=name):
        delete_trait(roost, name=name)
    return Reply(status=204)


def get_of_provider(roost: Roost, request: Request, uuid: str) -> Reply:
    with reword_errors(PROVIDER_GET_WORDINGS, uuid=uuid):
        return _show(read_traits(roost, provider_uuid=uuid))


def put_of_provider(roost: Roost, request: Request, uuid: str) -> Reply:
    body = bodies.read(request.body, request.body_schema)
    with reword_errors(PROVIDER_PUT_WORDINGS):
        changed = replace_traits(
            roost,
            provider_uuid=uuid,
            traits=frozenset(body["traits"]),
            expected_generation=bodies.to_integer(body["resource_provider_generation"]),
        )
    return _show(changed)


def delete_of_provider(roost: Roost, request: Request, uuid: str) -> Reply:
    replace_traits(roost, provider_uuid=uuid, traits=frozenset(), expected_generation=None)
    return Reply(status=204)


def _show(found: ProviderTraits) -> Reply:
    return Reply(
        body={
            "traits": found.traits,
            "resource_provider_generation": found.generation,
        },
        shows_state=True,
        modified=found.modified,
    )
