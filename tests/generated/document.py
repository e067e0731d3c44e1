"""The OpenAPI document that the server serves, with meaningful values filled in.

Its schemas allow any text for most parameters, and hardly any text would get past the first check.
So paths and parameters get the names of the small world, and the newest versions come first.
"""

import copy
from collections.abc import Iterator
from typing import Any

from roost.api import openapi
from roost.api.probes import OPEN_ROUTES
from roost.api.versions import VERSIONS
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
_SUFFIXES = ("", "_A", "_B")


def make_document() -> dict[str, Any]:
    document = copy.deepcopy(openapi.document(OPEN_ROUTES))
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
        elif place == "query":
            good = _GOOD_VALUES.get(name)
            kind = parameter["schema"]
            schema = kind if good is None else {"anyOf": [kind, {"const": good}]}
            suffixes = _SUFFIXES if "suffix" in parameter[openapi.X_OPENSTACK] else ("",)
            for suffix in suffixes:
                yield {**parameter, "name": name + suffix, "schema": schema}
        else:
            yield parameter
