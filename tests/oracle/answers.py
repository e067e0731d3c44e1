"""Answers: of the oracle, and those of the search and of the API in the same form."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from roost import model
from tests.oracle.assignments import Assignment


class Answer(NamedTuple):
    """What distinguishes candidates. Before 1.34 an answer over HTTP does not show the mappings."""

    allocations: frozenset[tuple[str, str, int]]  # provider UUID, resource class, amount
    mappings: frozenset[tuple[str, frozenset[str]]]  # suffix, UUIDs of its providers


def answer(assignment: Assignment) -> Answer:
    mappings: dict[str, set[str]] = defaultdict(set)
    for take in assignment.takes:
        mappings[take.group.suffix].add(take.provider.uuid)
    return make_answer(sums(assignment), mappings)


def make_answer(
    amounts: Mapping[tuple[str, str], int], mappings: Mapping[str, Iterable[str]]
) -> Answer:
    return Answer(
        frozenset((uuid, name, amount) for (uuid, name), amount in amounts.items()),
        frozenset((suffix, frozenset(some)) for suffix, some in mappings.items()),
    )


def sums(assignment: Assignment) -> Mapping[tuple[str, str], int]:
    """What all groups take together, by provider UUID and class."""
    total: dict[tuple[str, str], int] = defaultdict(int)
    for take in assignment.takes:
        for name, amount in take.resources.items():
            total[take.provider.uuid, name] += amount
    return total


def answer_of_candidate(candidate: model.Candidate) -> Answer:
    """A candidate of `roost.search` as the oracle would write it."""
    return make_answer(
        {
            (uuid, name): amount
            for uuid, resources in candidate.allocations.items()
            for name, amount in resources.items()
        },
        candidate.mappings,
    )


def answer_of_json(request: Mapping[str, Any]) -> Answer:
    """An allocation request of the HTTP API (from 1.12) as the oracle would write it.

    Before 1.34 it has no mappings, so that only the allocations can be compared.
    """
    return make_answer(
        {
            (uuid, name): amount
            for uuid, taken in request["allocations"].items()
            for name, amount in taken["resources"].items()
        },
        request.get("mappings", {}),
    )
