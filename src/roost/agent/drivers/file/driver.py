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

The driver reads the file again at each update. The file describes its trees completely: providers
that it does not name are removed, unless the option `unknown=keep` says that other clients add
providers too. Where a provider has no `traits` or `aggregates` at all, those of the service are
left alone, for operators to set.
"""

import uuid as uuid_module
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from roost.agent.desired_tree import DesiredProvider, Ownership, apply
from roost.agent.driver import Allocations, Driver, DriverError
from roost.agent.drivers.file.checks import check
from roost.agent.drivers.file.yaml_lines import BadYaml, load
from roost.agent.provider_tree import ProviderTree
from roost.model import Inventory

_OPTIONS = ("path", "unknown")


class UnknownProviders(StrEnum):
    """What happens to providers of a tree that the file does not name."""

    REMOVE = "remove"
    KEEP = "keep"


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
        self._ownership = Ownership(
            resource_class=lambda name: True,
            trait=lambda name: True,
            removes_unknown=choice == UnknownProviders.REMOVE,
        )

    def nodenames(self) -> list[str]:
        return [root.name for root in self._read()]

    def root_uuid(self, nodename: str) -> str | None:
        return self._find(nodename).uuid

    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        apply(provider_tree, self._find(nodename), self._ownership, allocations)

    def _find(self, nodename: str) -> DesiredProvider:
        for root in self._read():
            if root.name == nodename:
                return root
        raise DriverError(f"{self._path}: no provider at the top is named {nodename}.")

    def _read(self) -> list[DesiredProvider]:
        try:
            with open(self._path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise DriverError(f"{self._path} cannot be read: {error}") from error
        try:
            data, lines = load(text)
        except BadYaml as error:
            raise DriverError(f"{self._path}:{error.line}: {error}") from error
        if problems := check(data, lines):
            raise DriverError("\n".join(f"{self._path}:{problem}" for problem in problems))
        return [_desired_provider(each) for each in data["providers"]]


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
