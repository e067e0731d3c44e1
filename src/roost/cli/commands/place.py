"""`roost place`: choose and claim in one step."""

from typing import Any

import click

from roost.cli.arguments import CONSUMER
from roost.cli.commands.search import NO, ORDERS, parse_query, query_argument
from roost.cli.options import json_option, open_client, service_options
from roost.cli.output import BadInput, Failure, one_line, print_json

# For consumers of which nothing is known, as OpenStack Placement has it.
TYPE_DEFAULT = "INSTANCE"
NOBODY = "00000000-0000-0000-0000-000000000000"
NO_CANDIDATES = "placement.no_candidates"
CONSUMERS_MAX = 10_000


@click.command()
@query_argument
@click.option(
    "--consumer",
    "consumers",
    type=CONSUMER,
    multiple=True,
    metavar="UUID",
    help="Who gets the place. May be repeated. Default: a consumer with a random UUID.",
)
@click.option(
    "--count", type=click.IntRange(1, CONSUMERS_MAX), help="So many consumers with random UUIDs."
)
@click.option("--project", default=NOBODY, help="The project of the consumers. Default: zeros.")
@click.option("--user", default=NOBODY, help="The user of the consumers. Default: zeros.")
@click.option(
    "--type",
    "consumer_type",
    default=TYPE_DEFAULT,
    show_default=True,
    help="What kind of consumers they are.",
)
@click.option("--order", type=click.Choice(ORDERS), help="Which trees come first.")
@click.option("--spread", is_flag=True, help="Give each consumer another root, that is, a host.")
@json_option
@service_options
def place(
    query: tuple[str, ...],
    consumers: tuple[str, ...],
    count: int | None,
    project: str,
    user: str,
    consumer_type: str,
    order: str | None,
    spread: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Find a place for consumers and claim it.

    Either all consumers get what QUERY asks for, or none does. QUERY is the query string of
    GET /allocation_candidates, in one word or in several, which are then joined with &. Prints the
    UUIDs of the consumers and where they are. `roost allocation delete` gives the place back.

    Exit code 3: there is no place.

    \b
    Examples:
      roost place resources=VCPU:4,MEMORY_MB:8192
      roost place resources=VCPU:4 --count 3 --spread --project demo --user alice
      roost place resources=VCPU:4 --consumer $SERVER --order pack
    """
    from roost.cli.commands.answers import Verbatim, need_extension
    from roost.cli.commands.search_view import print_placements
    from roost.client import Conflict
    from roost.client.wire import placements

    if consumers and count is not None:
        raise BadInput("--consumer and --count exclude each other")
    if len({*consumers}) < len(consumers):
        raise BadInput("a consumer is given twice")
    with open_client(url, token) as client:
        need_extension(client, "placements")
        try:
            found: Any = Verbatim(client).place(
                parse_query(client, query),
                consumers or count or 1,
                project_id=project,
                user_id=user,
                consumer_type=consumer_type,
                order=order,
                apart=spread,
            )
        except Conflict as error:
            if error.code == NO_CANDIDATES:
                raise Failure(one_line(error), exit_code=NO) from error
            for uuid in consumers:
                if client.consumer(uuid).allocations:
                    raise Failure(
                        f"consumer {uuid} has a place already: see `roost allocation show {uuid}`"
                    ) from error
            raise
        if as_json:
            print_json(found)
        else:
            print_placements(client, placements(found))
