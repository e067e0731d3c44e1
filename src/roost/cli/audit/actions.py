"""What `roost audit` does: read, compare, show, and give or put back."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import click
from msgspec.structs import replace

from roost.audit.findings import Findings, Orphan
from roost.audit.known import InvalidList
from roost.audit.nova import Nova, NovaError
from roost.audit.record import InvalidRecord, Record, read_record
from roost.audit.release import release
from roost.audit.restore import restore
from roost.audit.writing import Outcome, Result
from roost.cli.audit import view
from roost.cli.audit.looking import Wanted, look
from roost.cli.audit.sources import STANDARD_INPUT, Sources, open_nova
from roost.cli.output import BadInput, Failure, one_line, print_json
from roost.cli.progress_view import shown_progress
from roost.client import Client
from roost.model import UNKNOWN_CONSUMER_TYPE
from roost.progress import Progress

# So many orphans that are also more than half of all consumers are more likely a list that was cut
# off: some clients show the first 1,000 servers.
MANY_COUNT = 100
MANY_SHARE = 0.5


class GivingBack(NamedTuple):
    """How to give back."""

    record: Path | None
    yes: bool
    allow_many: bool


# ---------------------------------------------------------------------------------------------
# An audit


def run(
    client: Client,
    sources: Sources,
    wanted: Wanted,
    giving_back: GivingBack | None,
    *,
    as_json: bool,
) -> bool:
    """Look, show what is found, and give back. Returns whether nothing is left to do."""
    terminal = None
    if giving_back is not None:
        _check_record(giving_back.record)
        if not giving_back.yes:
            terminal = _terminal()
    nova = open_nova() if sources.nova else None
    with _own_errors(), shown_progress(as_json=as_json) as progress:
        findings = look(client, sources, wanted, nova, progress)
    now = client.service_time or datetime.now(UTC)
    orphans = _releasable(findings, wanted.types)
    if not as_json:
        view.print_findings(findings, now)
    outcomes: list[Outcome] = []
    path = None
    if giving_back is not None and findings.orphans:
        if not giving_back.allow_many:
            _check_number(len(orphans), findings.consumers)
        left_alone = len(findings.orphans) - len(orphans)
        view.print_plan(orphans, left_alone=left_alone, to_stderr=as_json)
        if orphans and (terminal is None or _ask(terminal, "Give it back?")):
            path = giving_back.record or _record_path()
            with _own_errors(), shown_progress(as_json=as_json) as progress:
                outcomes = _give_back(client, orphans, nova, path, progress)
            if not as_json:
                view.print_outcomes(outcomes, path)
    if as_json:
        print_json(view.as_plain_data(findings, now, outcomes, path))
    released = {each.uuid for each in outcomes if each.result in (Result.RELEASED, Result.GONE)}
    left = [each for each in findings.orphans if each.consumer.uuid not in released]
    return not replace(findings, orphans=tuple(left))


def _releasable(findings: Findings, types: frozenset[str]) -> list[Orphan]:
    """The orphans that may be given back.

    A consumer of unknown type may belong to any service. So its type has to be given.
    """
    return [
        each
        for each in findings.orphans
        if each.consumer.consumer_type in types
        or (not types and each.consumer.consumer_type != UNKNOWN_CONSUMER_TYPE)
    ]


# ---------------------------------------------------------------------------------------------
# Giving back, and putting back


def _give_back(
    client: Client,
    orphans: Sequence[Orphan],
    nova: Nova | None,
    path: Path,
    progress: Progress,
) -> list[Outcome]:
    consumers = [each.consumer for each in orphans]
    outcomes: list[Outcome] = []
    if nova is not None:
        unknown = set(nova.unknown([each.uuid for each in consumers], progress))
        outcomes += [
            Outcome(uuid=each.uuid, result=Result.KNOWN)
            for each in consumers
            if each.uuid not in unknown
        ]
        consumers = [each for each in consumers if each.uuid in unknown]
    try:
        record = Record(path)
    except OSError as error:
        raise Failure(f"nothing was given back: {path}: {error.strerror}") from None
    with record, _interrupted(record):
        outcomes += release(client, consumers, record, progress)
    return outcomes


@contextmanager
def _interrupted(record: Record) -> Iterator[None]:
    """Says, if giving back ends early, where it is written what was given back."""
    path = record.path
    try:
        yield
    except BaseException as error:
        if record.is_empty:
            path.unlink()
            said = "nothing was given back"
        else:
            said = f"{path} has what was given back: roost audit --restore {path}"
        click.echo(f"roost: {said}", err=True)
        if isinstance(error, OSError):
            raise Failure(f"cannot write to {path}: {error.strerror}") from error
        raise


def put_back(client: Client, path: Path, *, as_json: bool) -> bool:
    """Put back what a record has. Returns whether all of it is there."""
    with _own_errors():
        recorded = read_record(path)
        with shown_progress(as_json=as_json) as progress:
            outcomes = list(restore(client, recorded, progress))
    if as_json:
        print_json({"outcomes": outcomes})
    else:
        view.print_outcomes(outcomes, None)
    return all(each.result in (Result.RESTORED, Result.THERE) for each in outcomes)


def _check_number(orphans: int, consumers: int) -> None:
    if orphans > MANY_COUNT and orphans > MANY_SHARE * consumers:
        raise BadInput(
            f"nothing was given back: {orphans:,} of {consumers:,} consumers are orphans, so the "
            "list of known consumers may be incomplete; if it is not, say --allow-many"
        )


def _check_record(path: Path | None) -> None:
    if path is not None and path.exists():
        raise BadInput(f"{path} exists, and a record never overwrites a file")


def _record_path() -> Path:
    return Path(f"roost-audit-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.jsonl")


def _terminal() -> str:
    """Where a question can be asked: standard input may be the list of known consumers."""
    if sys.stdin.isatty():
        return STANDARD_INPUT
    try:
        with open("/dev/tty"):
            return "/dev/tty"
    except OSError:
        raise BadInput("cannot ask for confirmation without a terminal: say --yes") from None


def _ask(terminal: str, question: str) -> bool:
    if terminal == STANDARD_INPUT:
        return click.confirm(question, default=False, err=True)
    with open(terminal) as answers:
        click.echo(f"{question} [y/N]: ", nl=False, err=True)
        return answers.readline().strip().lower() in ("y", "yes")


@contextmanager
def _own_errors() -> Iterator[None]:
    try:
        yield
    except (InvalidList, InvalidRecord) as error:
        raise BadInput(str(error)) from error
    except NovaError as error:
        raise Failure(one_line(error)) from error
