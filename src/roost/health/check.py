"""Everything that is wrong in the tables, or between them and what the index would serve."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from roost.health import survey
from roost.health.facts import Facts
from roost.health.findings import Finding
from roost.health.survey import Progress
from roost.search.index.index import Index
from roost.store.store import Store

STEPS = (*survey.STEPS, "index")


def check(store: Store, progress: Progress) -> list[Finding]:
    """All findings."""
    found = survey.survey(store, progress)
    progress("index")
    # A provider in a circle has no place in any tree, which is a finding already.
    lost = {finding.subject for finding in found.findings if finding.kind == "loop"}
    return [*found.findings, *compare(Index.build(found.rows), found.facts, lost)]


def compare(index: Index, facts: Facts, lost: set[str]) -> Iterator[Finding]:
    """Where an index differs from what the tables say."""
    served = _served(index)
    said = Facts(
        providers=_without(facts.providers, lost),
        inventories={key: each for key, each in facts.inventories.items() if key[0] not in lost},
        traits=frozenset(pair for pair in facts.traits if pair[0] not in lost),
        aggregates=frozenset(pair for pair in facts.aggregates if pair[0] not in lost),
    )
    yield from _differences("provider", served.providers, said.providers)
    yield from _differences("inventory", served.inventories, said.inventories)
    for what, ours, theirs in (
        ("trait", served.traits, said.traits),
        ("aggregate", served.aggregates, said.aggregates),
    ):
        for uuid, name in ours ^ theirs:
            where = "served" if (uuid, name) in ours else "in the tables"
            yield _finding(uuid, f"{what} {name} is only {where}")


def _differences(
    what: str, served: Mapping[Any, Any], said: Mapping[Any, Any]
) -> Iterator[Finding]:
    if served == said:
        return
    for key in served.keys() | said.keys():
        if served.get(key) != said.get(key):
            uuid, name = key if isinstance(key, tuple) else (key, "")
            text = f"{what} {name}".rstrip()
            yield _finding(
                uuid, f"{text}: served {_shown(served, key)}, in the tables {_shown(said, key)}"
            )


def _shown(values: Mapping[Any, Any], key: Any) -> str:
    return " ".join(map(str, values[key])) if key in values else "nothing"


def _finding(uuid: str, detail: str) -> Finding:
    return Finding(kind="index", subject=uuid, detail=detail)


def _without(values: Mapping[str, Any], lost: set[str]) -> dict[str, Any]:
    return {key: each for key, each in values.items() if key not in lost}


def _served(index: Index) -> Facts:
    """What the index holds, in the form in which the tables are asked."""
    rows = index.rows
    living = range(rows.count)
    generations, parents = rows.generation.tolist(), rows.parent.tolist()
    return Facts(
        providers={
            index.uuids[row]: (
                index.names[row],
                generations[row],
                None if parents[row] < 0 else index.uuids[parents[row]],
            )
            for row in living
        },
        inventories=dict(_inventories(index)),
        traits=frozenset(
            (index.uuids[row], name) for row in living for name in _trait_names(index, row)
        ),
        aggregates=frozenset(
            (index.uuids[row], aggregate)
            for row in living
            for aggregate in index.row_aggregates(row)
        ),
    )


def _trait_names(index: Index, row: int) -> Iterable[str]:
    names = index.traits.names
    return (names[number] for number in index.row_traits(row) if number in names)


def _inventories(index: Index) -> Iterator[tuple[tuple[str, str], Any]]:
    for class_id, column in index.columns.items():
        name = index.classes.names.get(class_id)
        if name is None:
            # A finding already: its class is gone.
            continue
        fields = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
        values = [getattr(column, field)[: column.count].tolist() for field in (*fields, "used")]
        for row, *numbers in zip(column.row[: column.count].tolist(), *values, strict=True):
            yield (index.uuids[row], name), tuple(numbers)
