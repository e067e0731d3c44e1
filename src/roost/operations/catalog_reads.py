"""Resource classes and traits, answered from the index."""

from roost.errors import ResourceClassNotFound, TraitNotFound
from roost.model import NamedValue
from roost.search.index import Catalog, Index
from roost.search.nodes import moment
from roost.service import Roost


def list_resource_classes(roost: Roost) -> list[NamedValue]:
    with roost.view() as index:
        return [_named(index.classes, number) for number in sorted(index.classes.names)]


def read_resource_class(roost: Roost, *, name: str) -> NamedValue:
    with roost.view() as index:
        number = index.classes.ids.get(name)
        if number is None:
            raise ResourceClassNotFound(name)
        return _named(index.classes, number)


def list_traits(
    roost: Roost,
    *,
    names: frozenset[str] | None = None,
    prefix: str | None = None,
    associated: bool | None = None,
) -> list[NamedValue]:
    """Traits that meet every filter given; `associated` is whether a provider has the trait."""
    with roost.view() as index:
        catalog = index.traits
        numbers = set(catalog.names)
        if names is not None:
            numbers = {number for number in numbers if catalog.names[number] in names}
        if prefix is not None:
            numbers = {number for number in numbers if catalog.names[number].startswith(prefix)}
        if associated is not None:
            in_use = _traits_in_use(index)
            numbers = numbers & in_use if associated else numbers - in_use
        return [_named(catalog, number) for number in sorted(numbers)]


def read_trait(roost: Roost, *, name: str) -> NamedValue:
    with roost.view() as index:
        number = index.traits.ids.get(name)
        if number is None:
            raise TraitNotFound(name)
        return _named(index.traits, number)


def _traits_in_use(index: Index) -> set[int]:
    sets = {int(number) for number in index.rows.traits[: index.rows.count][index.live_rows()]}
    return {trait for number in sets for trait in index.trait_sets.members[number]}


def _named(catalog: Catalog, number: int) -> NamedValue:
    return NamedValue(name=catalog.names[number], modified=moment(catalog.modified[number]))
