"""The driver for resources without a driver of their own: a YAML file describes the providers.

    providers:
      - name: pool-1
        inventories:
          DISK_GB: {total: 10000, reserved: 100}
        traits: [MISC_SHARES_VIA_AGGREGATE, STORAGE_DISK_SSD]
        aggregates: [5b8b1c9e-5a54-4a3c-8f2c-a4d8a6b0a6de]
        children:
          - name: pool-1-licences
            inventories:
              CUSTOM_LICENCE: {total: 20}

A root may also say where the resources of consumers are, and which classes have a new name. Both
matter only when resources move, and may stay in the file:

    providers:
      - name: pool-1
        children:
          - {name: card-1, inventories: {PGPU: {total: 4}}}
          - {name: card-2, inventories: {PGPU: {total: 4}}}
        renamed_classes: {CUSTOM_GPUZ: PGPU}
        where:
          3f5e0d4c-1c58-4b43-9f66-4f6f4c3dbd5e: {PGPU: card-1}
          0f2d0f5e-6a52-4a8e-9a53-0a4f2f1f6d11: {PGPU: {card-1: 1, card-2: 3}}

The driver reads the file again at each update. The file describes its trees completely: providers
that it does not name are removed, unless the option `unknown=keep` says that other clients add
providers too. Where a provider has no `traits` or `aggregates` at all, those of the service are
left alone, for operators to set.
"""

import uuid as uuid_module
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from roost.agent.desired_tree import DesiredProvider, Ownership, apply
from roost.agent.driver import Allocations, Driver, DriverError, Whereabouts
from roost.agent.drivers.file.checks import check
from roost.agent.drivers.file.yaml_lines import BadYaml, load
from roost.agent.provider_tree import ProviderTree
from roost.model import Inventory

_OPTIONS = ("path", "unknown")

# Of one file. With more than these, something is wrong with all of it.
PROBLEMS_SHOWN_MAX = 50


class UnknownProviders(StrEnum):
    """What happens to providers of a tree that the file does not name."""

    REMOVE = "remove"
    KEEP = "keep"


class Description(NamedTuple):
    """What the file says of one tree."""

    root: DesiredProvider
    where: dict[str, Whereabouts]  # by the UUID of the consumer
    renamed_classes: dict[str, str]  # old -> new


class FileDriver(Driver):
    """Describes any number of roots from one file."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        if unknown := sorted(set(options) - set(_OPTIONS)):
            raise DriverError(
                f"The file driver has no option {', '.join(unknown)}; it has {', '.join(_OPTIONS)}."
            )
        if "path" not in options:
            raise DriverError("The file driver needs the option path.")
        choice = options.get("unknown", UnknownProviders.REMOVE)
        if choice not in list(UnknownProviders):
            raise DriverError(
                f"Option unknown: {choice!r} is none of {', '.join(UnknownProviders)}."
            )
        self._path = options["path"]
        self._text: str | None = None  # the file as it was last read, and what it says
        self._descriptions: list[Description] = []
        self._used: dict[str, Description] = {}  # by the name of the root, at its last update
        self._ownership = Ownership(
            resource_class=lambda name: True,
            trait=lambda name: True,
            removes_unknown=choice == UnknownProviders.REMOVE,
        )

    def nodenames(self) -> list[str]:
        return [each.root.name for each in self._read()]

    def root_uuid(self, nodename: str) -> str | None:
        return self._find(nodename).root.uuid

    def where(self, nodename: str, consumer: str) -> Whereabouts:
        """What the file said at the last update of this root."""
        if nodename not in self._used:
            self._used[nodename] = self._find(nodename)
        return self._used[nodename].where.get(consumer, {})

    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        self._used[nodename] = found = self._find(nodename)
        apply(provider_tree, found.root, self._ownership, renamed_classes=found.renamed_classes)

    def _find(self, nodename: str) -> Description:
        for each in self._read():
            if each.root.name == nodename:
                return each
        raise DriverError(f"{self._path}: no provider at the top is named {nodename}.")

    def _read(self) -> list[Description]:
        try:
            with open(self._path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise DriverError(f"{self._path} cannot be read: {error}") from error
        # Many roots may be in one file, and each of them asks for it.
        if text != self._text:
            self._descriptions = _parse(self._path, text)
            self._text = text
        return self._descriptions


def _parse(path: str, text: str) -> list[Description]:
    try:
        data, lines = load(text)
    except BadYaml as error:
        raise DriverError(f"{path}:{error.line}: {error}") from error
    if problems := check(data, lines):
        raise DriverError(_all_of(path, problems))
    return [
        Description(
            root=_desired_provider(root),
            where=_where(root),
            renamed_classes=root.get("renamed_classes", {}),
        )
        for root in data["providers"]
    ]


def _where(root: Mapping[str, Any]) -> dict[str, Whereabouts]:
    """Where consumers are, with UUIDs in the spelling that the service has."""
    names = set(_names(root))

    def provider(name: str) -> str:
        return name if name in names else str(uuid_module.UUID(name))

    return {
        str(uuid_module.UUID(consumer)): {
            resource_class: provider(place)
            if isinstance(place, str)
            else {provider(name): int(amount) for name, amount in place.items()}
            for resource_class, place in places.items()
        }
        for consumer, places in root.get("where", {}).items()
    }


def _names(provider: Mapping[str, Any]) -> Iterator[str]:
    yield provider["name"]
    for child in provider.get("children", ()):
        yield from _names(child)


def _all_of(path: str, problems: Sequence[str]) -> str:
    """The errors of a file, one to a line; the first line says how many there are."""
    lines = [f"{path}:{problem}" for problem in problems[:PROBLEMS_SHOWN_MAX]]
    if len(problems) > 1:
        lines.insert(0, f"{path}: {len(problems)} errors")
    if len(problems) > PROBLEMS_SHOWN_MAX:
        lines.append(f"... and {len(problems) - PROBLEMS_SHOWN_MAX} more")
    return "\n".join(lines)


def _desired_provider(provider: Mapping[str, Any]) -> DesiredProvider:
    return DesiredProvider(
        name=provider["name"],
        uuid=str(uuid_module.UUID(provider["uuid"])) if "uuid" in provider else None,
        inventories={
            name: _inventory(fields) for name, fields in provider.get("inventories", {}).items()
        },
        traits=frozenset(provider["traits"]) if "traits" in provider else None,
        aggregates=frozenset(str(uuid_module.UUID(each)) for each in provider["aggregates"])
        if "aggregates" in provider
        else None,
        children=tuple(_desired_provider(child) for child in provider.get("children", ())),
    )


def _inventory(fields: Mapping[str, float]) -> Inventory:
    # JSON Schema accepts 8.0 as an integer; the service does not.
    numbers: dict[str, Any] = {
        name: float(value) if name == "allocation_ratio" else int(value)
        for name, value in fields.items()
    }
    return Inventory(**numbers)
