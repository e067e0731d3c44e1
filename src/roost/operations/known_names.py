"""Whether the names that a query uses exist."""

from collections.abc import Iterable

from roost.errors import UnknownResourceClass, UnknownTrait
from roost.query import TraitRule
from roost.search.index import Index


def check_classes(index: Index, names: Iterable[str]) -> None:
    unknown = [name for name in names if name not in index.classes.ids]
    if unknown:
        raise UnknownResourceClass(unknown)


def check_traits(index: Index, rules: Iterable[TraitRule]) -> None:
    unknown = {
        name
        for rule in rules
        for names in (*rule.required, rule.forbidden)
        for name in names
        if name not in index.traits.ids
    }
    if unknown:
        raise UnknownTrait(unknown)
