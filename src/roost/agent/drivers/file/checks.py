"""Validation of a file that describes providers, with line numbers."""

import math
import uuid as uuid_module
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import os_resource_classes  # type: ignore[import-untyped]
import os_traits  # type: ignore[import-untyped]

from roost.agent.drivers.file.schema import SCHEMA
from roost.agent.drivers.file.yaml_lines import KeyPath, dotted, line_of
from roost.model import Inventory

_CUSTOM = "CUSTOM_"

Problems = Iterator[tuple[KeyPath, str]]


def check(data: Any, lines: dict[KeyPath, int]) -> list[str]:
    """All errors as `line: field: message`, in the order of the lines."""
    # The rules beyond the schema apply only to data of the right shape.
    found = list(_schema_errors(data)) or list(_check_providers(data))
    located = sorted((line_of(lines, path), dotted(path), message) for path, message in found)
    return [f"{line}: {field}: {message}" for line, field, message in located]


def _schema_errors(data: Any) -> Problems:
    validator = jsonschema.Draft202012Validator(
        SCHEMA, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    for error in validator.iter_errors(data):
        path = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            # The error is about the whole mapping; we name the fields that do not belong there.
            known = error.schema["properties"]
            for name in error.instance:
                if name not in known:
                    yield (*path, name), f"no such field; there are {', '.join(known)}"
        elif error.parent is None and "propertyNames" in error.absolute_schema_path:
            yield (*path, error.instance), f"{error.instance!r} is not the name of a resource class"
        elif error.validator == "required":
            missing = [name for name in error.validator_value if name not in error.instance]
            yield path, f"{', '.join(missing)} is missing"
        else:
            yield path, error.message


def _check_providers(data: Any) -> Problems:
    names: dict[str, KeyPath] = {}
    uuids: dict[str, KeyPath] = {}
    for path, provider in _providers(("providers",), data["providers"]):
        name = provider["name"]
        if name in names:
            yield (*path, "name"), f"{name!r} is the name of {dotted(names[name])} as well"
        names.setdefault(name, path)
        if "uuid" in provider:
            uuid = str(uuid_module.UUID(provider["uuid"]))
            if uuid in uuids:
                yield (*path, "uuid"), f"{uuid} is the UUID of {dotted(uuids[uuid])} as well"
            uuids.setdefault(uuid, path)
        yield from _check_names(path, provider)
        for resource_class, fields in provider.get("inventories", {}).items():
            yield from _check_inventory((*path, "inventories", resource_class), Inventory(**fields))


def _providers(path: KeyPath, providers: list[Any]) -> Iterator[tuple[KeyPath, Any]]:
    for position, provider in enumerate(providers):
        yield (*path, position), provider
        yield from _providers((*path, position, "children"), provider.get("children", []))


def _check_names(path: KeyPath, provider: Any) -> Problems:
    for position, trait in enumerate(provider.get("traits", [])):
        if not _exists(trait, os_traits.get_traits()):
            yield (*path, "traits", position), f"{trait} is neither a standard trait nor CUSTOM_"
    for resource_class in provider.get("inventories", {}):
        if not _exists(resource_class, os_resource_classes.STANDARDS):
            yield (
                (*path, "inventories", resource_class),
                f"{resource_class} is neither a standard resource class nor CUSTOM_",
            )


def _exists(name: str, standard: list[str]) -> bool:
    return name.startswith(_CUSTOM) or name in standard


_RULES: list[tuple[str, Callable[[Inventory], bool], str]] = [
    ("reserved", lambda it: it.reserved <= it.total, "more is reserved than there is"),
    # YAML can express NaN and infinity, and the schema accepts them as numbers.
    ("allocation_ratio", lambda it: math.isfinite(it.allocation_ratio), "is not a number"),
    ("min_unit", lambda it: it.min_unit <= it.max_unit, "min_unit is above max_unit"),
]


def _check_inventory(path: KeyPath, inventory: Inventory) -> Problems:
    for field, holds, message in _RULES:
        if not holds(inventory):
            yield (*path, field), message
