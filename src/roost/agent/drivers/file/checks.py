"""Validation of a file that describes providers, with line numbers."""

import math
import uuid as uuid_module
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import os_traits  # type: ignore[import-untyped]

from roost.agent.drivers.class_names import CUSTOM, problem_of_class, problems_of_renames
from roost.agent.drivers.file.schema import SCHEMA
from roost.agent.drivers.file.yaml_lines import KeyPath, dotted, line_of
from roost.model import Inventory
from roost.suggestions import suggest, unknown
from roost.uuids import is_uuid

Problems = Iterator[tuple[KeyPath, str]]


def check(data: Any, lines: dict[KeyPath, int]) -> list[str]:
    """All errors as `line: field: message`, in the order of the lines."""
    # The rules beyond the schema apply only to data of the right shape.
    found = list(_schema_errors(data)) or list(_check_providers(data))
    # A set: a name that breaks two rules of the schema is told once.
    located = sorted({(line_of(lines, path), dotted(path), message) for path, message in found})
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
                    yield (*path, name), unknown("field", name, known)
        elif error.parent is None and "propertyNames" in error.absolute_schema_path:
            meant = error.schema["description"]
            yield (*path, error.instance), f"{error.instance!r} is not {meant}"
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
    for position, root in enumerate(data["providers"]):
        yield from _check_root(("providers", position), root)


def _providers(path: KeyPath, providers: list[Any]) -> Iterator[tuple[KeyPath, Any]]:
    for position, provider in enumerate(providers):
        yield (*path, position), provider
        yield from _providers((*path, position, "children"), provider.get("children", []))


def _check_names(path: KeyPath, provider: Any) -> Problems:
    for position, trait in enumerate(provider.get("traits", [])):
        if not (trait.startswith(CUSTOM) or trait in os_traits.get_traits()):
            told = f"{trait} is neither a standard trait nor {CUSTOM}"
            yield (*path, "traits", position), suggest(told, [trait], os_traits.get_traits())
    for resource_class in provider.get("inventories", {}):
        if problem := problem_of_class(resource_class):
            yield (*path, "inventories", resource_class), problem


def _check_root(path: KeyPath, root: Any) -> Problems:
    """The fields of a root that are about its whole tree."""
    offers = {}  # the classes of each provider, by name and by UUID
    for _, provider in _providers(path[:-1], [root]):
        offers[provider["name"]] = set(provider.get("inventories", {}))
        if "uuid" in provider:
            offers[provider["uuid"].lower()] = offers[provider["name"]]
    consumers: set[str] = set()
    for consumer, places in root.get("where", {}).items():
        if consumer.lower() in consumers:
            yield (*path, "where", consumer), "appears twice"
        consumers.add(consumer.lower())
        for resource_class, place in places.items():
            at = (*path, "where", consumer, resource_class)
            if problem := problem_of_class(resource_class):
                yield at, problem
            for name in [place] if isinstance(place, str) else place:
                yield from _check_place(at, resource_class, name, offers)
    yield from _check_renames(path, root, set().union(*offers.values()))


def _check_place(
    at: KeyPath, resource_class: str, name: str, offers: dict[str, set[str]]
) -> Problems:
    # Only UUIDs may be spelled in several ways.
    offered = offers.get(name, offers.get(name.lower()) if is_uuid(name) else None)
    if offered is None:
        yield at, unknown("provider of this tree", name, offers)
    elif resource_class not in offered:
        yield at, f"{name} has no inventory of {resource_class}"


def _check_renames(path: KeyPath, root: Any, offered: set[str]) -> Problems:
    renamed_classes = root.get("renamed_classes", {})
    for old, problem in problems_of_renames(renamed_classes):
        yield (*path, "renamed_classes", old), problem
    for old, new in renamed_classes.items():
        if old in offered and new not in offered:
            told = f"providers of the tree have inventories of {old}, and none has one of {new}"
            yield (*path, "renamed_classes", old), told


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
