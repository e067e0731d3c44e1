"""Providers as tables for people, and as the API describes them for programs."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from roost.cli.columns import Column, Styled, print_fields, print_line, print_table
from roost.cli.commands.amounts import used_style
from roost.cli.commands.answers import Verbatim
from roost.client import Client, Inventory, Provider
from roost.model import INTEGER_MAX

# Filters of GET /resource_providers.
Filters = dict[str, Any]

# Providers that are read at once.
PAGE_LENGTH = 1000


def print_providers(client: Client, query: Filters, limit: int | None) -> None:
    columns = (Column("uuid"), Column("generation", right=True), Column("name", folds=True))
    found = islice(_read(client, query, limit), limit)
    rows = ((each["uuid"], each["generation"], each["name"]) for each in found)
    if not print_table(columns, rows):
        print_line("there are no such providers" if query else "there are no providers")


def list_json(client: Client, query: Filters, limit: int | None) -> Iterator[Any]:
    for found in islice(_read(client, query, limit), limit):
        found.pop("links", None)
        yield found


def _read(client: Client, query: Filters, limit: int | None) -> Iterator[Any]:
    """Providers as the API describes them: a page at a time, or from an older service at once."""
    api = Verbatim(client)
    found: Any
    if "include" not in client.extensions():
        found = api.providers(query)
        return iter(found["resource_providers"])
    found = api.bulk_providers(include=(), limit=min(limit or PAGE_LENGTH, PAGE_LENGTH), **query)
    return iter(found)


def provider_json(client: Client, uuid: str) -> dict[str, Any]:
    """A provider as the API describes it, with everything that belongs to it."""
    api = Verbatim(client)
    found: Any = api.provider(uuid)
    found.pop("links", None)
    for name, read in (
        ("inventories", api.inventories),
        ("usages", api.usages),
        ("traits", api.provider_traits),
        ("aggregates", api.provider_aggregates),
    ):
        part: Any = read(uuid)
        found[name] = part[name]
    return dict(found)


def print_provider(client: Client, found: Provider) -> None:
    inventories = client.inventories(found.uuid).inventories
    usages = client.usages(found.uuid)
    traits = client.provider_traits(found.uuid).traits
    aggregates = client.provider_aggregates(found.uuid).aggregates
    fields = [("name", found.name), ("uuid", found.uuid)]
    if found.parent_uuid is not None:
        fields.append(("parent", _named(client.provider(found.parent_uuid))))
        fields.append(("root", _named(client.provider(found.root_uuid))))
    fields += [
        ("generation", str(found.generation)),
        ("traits", " ".join(sorted(traits)) or "-"),
        ("aggregates", " ".join(sorted(aggregates)) or "-"),
    ]
    print_fields(fields)
    if inventories:
        print_line("")
        print_inventories(inventories, usages)


def _named(provider: Provider) -> str:
    return f"{provider.name} {provider.uuid}"


# ---------------------------------------------------------------------------------------------
# Inventories


INVENTORY_COLUMNS = (
    Column("class", folds=True),
    Column("used", right=True),
    Column("capacity", right=True),
    Column("total", right=True),
    Column("reserved", right=True),
    Column("ratio", right=True),
    Column("units", folds=True),
)


def print_inventories(inventories: Mapping[str, Inventory], usages: Mapping[str, int]) -> None:
    print_table(INVENTORY_COLUMNS, _inventory_rows(inventories, usages))


def _inventory_rows(
    inventories: Mapping[str, Inventory], usages: Mapping[str, int]
) -> Iterable[tuple[str | int | Styled, ...]]:
    for name, inventory in sorted(inventories.items()):
        used, capacity = usages.get(name, 0), inventory.capacity
        yield (
            name,
            Styled(f"{used:,}", used_style(used, capacity)),
            capacity,
            inventory.total,
            inventory.reserved,
            f"{inventory.allocation_ratio:g}",
            units(inventory),
        )


def units(inventory: Inventory) -> str:
    """In which amounts a class is given away; empty if any amount will do."""
    parts = []
    if inventory.min_unit != 1:
        parts.append(f"from {inventory.min_unit:,}")
    if inventory.max_unit != INTEGER_MAX:
        parts.append(f"to {inventory.max_unit:,}")
    if inventory.step_size != 1:
        parts.append(f"by {inventory.step_size:,}")
    return " ".join(parts)
