"""`roost inventory`: what providers have of each resource class."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from roost.cli.arguments import AGGREGATE, RESOURCE_CLASS, provider_argument
from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import BadInput, Failure, one_line, print_json, quoted
from roost.cli.provider_names import find_provider

if TYPE_CHECKING:
    from roost.client import Client, Inventory, Provider

# The whole numbers of an inventory, and the least that each may be.
FIELDS = {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1}
RATIO = "allocation_ratio"

# Resource class -> the fields that are to change.
Changes = Mapping[str, Mapping[str, int | float]]


@click.group()
def inventory() -> None:
    """Show and change what providers have of each resource class."""


@inventory.command("list")
@provider_argument()
@json_option
@service_options
def list_inventories(provider: str, as_json: bool, url: str | None, token: str | None) -> None:
    """List the inventories of a provider, and how much of each is used.

    \b
    Example:
      roost inventory list compute-7
    """
    from roost.cli.commands.answers import Verbatim
    from roost.cli.commands.provider_view import print_inventories

    with open_client(url, token) as client:
        uuid = find_provider(client, provider).uuid
        if as_json:
            print_json(Verbatim(client).inventories(uuid))
            return
        found = client.inventories(uuid).inventories
        if found:
            print_inventories(found, client.usages(uuid))
        else:
            click.echo("the provider has no inventories")


@inventory.command()
@provider_argument()
@click.argument("resource_class", metavar="CLASS", type=RESOURCE_CLASS)
@json_option
@service_options
def show(
    provider: str, resource_class: str, as_json: bool, url: str | None, token: str | None
) -> None:
    """Show one inventory of a provider.

    \b
    Example:
      roost inventory show compute-7 VCPU
    """
    from msgspec.structs import asdict

    from roost.cli.columns import print_fields

    with open_client(url, token) as client:
        found = find_provider(client, provider)
        inventories = client.inventories(found.uuid).inventories
        if resource_class not in inventories:
            raise BadInput(f"{found.name} has no inventory of {resource_class}")
        inventory = inventories[resource_class]
        if as_json:
            print_json(asdict(inventory))
            return
        used = client.usages(found.uuid).get(resource_class, 0)
    numbers = {**asdict(inventory), "capacity": inventory.capacity, "used": used}
    print_fields((name, f"{number:,}") for name, number in numbers.items())


@inventory.command("set")
@click.argument("words", nargs=-1, required=True, metavar="PROVIDER RESOURCE...")
@click.option(
    "--aggregate",
    type=AGGREGATE,
    metavar="UUID",
    help="Change all providers in this aggregate. PROVIDER is then left out.",
)
@click.option("--replace", is_flag=True, help="Delete all inventories that are not named.")
@click.option("--dry-run", is_flag=True, help="Show what would be set, and write nothing.")
@json_option
@service_options
def set_inventories(
    words: tuple[str, ...],
    aggregate: str | None,
    replace: bool,
    dry_run: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Set inventories of a provider, and leave the others as they are.

    RESOURCE is CLASS=TOTAL or CLASS:FIELD=VALUE,..., or both. FIELD is total, reserved, min_unit,
    max_unit, step_size or allocation_ratio. A field that is not named keeps its value; in a new
    inventory, and with --replace, it gets the default.

    If another client writes at the same time, the change is made again on top of what that client
    wrote. With --replace it is refused instead.

    \b
    Examples:
      roost inventory set compute-7 VCPU=16 MEMORY_MB=32768:reserved=512
      roost inventory set compute-7 VCPU:reserved=2,allocation_ratio=1.5
      roost inventory set --aggregate $RACK VCPU:allocation_ratio=4
    """
    resources = words if aggregate is not None else words[1:]
    if not resources:
        raise BadInput("nothing to set: give CLASS=TOTAL after the provider")
    changes = parse_changes(resources)
    with open_client(url, token) as client:
        if aggregate is None:
            providers = [find_provider(client, words[0])]
        else:
            providers = client.providers({"member_of": aggregate})
            if not providers:
                raise BadInput(f"the aggregate {aggregate} has no providers")
        results, failures = _set_all(client, providers, changes, replace=replace, dry_run=dry_run)
    if as_json:
        print_json({"inventories": results})
    else:
        _print_results(results, providers)
    if failures:
        for line in failures[:-1]:
            click.echo(f"roost: {line}", err=True)
        raise Failure(failures[-1])


@inventory.command()
@provider_argument()
@click.argument("resource_classes", metavar="CLASS...", nargs=-1, type=RESOURCE_CLASS)
@click.option("--all", "all_of_them", is_flag=True, help="Delete all inventories of the provider.")
@json_option
@service_options
def delete(
    provider: str,
    resource_classes: tuple[str, ...],
    all_of_them: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Delete inventories that no consumer uses.

    \b
    Examples:
      roost inventory delete compute-7 VGPU
      roost inventory delete compute-7 --all
    """
    from roost.cli.commands.answers import Verbatim

    if all_of_them == bool(resource_classes):
        raise BadInput("name the classes to delete, or give --all")
    with open_client(url, token) as client:
        uuid = find_provider(client, provider).uuid
        if all_of_them:
            client.delete_inventories(uuid)
        for name in resource_classes:
            client.delete_inventory(uuid, name)
        if as_json:
            print_json(Verbatim(client).inventories(uuid))


# ---------------------------------------------------------------------------------------------
# Changes


def parse_changes(words: Sequence[str]) -> Changes:
    """What `VCPU=16:reserved=2` and the like ask for."""
    changes: dict[str, dict[str, int | float]] = {}
    for word in words:
        first, _, rest = word.partition(":")
        name, has_total, total = first.partition("=")
        fields = [f"total={total}"] if has_total else []
        fields += rest.split(",") if rest else []
        if not name or not fields:
            examples = "VCPU=16 or VCPU:reserved=2,allocation_ratio=4"
            raise BadInput(f"expected a resource such as {examples}, not {quoted(word)}")
        if name in changes:
            raise BadInput(f"{name} is given twice")
        changes[name] = {}
        for field in fields:
            key, number = _parse_field(name, field)
            if key in changes[name]:
                raise BadInput(f"{key} of {name} is given twice")
            changes[name][key] = number
    return changes


def _parse_field(resource_class: str, text: str) -> tuple[str, int | float]:
    from roost.model import INTEGER_MAX
    from roost.suggestions import unknown

    key, _, value = text.partition("=")
    if key not in FIELDS and key != RATIO:
        raise BadInput(f"{unknown('field', key, [*FIELDS, RATIO])} (of {resource_class})")
    expected = "a number above 0"
    try:
        if key == RATIO:
            ratio = float(value)
            if 0 < ratio < float("inf"):
                return key, ratio
        else:
            expected = f"a whole number from {FIELDS[key]} to {INTEGER_MAX}"
            number = int(value)
            if FIELDS[key] <= number <= INTEGER_MAX:
                return key, number
    except ValueError:
        pass
    raise BadInput(f"{key} of {resource_class} must be {expected}, not {quoted(value)}")


def changed(
    present: "Mapping[str, Inventory]", changes: Changes, *, replace: bool
) -> "dict[str, Inventory]":
    """The inventories after a change."""
    import msgspec

    from roost.client import Inventory

    result: dict[str, Inventory] = {} if replace else dict(present)
    for name, fields in changes.items():
        known: Any = fields
        if name in result:
            result[name] = msgspec.structs.replace(result[name], **known)
        elif "total" in fields:
            result[name] = Inventory(**known)
        else:
            raise BadInput(f"there is no inventory of {name} yet: give its total, as in {name}=16")
    return result


def _set_all(
    client: "Client",
    providers: "Sequence[Provider]",
    changes: Changes,
    *,
    replace: bool,
    dry_run: bool,
) -> tuple[dict[str, Any], list[str]]:
    """What each provider has now, by UUID, and what went wrong.

    Of several providers, one that cannot be changed keeps none of the others from it.
    """
    from msgspec.structs import asdict

    from roost.client import ApiError

    results: dict[str, Any] = {}
    failures: list[str] = []
    for each in providers:
        try:
            after = _set_one(client, each, changes, replace=replace, dry_run=dry_run)
        except (ApiError, Failure) as error:
            if len(providers) == 1:
                raise
            failures.append(f"{each.name}: {one_line(error)}")
        else:
            results[each.uuid] = {name: asdict(value) for name, value in after.items()}
    return results, failures


def _set_one(
    client: "Client", provider: "Provider", changes: Changes, *, replace: bool, dry_run: bool
) -> "Mapping[str, Inventory]":
    from roost.cli.commands.answers import amend

    def attempt() -> "Mapping[str, Inventory]":
        present = client.inventories(provider.uuid)
        after = changed(present.inventories, changes, replace=replace)
        if not dry_run:
            client.set_inventories(provider.uuid, after, present.generation)
        return after

    return amend(attempt, again=not replace)


def _print_results(results: Mapping[str, Any], providers: "Sequence[Provider]") -> None:
    from roost.cli.columns import Column, print_table
    from roost.cli.commands.provider_view import units
    from roost.client import Inventory

    rows = []
    for each in providers:
        for name, fields in sorted(results.get(each.uuid, {}).items()):
            value = Inventory(**fields)
            ratio = f"{value.allocation_ratio:g}"
            rows.append((each.name, name, value.total, value.reserved, ratio, units(value)))
    columns = (
        Column("provider", folds=True),
        Column("class", folds=True),
        Column("total", right=True),
        Column("reserved", right=True),
        Column("ratio", right=True),
        Column("units", folds=True),
    )
    print_table(columns, rows)
