"""The oracle interprets the documents correctly: the reference gives the same answers.

Where they differ, the difference must be a known one, with a name. Each has a predicate that is
as narrow as a black box allows, and the test counts how often each was needed.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace as evolve

from roost.query import CandidateQuery, RequestGroup, TraitRule
from tests import oracle
from tests.property.reference import Reference, candidates_path, providers_path
from tests.property.strategies import (
    Choices,
    Seeded,
    make_provider_query,
    make_query,
    make_world,
)
from tests.support.headers import HEADERS
from tests.support.long_form import choose
from tests.support.world import World, load

WORLD_COUNT = int(os.environ.get("ROOST_REFERENCE_WORLDS", choose(short=12, long=25)))
QUERIES_PER_WORLD = 12


class Case(NamedTuple):
    """One request on which the reference and the oracle differ."""

    world: World
    query: CandidateQuery
    version: str
    status: int
    found: Counter[oracle.Answer]  # by the reference
    expected: Counter[oracle.Answer]  # by the oracle

    @property
    def only_loses(self) -> bool:
        """The reference returns no wrong candidate, but misses some."""
        return self.status == 200 and self.found < self.expected

    @property
    def unsuffixed(self) -> list[RequestGroup]:
        return [group for group in self.query.groups if not group.one_provider]


# ---------------------------------------------------------------------------------------------
# Where the reference is wrong


def one_class_isolated(case: Case) -> bool:
    """Two groups ask for one class with isolate: amounts leak between candidates."""
    classes = [name for group in case.query.groups for name in group.resources]
    return case.query.isolate and len(set(classes)) < len(classes)


def unsuffixed_shared_alone(case: Case) -> bool:
    """Sharing providers alone serve the unsuffixed group: one candidate for all trees."""
    if len(case.query.groups) == 1 or not case.only_loses:
        return False
    shared_alone = {
        oracle.answer(assignment)
        for root in case.world.roots
        for assignment in oracle.assignments(case.world, case.query, root)
        if assignment.unsuffixed and all(take.provider.shares for take in assignment.unsuffixed)
    }
    return case.expected - case.found <= shown(shared_alone, case.version)


def nested_sharing_fails(case: Case) -> bool:
    """A sharing provider that is no root, whose own tree does not remain: status 500."""
    return case.status == 500 and any(
        one.shares and one.parent_uuid for one in case.world.providers.values()
    )


def resourceless_rule_ignored(case: Case) -> bool:
    """A resourceless group that requires nothing matches nothing; its in_tree is ignored."""
    groups = case.query.groups
    resourceless = [group for group in groups if not group.resources]
    if any(not (each.traits.required or each.aggregates.required) for each in resourceless):
        return not case.found
    if not any(each.in_tree for each in resourceless):
        return False
    without_tree = [group if group.resources else evolve(group, in_tree=None) for group in groups]
    answers = oracle.candidates(case.world, evolve(case.query, groups=tuple(without_tree)))
    return case.found == shown(answers, case.version)


def sharing_stays_narrowed(case: Case) -> bool:
    """Sharing providers narrowed by member_of of one group stay so for the groups after it."""
    narrowing = any(group.aggregates for group in case.query.groups[:-1])
    sharing = any(one.shares for one in case.world.providers.values())
    return narrowing and sharing and case.only_loses


def aggregates_half_by_root(case: Case) -> bool:
    """Of two member_of, one is met by the provider and one by its root: refused."""
    return case.only_loses and any(
        oracle.member_of(one.aggregates | root.aggregates, group.aggregates)
        and not oracle.member_of(one.aggregates, group.aggregates)
        and not oracle.member_of(root.aggregates, group.aggregates)
        for group in case.unsuffixed
        for one in case.world.providers.values()
        for root in [case.world.root(one)]
    )


def root_of_sharing_not_asked(case: Case) -> bool:
    """An aggregate on the root of a sharing provider does not span it for other trees."""
    return any(
        one.shares
        and oracle.member_of(one.aggregates, group.aggregates)
        != oracle.member_of(one.aggregates | case.world.root(one).aggregates, group.aggregates)
        for group in case.unsuffixed
        for one in case.world.providers.values()
    )


KNOWN: tuple[Callable[[Case], bool], ...] = (
    one_class_isolated,
    unsuffixed_shared_alone,
    nested_sharing_fails,
    resourceless_rule_ignored,
    sharing_stays_narrowed,
    aggregates_half_by_root,
    root_of_sharing_not_asked,
)


# ---------------------------------------------------------------------------------------------
# The comparison


def make_version(choices: Choices, query: CandidateQuery) -> str:
    """A microversion at which trees are, or are not, known; most often the newest."""
    return choices.one_of(["1.39", "1.39", "1.39", "1.33"]) if query.nested_aware else "1.28"


def shown(answers: Iterable[oracle.Answer], version: str) -> Counter[oracle.Answer]:
    """The answers as a microversion shows them: before 1.34 those of exchanged groups are equal."""
    if version >= "1.34":
        return Counter(answers)
    return Counter(answer._replace(mappings=frozenset()) for answer in answers)


def without_later_features(query: CandidateQuery, version: str) -> CandidateQuery:
    """The query without features that are newer than the microversion."""
    if version == "1.39":
        return query
    groups = [group for group in query.groups if group.resources]
    return evolve(
        query,
        groups=tuple(older_group(group, query.nested_aware) for group in groups),
        same_subtree=(),
        root_traits=TraitRule(),
    )


def older_group(group: RequestGroup, nested_aware: bool) -> RequestGroup:
    """Without alternatives of traits (1.39); and where trees are not known, also without
    in_tree (1.31) and forbidden aggregates (1.32)."""
    alone = tuple(each for each in group.traits.required if len(each) == 1)
    group = evolve(group, traits=evolve(group.traits, required=alone))
    if nested_aware:
        return group
    aggregates = evolve(group.aggregates, forbidden=frozenset())
    return evolve(group, aggregates=aggregates, in_tree=None)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    folder: Path = tmp_path_factory.mktemp("reference")
    with Reference(folder) as server:
        yield server


def compare(reference: Reference, world: World, query: CandidateQuery, version: str) -> str:
    """`equal`, the name of the known difference, or what is wrong."""
    path = candidates_path(query)
    headers = {**HEADERS, "OpenStack-API-Version": f"placement {version}"}
    answer = reference.client.get(path, headers=headers)
    expected = shown(oracle.candidates(world, query), version)
    found: Counter[oracle.Answer] = Counter()
    if answer.status_code == 200:
        requests = answer.json()["allocation_requests"]
        found = Counter(oracle.answer_of_json(request) for request in requests)
        if found == expected:
            return "equal"
    case = Case(world, query, version, answer.status_code, found, expected)
    for known in KNOWN:
        if known(case):
            return known.__name__
    counts = f"{found.total()} found, {expected.total()} expected"
    return f"{version} {path}: {answer.status_code}, {counts}"


def test_candidates_equal_those_of_the_reference(reference: Reference) -> None:
    counts: Counter[str] = Counter()
    unknown = []
    for seed in range(WORLD_COUNT):
        choices = Seeded(seed)
        world = make_world(choices)
        reference.clear()
        load(world, reference.client)
        for _ in range(QUERIES_PER_WORLD):
            query = make_query(choices, world)
            version = make_version(choices, query)
            query = without_later_features(query, version)
            verdict = compare(reference, world, query, version)
            counts[verdict] += 1
            if verdict != "equal" and verdict not in {known.__name__ for known in KNOWN}:
                unknown.append(f"seed {seed}: {verdict}")
    print(f"{counts.total()} requests: {dict(counts.most_common())}")
    assert not unknown, "\n".join(unknown)
    assert counts["equal"] > 0.8 * counts.total(), counts


def test_provider_lists_equal_those_of_the_reference(reference: Reference) -> None:
    unequal = []
    for seed in range(WORLD_COUNT // 4):
        choices = Seeded(seed)
        world = make_world(choices)
        reference.clear()
        load(world, reference.client)
        for _ in range(QUERIES_PER_WORLD):
            query = make_provider_query(choices, world)
            answer = reference.client.get(providers_path(query), headers=HEADERS)
            found = {one["uuid"] for one in answer.json()["resource_providers"]}
            if found != oracle.providers(world, query):
                unequal.append(f"seed {seed}: {providers_path(query)}")
    assert not unequal, "\n".join(unequal)
