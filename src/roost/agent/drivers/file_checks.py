"""What is wrong with a description of providers, and on which line."""

import math
import uuid as uuid_module
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import os_resource_classes  # type: ignore[import-untyped]
import os_traits  # type: ignore[import-untyped]

from roost.agent.drivers.file_schema import SCHEMA
from roost.agent.drivers.yaml_lines import Way, line_of, written
from roost.model import Inventory

_CUSTOM = "CUSTOM_"

Found = Iterator[tuple[Way, str]]


def check(data: Any, lines: dict[Way, int]) -> list[str]:
    """Everything that is wrong, as `line: field: what`, in the order of the lines."""
    # The rules beyond the schema can be asked only of what has the right shape.
    found = list(_schema_errors(data)) or list(_check_providers(data))
    located = sorted((line_of(lines, way), written(way), message) for way, message in found)
    return [f"{line}: {field}: {message}" for line, field, message in located]


def _schema_errors(data: Any) -> Found:
    validator = jsonschema.Draft202012Validator(
        SCHEMA, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    for error in validator.iter_errors(data):
        way = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            # Of the whole mapping; we name what should not be in it.
            known = error.schema["properties"]
            for name in error.instance:
                if name not in known:
                    yield (*way, name), f"no such field; there are {', '.join(known)}"
        elif error.parent is None and "propertyNames" in error.absolute_schema_path:
            yield (*way, error.instance), f"{error.instance!r} is no name of a resource class"
        elif error.validator == "required":
            missing = [name for name in error.validator_value if name not in error.instance]
            yield way, f"{', '.join(missing)} is missing"
        else:
            yield way, error.message


def _check_providers(data: Any) -> Found:
    names: dict[str, Way] = {}
    uuids: dict[str, Way] = {}
    for way, provider in _providers(("providers",), data["providers"]):
        name = provider["name"]
        if name in names:
            yield (*way, "name"), f"{name!r} is the name of {written(names[name])} as well"
        names.setdefault(name, way)
        if "uuid" in provider:
            uuid = str(uuid_module.UUID(provider["uuid"]))
            if uuid in uuids:
                yield (*way, "uuid"), f"{uuid} is the UUID of {written(uuids[uuid])} as well"
            uuids.setdefault(uuid, way)
        yield from _check_names(way, provider)
        for resource_class, fields in provider.get("inventories", {}).items():
            yield from _check_inventory((*way, "inventories", resource_class), Inventory(**fields))


def _providers(way: Way, providers: list[Any]) -> Iterator[tuple[Way, Any]]:
    for place, provider in enumerate(providers):
        yield (*way, place), provider
        yield from _providers((*way, place, "children"), provider.get("children", []))


def _check_names(way: Way, provider: Any) -> Found:
    for place, trait in enumerate(provider.get("traits", [])):
        if not _exists(trait, os_traits.get_traits()):
            yield (*way, "traits", place), f"{trait} is no standard trait, nor CUSTOM_"
    for resource_class in provider.get("inventories", {}):
        if not _exists(resource_class, os_resource_classes.STANDARDS):
            yield (
                (*way, "inventories", resource_class),
                f"{resource_class} is no standard resource class, nor CUSTOM_",
            )


def _exists(name: str, standard: list[str]) -> bool:
    return name.startswith(_CUSTOM) or name in standard


_RULES: list[tuple[str, Callable[[Inventory], bool], str]] = [
    ("reserved", lambda it: it.reserved <= it.total, "more is reserved than there is"),
    # YAML can write a ratio that is not a number, and the schema lets it pass.
    ("allocation_ratio", lambda it: math.isfinite(it.allocation_ratio), "is not a number"),
    ("min_unit", lambda it: it.min_unit <= it.max_unit, "min_unit is above max_unit"),
]


def _check_inventory(way: Way, inventory: Inventory) -> Found:
    for field, holds, message in _RULES:
        if not holds(inventory):
            yield (*way, field), message
