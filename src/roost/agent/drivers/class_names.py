"""Names of resource classes in the options and files of drivers, and what is wrong with them."""

from collections.abc import Iterator, Mapping

import os_resource_classes  # type: ignore[import-untyped]

from roost.suggestions import suggest

CUSTOM = "CUSTOM_"


def problem_of_class(name: str) -> str | None:
    """What is wrong with the name of a resource class; None if nothing is."""
    if name.startswith(CUSTOM) or name in os_resource_classes.STANDARDS:
        return None
    told = f"{name} is neither a standard resource class nor {CUSTOM}"
    return suggest(told, [name], os_resource_classes.STANDARDS)


def problems_of_renames(renamed_classes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Old class -> what is wrong with its new name.

    A chain (A becomes B, and B becomes C) is refused: whether a consumer that holds A gets B or C
    would depend on how often the agent has run.
    """
    for old, new in renamed_classes.items():
        for name in (old, new):
            if problem := problem_of_class(name):
                yield old, problem
        if old == new:
            yield old, f"{old} would keep its name"
        elif new in renamed_classes:
            yield old, f"{new} is renamed, too, to {renamed_classes[new]}"
