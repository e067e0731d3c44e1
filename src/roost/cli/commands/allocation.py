"""`roost allocation`: what consumers hold."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from roost.cli.arguments import AGE, CONSUMER, PROVIDER, RESOURCE_CLASS
from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import BadInput, print_json, print_json_items, quoted
from roost.cli.provider_names import find_provider

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roost.client import Client, Consumer

# Provider UUID -> resource class -> amount.
Held = dict[str, dict[str, int]]


@click.group()
def allocation() -> None:
    """Show, change and give back what consumers hold."""


@allocation.command("list")
@click.option("--provider", type=PROVIDER, help="Consumers that hold something of a provider.")
@click.option(
    "--tree", type=PROVIDER, metavar="PROVIDER", help="... of any provider in the tree of this one."
)
@click.option(
    "--class", "resource_class", type=RESOURCE_CLASS, metavar="CLASS", help="... of this class."
)
@click.option("--project", help="Consumers of a project.")
@click.option("--user", help="Consumers of a user.")
@click.option("--type", "consumer_type", help="Consumers of a type, such as INSTANCE or unknown.")
@click.option(
    "--older-than", type=AGE, metavar="AGE", help="Not written for so long: 30m, 12h, 7d or 2w."
)
@click.option("--limit", type=click.IntRange(1), help="At most so many consumers.")
@json_option
@service_options
def list_allocations(
    provider: str | None,
    tree: str | None,
    resource_class: str | None,
    project: str | None,
    user: str | None,
    consumer_type: str | None,
    older_than: timedelta | None,
    limit: int | None,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """List consumers with everything that each of them holds.

    They come in the order of their creation, and are printed as they are read.

    \b
    Examples:
      roost allocation list --provider compute-7
      roost allocation list --type INSTANCE --older-than 7d --limit 10
    """
    from itertools import islice

    from roost.cli.commands.allocation_view import print_consumers
    from roost.cli.commands.answers import Verbatim, need_extension

    with open_client(url, token) as client:
        need_extension(client, "list_allocations")
        filters = {
            "resource_provider": None if provider is None else find_provider(client, provider).uuid,
            "tree": None if tree is None else find_provider(client, tree).uuid,
            "resource_class": resource_class,
            "project_id": project,
            "user_id": user,
            "consumer_type": consumer_type,
        }
        before = None if older_than is None else datetime.now(UTC) - older_than
        length = min(limit or PAGE_LENGTH, PAGE_LENGTH)
        if as_json:
            found: Any = Verbatim(client).consumers(**filters, changed_before=before, limit=length)
            print_json_items("consumers", islice(found, limit))
        else:
            listed = client.consumers(**filters, changed_before=before, limit=length)
            print_consumers(client, islice(listed, limit))


# Consumers that are read at once.
PAGE_LENGTH = 1000


@allocation.command()
@click.argument("consumer", type=CONSUMER)
@json_option
@service_options
def show(consumer: str, as_json: bool, url: str | None, token: str | None) -> None:
    """Show what a consumer holds.

    \b
    Example:
      roost allocation show $SERVER
    """
    from roost.cli.commands.allocation_view import print_consumer
    from roost.cli.commands.answers import Verbatim

    with open_client(url, token) as client:
        if as_json:
            print_json(Verbatim(client).consumer(consumer))
        else:
            print_consumer(client, client.consumer(consumer))


@allocation.command()
@click.argument("consumers", metavar="CONSUMER...", nargs=-1, required=True, type=CONSUMER)
@json_option
@service_options
def delete(consumers: tuple[str, ...], as_json: bool, url: str | None, token: str | None) -> None:
    """Give back everything that consumers hold.

    \b
    Example:
      roost allocation delete $SERVER
    """
    with open_client(url, token) as client:
        for consumer in consumers:
            client.delete_consumer(consumer)
    if as_json:
        print_json({"deleted": list(consumers)})


@allocation.command("set")
@click.argument("consumer", type=CONSUMER)
@click.argument("held", metavar="PROVIDER:CLASS=N,...", nargs=-1, required=True)
@click.option("--project", help="Its project. Needed for a new consumer.")
@click.option("--user", help="Its user. Needed for a new consumer.")
@click.option("--type", "consumer_type", help="Its type. Default: the one it has, or INSTANCE.")
@click.option("--replace", is_flag=True, help="Give back everything that is not named.")
@json_option
@service_options
def set_allocations(
    consumer: str,
    held: tuple[str, ...],
    project: str | None,
    user: str | None,
    consumer_type: str | None,
    replace: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Set what a consumer holds, and leave the rest as it is.

    `roost place` chooses the providers itself. If another client changes the consumer at the same
    time, the change is made again on top of what that client wrote. With --replace it is refused
    instead.

    \b
    Examples:
      roost allocation set $SERVER compute-7:VCPU=2 --project demo --user alice
      roost allocation set $SERVER nic-3:SRIOV_NET_VF=1
    """
    from msgspec.structs import replace as with_fields

    from roost.cli.commands.place import TYPE_DEFAULT

    with open_client(url, token) as client:
        named = _parse_held(client, held)

        def change(present: "Consumer") -> "Consumer":
            after = {} if replace else _copy(present.allocations)
            for uuid, resources in named.items():
                after.setdefault(uuid, {}).update(resources)
            changed = with_fields(
                present,
                allocations=after,
                project_id=project or present.project_id,
                user_id=user or present.user_id,
                consumer_type=consumer_type or present.consumer_type or TYPE_DEFAULT,
            )
            if changed.project_id is None or changed.user_id is None:
                raise BadInput(f"{consumer} is a new consumer: give --project and --user")
            return changed

        _change(client, consumer, change, replace=replace, as_json=as_json)


@allocation.command()
@click.argument("consumer", type=CONSUMER)
@click.option(
    "--provider", "providers", type=PROVIDER, multiple=True, help="Of this one. May be repeated."
)
@click.option(
    "--class",
    "resource_classes",
    type=RESOURCE_CLASS,
    multiple=True,
    metavar="CLASS",
    help="Of this class. May be repeated.",
)
@json_option
@service_options
def unset(
    consumer: str,
    providers: tuple[str, ...],
    resource_classes: tuple[str, ...],
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Give back a part of what a consumer holds.

    With --provider what it holds of that provider, with --class what it holds of that class, with
    both what it holds of that class of that provider.

    \b
    Example:
      roost allocation unset $SERVER --provider nic-3
    """
    from msgspec.structs import replace as with_fields

    if not providers and not resource_classes:
        raise BadInput("name what to give back with --provider or --class, or use delete")
    with open_client(url, token) as client:
        uuids = {find_provider(client, each).uuid for each in providers}

        def change(present: "Consumer") -> "Consumer":
            after = _copy(present.allocations)
            for uuid in uuids & {*after} if uuids else {*after}:
                for name in resource_classes or tuple(after[uuid]):
                    after[uuid].pop(name, None)
            after = {uuid: resources for uuid, resources in after.items() if resources}
            if after == present.allocations:
                raise BadInput(f"{consumer} holds nothing of that")
            return with_fields(present, allocations=after)

        _change(client, consumer, change, replace=False, as_json=as_json)


# ---------------------------------------------------------------------------------------------
# Changes


def _parse_held(client: "Client", words: tuple[str, ...]) -> Held:
    """What `compute-7:VCPU=2,MEMORY_MB=4096` and the like name."""
    named: Held = {}
    for word in words:
        # The name of a provider may have colons, a resource class does not.
        provider, _, resources = word.rpartition(":")
        uuid = find_provider(client, provider).uuid if provider else ""
        amounts = [each.partition("=") for each in resources.split(",")]
        if not provider or not all(name and amount.isdecimal() for name, _, amount in amounts):
            raise BadInput(f"expected PROVIDER:CLASS=N,CLASS=N, not {quoted(word)}")
        for name, _, amount in amounts:
            if name in named.setdefault(uuid, {}):
                raise BadInput(f"{name} of {provider} is given twice")
            named[uuid][name] = int(amount)
    return named


def _copy(allocations: "Mapping[str, Mapping[str, int]]") -> Held:
    return {uuid: dict(resources) for uuid, resources in allocations.items()}


def _change(
    client: "Client",
    uuid: str,
    change: "Callable[[Consumer], Consumer]",
    *,
    replace: bool,
    as_json: bool,
) -> None:
    from roost.cli.commands.allocation_view import print_consumer
    from roost.cli.commands.answers import Verbatim, amend

    def attempt() -> None:
        client.set_consumer(change(client.consumer(uuid)))

    amend(attempt, again=not replace)
    if as_json:
        print_json(Verbatim(client).consumer(uuid))
    else:
        print_consumer(client, client.consumer(uuid))
