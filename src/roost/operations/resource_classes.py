"""Resource classes: the catalog of names."""

import os_resource_classes  # type: ignore[import-untyped]

from roost.errors import (
    ResourceClassExists,
    ResourceClassNotFound,
    StandardName,
)
from roost.model import NamedValue
from roost.service.service import Roost
from roost.store.transaction import Transaction


def list_resource_classes(roost: Roost) -> list[NamedValue]:
    index = roost.current_index()
    return [index.classes.entry(number) for number in sorted(index.classes.names)]


def read_resource_class(roost: Roost, *, name: str) -> NamedValue:
    index = roost.current_index()
    number = index.classes.ids.get(name)
    if number is None:
        raise ResourceClassNotFound(name)
    return index.classes.entry(number)


def create_resource_class(roost: Roost, *, name: str) -> None:
    """Create a class; refuses a name that exists."""

    def unit(tx: Transaction) -> None:
        if tx.classes.find(name) is not None:
            raise ResourceClassExists(name)
        tx.classes.insert(name)

    roost.run(unit)


def ensure_resource_class(roost: Roost, *, name: str) -> bool:
    """Create the class unless it exists; gives back whether it was created."""

    def unit(tx: Transaction) -> bool:
        if tx.classes.find(name) is not None:
            return False
        tx.classes.insert(name)
        return True

    return roost.run(unit)


def rename_resource_class(roost: Roost, *, name: str, new_name: str) -> None:
    def unit(tx: Transaction) -> None:
        class_id = tx.classes.find(name)
        if class_id is None:
            raise ResourceClassNotFound(name)
        if name in os_resource_classes.STANDARDS:
            raise StandardName(f"Cannot update standard resource class {name}")
        tx.classes.rename(class_id, name, new_name)

    roost.run(unit)


def delete_resource_class(roost: Roost, *, name: str) -> None:
    def unit(tx: Transaction) -> None:
        class_id = tx.classes.find(name)
        if class_id is None:
            raise ResourceClassNotFound(name)
        if name in os_resource_classes.STANDARDS:
            raise StandardName(f"Cannot delete standard resource class {name}.")
        tx.classes.delete(class_id, name)

    roost.run(unit)
