"""Checks that the resource classes and traits of a query exist.

Searches, lists of providers and placements all begin with them.
"""

from collections.abc import Iterable

from roost.errors import UnknownResourceClass, UnknownTrait
from roost.query import CandidateQuery, TraitRule
from roost.search.index.index import Index


def check_query(index: Index, query: CandidateQuery) -> None:
    """Refuse a search that names an unknown resource class or trait."""
    check_classes(index, [name for group in query.groups for name in group.resources])
    check_traits(index, [query.root_traits, *(group.traits for group in query.groups)])


def check_classes(index: Index, names: Iterable[str]) -> None:
    unknown = list(dict.fromkeys(name for name in names if name not in index.classes.ids))
    if unknown:
        raise UnknownResourceClass(unknown, index.classes.ids)


def check_traits(index: Index, rules: Iterable[TraitRule]) -> None:
    unknown = {
        name
        for rule in rules
        for names in (*rule.required, rule.forbidden)
        for name in names
        if name not in index.traits.ids
    }
    if unknown:
        raise UnknownTrait(unknown, index.traits.ids)
