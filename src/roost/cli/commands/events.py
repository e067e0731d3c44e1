"""`roost events`: what every process of the service writes, as it happens."""

import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from roost.cli.arguments import PROVIDER
from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import Failure, print_json_line
from roost.cli.provider_names import ProviderNames, find_provider

if TYPE_CHECKING:
    from roost.client import Client

KINDS = ("allocations", "inventories", "traits", "aggregates", "provider", "catalog")
KIND_WIDTH = max(map(len, KINDS))

# The exit code of a program that Ctrl-C has ended.
INTERRUPTED = 130


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Go on until Ctrl-C, also if the service stops.")
@click.option("--after", metavar="POSITION", help="Begin after this position. Default: now.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help="Only events of this kind. May be repeated.",
)
@click.option("--tree", type=PROVIDER, metavar="PROVIDER", help="Only those of a provider's tree.")
@json_option
@service_options
def events(
    follow: bool,
    after: str | None,
    kinds: tuple[str, ...],
    tree: str | None,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Print what changes, a line for each event.

    Without --follow it prints the events after a position, and then the position from which to
    continue; without --after that is the current one. With --json each line is a document: an
    event, or {"position": ...} after the events before it.

    \b
    Examples:
      roost events --follow
      roost events --follow --kind allocations --tree compute-7
      roost events --after kZLPABx5vA5Mb0wF --json
    """
    from roost.cli.commands.answers import need_extension
    from roost.client import Gone

    with open_client(url, token) as client:
        need_extension(client, "events")
        root = None if tree is None else _root(client, tree)
        feed = Feed(client, kinds=kinds, tree=root, as_json=as_json)
        try:
            feed.catch_up(after)
            if follow:
                feed.follow()
            else:
                feed.print_position()
        except Gone:
            raise Failure(
                f"events after {after} are no longer stored: read everything again, and continue "
                "from the position that `roost events` prints"
            ) from None
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED) from None


def _root(client: "Client", provider: str) -> str:
    """The root of a provider's tree: it identifies the tree for as long as there is one."""
    return find_provider(client, provider).root_uuid


class Feed:
    """Reads events, and prints them."""

    def __init__(
        self, client: "Client", *, kinds: tuple[str, ...], tree: str | None, as_json: bool
    ) -> None:
        from roost.cli.commands.answers import Verbatim

        self._api = Verbatim(client)
        self._kinds = kinds
        self._tree = tree
        self._as_json = as_json
        self._names = ProviderNames(client)
        self._position = ""

    def catch_up(self, after: str | None) -> None:
        """Print the events after a position; without one, only find out the current one."""
        while True:
            found: Any = self._api.events(after, kinds=self._kinds, tree=self._tree)
            self._position = found["position"]
            self._print(found["events"])
            # A long answer comes in parts.
            if not found["events"]:
                return
            after = self._position

    def follow(self) -> None:
        """Print events as they happen, also when the service was away meanwhile."""
        from roost.client import Gone

        if self._as_json:
            self.print_position()
        elif sys.stderr.isatty():
            # Until something changes there is nothing else to see.
            click.echo("roost: waiting for events, until Ctrl-C", err=True)
        while True:
            try:
                self._watch()
            except Gone:
                click.echo("roost: some events were missed: they are no longer stored", err=True)
                self.catch_up(None)

    def _watch(self) -> None:
        """Print events for as long as they are stored."""
        found: Any = self._api.watch(self._position, kinds=self._kinds, tree=self._tree)
        events: list[Any] = []
        for document in found:
            if "position" not in document:
                events.append(document)
                continue
            self._position = document["position"]
            if events:
                self._print(events)
                if self._as_json:
                    self.print_position()
            events = []

    def print_position(self) -> None:
        if self._as_json:
            print_json_line({"position": self._position})
            sys.stdout.flush()
        else:
            click.echo(f"position {self._position}")

    def _print(self, events: Iterable[Any]) -> None:
        events = list(events)
        if self._as_json:
            for event in events:
                print_json_line(event)
        else:
            self._read_names(events)
            for event in events:
                click.echo(self._line(event))
        sys.stdout.flush()

    def _read_names(self, events: list[Any]) -> None:
        from roost.client import ClientError

        for event in events:
            if event["kind"] == "provider" and not event.get("deleted"):
                # It may have been renamed.
                self._names.forget(event["resource_provider"])
        # While the service is away, UUIDs will do.
        with suppress(ClientError):
            self._names.read(
                event["resource_provider"] for event in events if "resource_provider" in event
            )

    def _line(self, event: Any) -> str:
        from roost.cli.columns import styled
        from roost.cli.output import printable

        kind = styled(event["kind"].ljust(KIND_WIDTH), "cyan")
        if "resource_provider" not in event:
            return f"{kind}  a resource class or a trait was created or deleted"
        name = printable(self._names.of(event["resource_provider"]))
        details = []
        if event.get("deleted"):
            details.append(styled("deleted", "red"))
        details += [f"{each} {amount:+,}" for each, amount in event.get("usage", {}).items()]
        if "generation" in event:
            details.append(styled(f"generation {event['generation']}", "dim"))
        return "  ".join([kind, name, *([", ".join(details)] if details else [])])
