"""Standard resource classes and traits: those of os-resource-classes and os-traits.

A release of these libraries may add names, so they are synchronised at every start.
"""

import os_resource_classes  # type: ignore[import-untyped]
import os_traits  # type: ignore[import-untyped]

from roost.store.store import Store
from roost.store.transaction import Transaction


def synchronise(store: Store) -> None:
    """Add the standard names that the tables do not have yet."""
    # A start that finds everything in place writes nothing, not even that it is a writer.
    if not store.reads.has_names(os_resource_classes.STANDARDS, os_traits.get_traits()):
        store.run(_add_missing)


def _add_missing(transaction: Transaction) -> None:
    # A class's number is its place in the list, in every Placement database.
    classes = dict(enumerate(os_resource_classes.STANDARDS))
    transaction.classes.add_missing(classes)
    transaction.trait_names.add_missing(sorted(os_traits.get_traits()))
