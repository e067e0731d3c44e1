"""Standard resource classes and traits: those of os-resource-classes and os-traits.

A new release of these libraries may add names, so they are synchronised at every start. A module of
its own, because it is the only one that knows these libraries, and neither a migration nor a table.
"""

import os_resource_classes  # type: ignore[import-untyped]
import os_traits  # type: ignore[import-untyped]

from roost.progress import SILENT, Progress
from roost.store.store import Store
from roost.store.transaction import Transaction


def synchronise(store: Store, progress: Progress = SILENT) -> None:
    """Add the standard names that the tables lack."""
    # If nothing is missing, nothing is written: the process does not even register as a writer.
    if not store.reads.has_names(os_resource_classes.STANDARDS, os_traits.get_traits()):
        progress.stage("adding standard resource classes and traits")
        store.run(_add_missing)


def _add_missing(transaction: Transaction) -> None:
    # In every Placement database the id of a standard class is its index in the list.
    classes = dict(enumerate(os_resource_classes.STANDARDS))
    transaction.classes.add_missing(classes)
    transaction.trait_names.add_missing(sorted(os_traits.get_traits()))
