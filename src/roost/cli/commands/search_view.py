"""Candidates and placements as tables for people."""

from collections.abc import Iterator, Mapping

from roost.cli.columns import Column, Styled, print_line, print_table
from roost.cli.commands.amounts import resources_text
from roost.cli.provider_names import ProviderNames
from roost.client import Candidate, Candidates, Client
from roost.model import SHARING_TRAIT


def print_candidates(client: Client, found: Candidates) -> None:
    """A row for each provider of each candidate; the root stands in the first of them."""
    names = ProviderNames(client)
    roots = [_root(each, found) for each in found.candidates]
    names.read(uuid for each in found.candidates for uuid in each.allocations)
    names.read(roots)
    columns = [Column("root", folds=True), Column("provider", folds=True)]
    with_groups = any(_groups(each) for each in found.candidates)
    columns += [Column("group", folds=True)] if with_groups else []
    columns += [Column("gives", folds=True)]

    def rows() -> Iterator[tuple[str | Styled, ...]]:
        for candidate, root in zip(found.candidates, roots, strict=True):
            title = Styled(names.of(root), "bold")
            for cells in _provider_cells(candidate, names, with_groups=with_groups):
                yield (title, *cells)
                title = Styled("", "")

    count = print_table(columns, rows())
    if not count:
        print_line("There are no candidates.")
    if not found.complete:
        print_line("There may be others: not everything was tried.")


def print_placements(client: Client, placed: Mapping[str, Candidate]) -> None:
    """A row for each provider of each consumer; the consumer stands in the first of them."""
    names = ProviderNames(client)
    names.read(uuid for each in placed.values() for uuid in each.allocations)
    with_groups = any(_groups(each) for each in placed.values())
    columns = [Column("consumer"), Column("provider", folds=True)]
    columns += [Column("group", folds=True)] if with_groups else []
    columns += [Column("holds", folds=True)]

    def rows() -> Iterator[tuple[str | Styled, ...]]:
        for consumer, candidate in placed.items():
            title = consumer
            for cells in _provider_cells(candidate, names, with_groups=with_groups):
                yield (title, *cells)
                title = ""

    print_table(columns, rows())


def _provider_cells(
    candidate: Candidate, names: ProviderNames, *, with_groups: bool
) -> Iterator[tuple[str, ...]]:
    groups = _groups(candidate)
    for uuid, resources in candidate.allocations.items():
        group = (" ".join(groups.get(uuid, ())),) if with_groups else ()
        yield (names.of(uuid), *group, resources_text(resources))


def _groups(candidate: Candidate) -> dict[str, list[str]]:
    """Provider UUID -> the suffixes of the groups that it serves."""
    found: dict[str, list[str]] = {}
    for suffix, uuids in candidate.mappings.items():
        for uuid in uuids if suffix else ():
            found.setdefault(uuid, []).append(suffix)
    return found


def _root(candidate: Candidate, found: Candidates) -> str:
    """The root of the tree that serves a candidate, rather than of a provider that is shared."""
    uuids = [uuid for uuid in candidate.allocations if uuid in found.summaries]
    own = [uuid for uuid in uuids if SHARING_TRAIT not in found.summaries[uuid].traits]
    chosen = next(iter(own or uuids or candidate.allocations))
    return found.summaries[chosen].root_uuid if chosen in found.summaries else chosen
