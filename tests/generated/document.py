"""The OpenAPI document that the server serves, with meaningful values filled in.

Its schemas allow any text for most parameters, and hardly any text would get past the first check.
So paths and parameters get the names of the small world, and the newest versions come first.
"""

import copy
import itertools
from collections.abc import Iterator
from typing import Any

from roost.api import openapi
from roost.api.openapi.parameters import GROUPS
from roost.api.probes import OPEN_ROUTES
from roost.api.versions import VERSIONS, Version
from tests.generated.hostile import NAMES, UUIDS
from tests.generated.small_world import AGGREGATE_1, CN1, PROJECT, TRAIT

_GOOD_VALUES = {
    "resources": "VCPU:1",
    "required": TRAIT,
    "root_required": TRAIT,
    "member_of": AGGREGATE_1,
    "in_tree": CN1,
    "same_subtree": "_A,_B",
    "in_subtree": CN1,
    "root_member_of": AGGREGATE_1,
    "isolate": "_A,_B",
    "can_split": "VCPU",
    "order": "pack",
    "group_policy": "none",
    "name": "startswith:CUSTOM",
    "associated": "true",
    "project_id": PROJECT,
}
_SUFFIXES = ("_A", "_B")
_OF_GROUPS = ("resources", "required", "member_of", "in_tree", "in_subtree", "can_split")


def make_document() -> dict[str, Any]:
    document = copy.deepcopy(openapi.document(OPEN_ROUTES))
    _add_older_bodies(document)
    version = document["components"]["parameters"]["version"]
    version |= {
        "required": True,
        "schema": {"enum": [f"placement {version}" for version in reversed(VERSIONS)]},
    }
    # Every request carries a token.
    del document["security"], document["components"]["securitySchemes"]
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["parameters"] = list(_with_values(operation.get("parameters", ())))
    return document


def _with_values(parameters: Any) -> Iterator[dict[str, Any]]:
    for parameter in parameters:
        name, place = parameter.get("name"), parameter.get("in")
        if place == "path":
            known = NAMES if name in ("name", "resource_class") else UUIDS
            yield {**parameter, "schema": {"enum": list(known)}}
        elif name == GROUPS:
            # Generated names would hardly ever be those of the same group.
            for plain, suffix in itertools.product(_OF_GROUPS, _SUFFIXES):
                schema = {"anyOf": [{"type": "string"}, {"const": _GOOD_VALUES[plain]}]}
                yield {"in": "query", "name": plain + suffix, "schema": schema}
        elif place == "query":
            good = _GOOD_VALUES.get(name)
            kind = parameter["schema"]
            is_list = kind.get("type") == "array"
            known = {"const": [good] if is_list else good}
            yield {**parameter, "schema": kind if good is None else {"anyOf": [kind, known]}}
        else:
            yield parameter


def _add_older_bodies(document: dict[str, Any]) -> None:
    """A body is any of the forms that it has had over the versions."""
    for name in VERSIONS:
        older = openapi.document((), version=Version(*map(int, name.split("."))))
        for path, operations in older["paths"].items():
            for method, operation in operations.items():
                if "requestBody" not in operation:
                    continue
                (form,) = operation["requestBody"]["content"].values()
                newest = document["paths"][path][method]
                body = newest.setdefault("requestBody", {"content": {"application/json": {}}})
                (content,) = body["content"].values()
                known = content.setdefault("schema", {})
                if known.keys() != {"anyOf"}:
                    known = content["schema"] = {"anyOf": []}
                inlined = _inlined(form["schema"], older["components"]["schemas"])
                if inlined not in known["anyOf"]:
                    known["anyOf"].append(inlined)


def _inlined(node: Any, schemas: dict[str, Any]) -> Any:
    """A schema without references, since the names mean something else in every version."""
    if isinstance(node, list):
        return [_inlined(each, schemas) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inlined(schemas[node["$ref"].rpartition("/")[2]], schemas)
    return {key: _inlined(value, schemas) for key, value in node.items()}
