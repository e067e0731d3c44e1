"""Consumers and what they hold, for people."""

from collections.abc import Iterable, Iterator
from itertools import islice

from rich.cells import cell_len

from roost.cli.columns import Column, fold, print_fields, print_line, print_table, styled
from roost.cli.commands.amounts import age_text, resources_text
from roost.cli.output import printable, terminal_width
from roost.cli.provider_names import ProviderNames
from roost.client import Client, Consumer, ConsumerDetails

# Consumers whose providers' names are read at once.
CONSUMERS_AT_ONCE = 100

INDENT = "  "


def print_consumers(client: Client, found: Iterable[ConsumerDetails]) -> None:
    """A line for each consumer, and one below it for each provider of which it holds something."""
    names = ProviderNames(client)
    count = 0
    for some in _parts(found):
        names.read(uuid for each in some for uuid in each.consumer.allocations)
        for each in some:
            _print_consumer(each, names)
        count += len(some)
    if not count:
        print_line("there are no such consumers")


def _parts(found: Iterable[ConsumerDetails]) -> Iterator[list[ConsumerDetails]]:
    iterator = iter(found)
    while some := list(islice(iterator, CONSUMERS_AT_ONCE)):
        yield some


def _print_consumer(details: ConsumerDetails, names: ProviderNames) -> None:
    consumer = details.consumer
    age = "" if details.changed_at is None else f"  {age_text(details.changed_at)} old"
    about = f"{consumer.consumer_type or 'unknown'}{age}"
    print_line(f"{styled(consumer.uuid, 'bold')}  {printable(about)}")
    owner = [f"project {consumer.project_id}", f"user {consumer.user_id}"]
    room = terminal_width()
    if room is None or cell_len("  ".join(owner)) <= room - len(INDENT):
        owner = ["  ".join(owner)]
    for line in owner:
        _print_indented(line, style="dim")
    for uuid, resources in consumer.allocations.items():
        _print_indented(f"{names.of(uuid)}  {resources_text(resources)}")


def _print_indented(text: str, style: str = "") -> None:
    text = printable(text)
    room = terminal_width()
    for line in fold(text, cell_len(text) if room is None else room - len(INDENT)):
        print_line(INDENT + (styled(line, style) if style else line))


def print_consumer(client: Client, consumer: Consumer) -> None:
    """One consumer, and a row for each provider of which it holds something."""
    if not consumer.allocations:
        print_line(f"{consumer.uuid} holds nothing")
        return
    print_fields(
        [
            ("consumer", consumer.uuid),
            ("type", consumer.consumer_type or "unknown"),
            ("project", consumer.project_id or "-"),
            ("user", consumer.user_id or "-"),
            ("generation", str(consumer.generation)),
        ]
    )
    names = ProviderNames(client)
    names.read(consumer.allocations)
    print_line("")
    columns = (Column("provider", folds=True), Column("holds", folds=True))
    held = consumer.allocations.items()
    print_table(columns, ((names.of(uuid), resources_text(each)) for uuid, each in held))
