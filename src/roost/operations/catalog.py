"""Resource classes and traits: adding, renaming and removing names."""

import os_resource_classes  # type: ignore[import-untyped]
import os_traits  # type: ignore[import-untyped]

from roost.errors import (
    ResourceClassExists,
    ResourceClassNotFound,
    StandardName,
    TraitNotFound,
)
from roost.service import Roost
from roost.store.transaction import Transaction


def create_resource_class(roost: Roost, *, name: str) -> None:
    """A new class; refuses one that exists."""

    def unit(tx: Transaction) -> None:
        if tx.classes.find(name) is not None:
            raise ResourceClassExists(name)
        tx.classes.insert(name)

    roost.run(unit)


def ensure_resource_class(roost: Roost, *, name: str) -> bool:
    """A class of that name; whether it had to be created."""

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


def ensure_trait(roost: Roost, *, name: str) -> bool:
    """A trait of that name; whether it had to be created."""

    def unit(tx: Transaction) -> bool:
        if tx.trait_names.find(name) is not None:
            return False
        tx.trait_names.insert([name])
        return True

    return roost.run(unit)


def delete_trait(roost: Roost, *, name: str) -> None:
    def unit(tx: Transaction) -> None:
        trait_id = tx.trait_names.find(name)
        if trait_id is None:
            raise TraitNotFound(name)
        if not os_traits.is_custom(name):
            raise StandardName(f"Cannot delete standard trait {name}.")
        tx.trait_names.delete(trait_id, name)

    roost.run(unit)
