"""What `roost audit` reads, and in which order."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from roost.audit.comparison import Scope, compare, confirm, look_at_providers
from roost.audit.findings import Findings
from roost.audit.nova import Nova
from roost.cli.audit.sources import Sources, read_known
from roost.cli.output import BadInput, Failure
from roost.client import ApiError, Client
from roost.model import UNKNOWN_CONSUMER_TYPE
from roost.progress import Progress
from roost.uuids import canonical_uuids, is_uuid

# How many providers and consumers one request reads. A cloud of 10,000 hosts with all its trees
# has 84,000 providers and 300,000 consumers: two pages, and three, which may be read twice.
PROVIDERS_PAGE = 50_000
CONSUMERS_PAGE = 100_000

TYPES = frozenset({"INSTANCE", UNKNOWN_CONSUMER_TYPE})
# A list of servers does not have migrations; nova does.
TYPES_OF_NOVA = TYPES | {"MIGRATION"}

# How often progress is told of items.
_STEP = 1000

Item = TypeVar("Item")


class Wanted(NamedTuple):
    """What to look at."""

    types: frozenset[str]  # empty: the default ones
    older_than: timedelta
    aggregates: frozenset[str]
    allow_empty: bool


def parse_types(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(
        UNKNOWN_CONSUMER_TYPE if text.lower() == UNKNOWN_CONSUMER_TYPE else text.upper()
        for text in texts
    )


def parse_aggregates(texts: Iterable[str]) -> frozenset[str]:
    for text in texts:
        if not is_uuid(text):
            raise BadInput(f"--aggregate {text!r}: not a UUID")
    return canonical_uuids(texts)


def look(
    client: Client,
    sources: Sources,
    wanted: Wanted,
    nova: Nova | None,
    progress: Progress,
) -> Findings:
    clock_ahead = _clock_ahead(client)
    # Who is known is read first, see roost.audit.comparison.
    known, listed_at = read_known(sources, nova, progress)
    if not known and not wanted.allow_empty:
        raise BadInput(
            "no consumer is known, so that all would be orphans; if that is so, say --allow-empty"
        )
    default = TYPES if nova is None else TYPES_OF_NOVA
    try:
        include = ("inventories", "usages", *(("aggregates",) if wanted.aggregates else ()))
        found = client.bulk_providers(include=include, limit=PROVIDERS_PAGE)
        providers = look_at_providers(
            _counted(progress, "reading providers", found), wanted.aggregates
        )
        if empty := wanted.aggregates - providers.aggregates:
            raise BadInput(f"no provider is in the aggregate {min(empty)}")
        scope = Scope(
            types=wanted.types or default,
            changed_before=listed_at + clock_ahead - wanted.older_than,
            aggregates=wanted.aggregates,
        )
        consumers = client.consumers(limit=CONSUMERS_PAGE)
        findings = compare(
            known, providers, _counted(progress, "reading consumers", consumers), scope
        )
        if findings.orphans or findings.servers:
            again = client.consumers(limit=CONSUMERS_PAGE)
            findings = confirm(findings, _counted(progress, "looking again", again))
    except ApiError as error:
        if error.status not in (400, 404, 405):
            raise
        raise Failure(
            "the service cannot list all providers and consumers: an audit needs roost, with the "
            f"extensions include and list_allocations (this one answers {error.status})"
        ) from error
    if nova is not None and findings.servers:
        findings = replace(findings, servers=tuple(nova.holding(findings.servers, progress)))
    return findings


def _clock_ahead(client: Client) -> timedelta:
    """How far the clock of the service is ahead of this one: its times are compared with ours."""
    _ = client.version  # an answer that is short, and has the time
    now = datetime.now(UTC)
    return (client.service_time or now) - now


def _counted(progress: Progress, title: str, items: Iterable[Item]) -> Iterator[Item]:
    progress.stage(title)
    for number, item in enumerate(items, 1):
        yield item
        if number % _STEP == 0:
            progress.advance(_STEP)
