"""The documents, read literally: what is the right answer to a search?

Every way to hand out a request is tried, in every tree, and kept where no rule objects. There is
no pruning and nothing clever, so that each rule can be checked against the sentence it comes from.
Far too slow for a cloud, and right for a small world.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from roost import model
from roost.query import AggregateRule, CandidateQuery, ProviderQuery, RequestGroup, TraitRule
from world import World, WorldProvider

# ---------------------------------------------------------------------------------------------
# What an answer is, and all that could be one


class Answer(NamedTuple):
    """What makes a candidate differ from another; where groups do not count, no mappings."""

    allocations: frozenset[tuple[str, str, int]]  # provider UUID, resource class, amount
    mappings: frozenset[tuple[str, frozenset[str]]] | None  # suffix, UUIDs of its providers


class Take(NamedTuple):
    """Resources that one group takes from one provider; none for a resourceless group."""

    group: RequestGroup
    resources: Mapping[str, int]
    provider: WorldProvider


class Assignment(NamedTuple):
    """One way to hand out a whole request, on behalf of one tree."""

    world: World
    query: CandidateQuery
    root: WorldProvider
    takes: tuple[Take, ...]

    @property
    def unsuffixed(self) -> list[Take]:
        return [take for take in self.takes if not take.group.one_provider]

    @property
    def suffixed(self) -> list[Take]:
        return [take for take in self.takes if take.group.one_provider]


def candidates(world: World, query: CandidateQuery) -> set[Answer]:
    """Every candidate; the limit is not applied, since any choice within it is right."""
    return {
        answer(assignment)
        for root in world.roots
        for assignment in assignments(world, query, root)
        if all(rule(assignment) for rule in RULES)
    }


def assignments(world: World, query: CandidateQuery, root: WorldProvider) -> Iterator[Assignment]:
    """Each class of the unsuffixed group, and each suffixed group, from one provider each."""
    parts = [
        (group, resources)
        for group in query.groups
        for resources in ([group.resources] if group.one_provider else split(group.resources))
    ]
    for choice in itertools.product(available(world, root), repeat=len(parts)):
        takes = (Take(*part, one) for part, one in zip(parts, choice, strict=True))
        yield Assignment(world, query, root, tuple(takes))


def split(resources: Mapping[str, int]) -> list[Mapping[str, int]]:
    return [{name: amount} for name, amount in resources.items()]


def available(world: World, root: WorldProvider) -> list[WorldProvider]:
    """The tree, and who shares an aggregate with any of it (1: Sharing Resource Providers)."""
    aggregates = frozenset().union(*(one.aggregates for one in world.tree(root.uuid)))
    return [
        one
        for one in world.providers.values()
        if one.root_uuid == root.uuid or (one.shares and one.aggregates & aggregates)
    ]


def answer(assignment: Assignment) -> Answer:
    mappings: dict[str, set[str]] = defaultdict(set)
    for take in assignment.takes:
        mappings[take.group.suffix].add(take.provider.uuid)
    return make_answer(assignment.query, sums(assignment), mappings)


def make_answer(
    query: CandidateQuery,
    amounts: Mapping[tuple[str, str], int],
    mappings: Mapping[str, Iterable[str]],
) -> Answer:
    return Answer(
        frozenset((own, name, amount) for (own, name), amount in amounts.items()),
        frozenset((suffix, frozenset(some)) for suffix, some in mappings.items())
        if query.distinguish_groups
        else None,
    )


def sums(assignment: Assignment) -> Mapping[tuple[str, str], int]:
    """What all groups together take: by provider UUID and class."""
    total: dict[tuple[str, str], int] = defaultdict(int)
    for take in assignment.takes:
        for name, amount in take.resources.items():
            total[take.provider.uuid, name] += amount
    return total


# ---------------------------------------------------------------------------------------------
# The rules. The number in a docstring is that of the document.


def each_group_fits(assignment: Assignment) -> bool:
    """Each amount respects what is free, min_unit, max_unit and step_size (5; 2: 2.1.2)."""
    return all(fits(take.provider, take.resources) for take in assignment.takes)


def all_groups_fit(assignment: Assignment) -> bool:
    """Groups on one provider share its capacity, and max_unit bounds their sum (5)."""
    for (own, name), amount in sums(assignment).items():
        one = assignment.world.providers[own]
        inventory = one.inventories.get(name)
        if inventory is None:
            return False
        if one.used[name] + amount > inventory.capacity or amount > inventory.max_unit:
            return False
    return True


def unsuffixed_required_traits(assignment: Assignment) -> bool:
    """One of the providers that serve the group has the trait (1: Filtering by Traits)."""
    present = frozenset().union(*(take.provider.traits for take in assignment.unsuffixed))
    return all(
        present & wanted for take in assignment.unsuffixed for wanted in take.group.traits.required
    )


def unsuffixed_forbidden_traits(assignment: Assignment) -> bool:
    """None of the providers that serve the group has the trait (1: Filtering by Traits)."""
    return not any(
        take.provider.traits & take.group.traits.forbidden for take in assignment.unsuffixed
    )


def unsuffixed_aggregates(assignment: Assignment) -> bool:
    """An aggregate on a root spans its whole tree (1: Filtering Aggregates)."""
    return all(
        member_of(
            take.provider.aggregates | assignment.world.root(take.provider).aggregates,
            take.group.aggregates,
        )
        for take in assignment.unsuffixed
    )


def suffixed_traits(assignment: Assignment) -> bool:
    """The one provider of a suffixed group has the traits (1: Granular Resource Requests)."""
    return all(has_traits(take.provider, take.group.traits) for take in assignment.suffixed)


def suffixed_aggregates(assignment: Assignment) -> bool:
    """An aggregate on a root spans nothing here (1: Granular Resource Requests)."""
    return all(
        member_of(take.provider.aggregates, take.group.aggregates) for take in assignment.suffixed
    )


def in_tree(assignment: Assignment) -> bool:
    """A group may be bound to the tree of any provider of it (1: Filtering by Tree)."""
    return all(
        stands_in_tree(assignment.world, take.provider, take.group.in_tree)
        for take in assignment.takes
    )


def isolated(assignment: Assignment) -> bool:
    """With isolate, suffixed groups take from different providers (3: group_policy + ...)."""
    chosen = [take.provider.uuid for take in assignment.suffixed]
    return not assignment.query.isolate or len(set(chosen)) == len(chosen)


def same_subtree(assignment: Assignment) -> bool:
    """One of the providers is, or is above, each of the others (3: same_subtree)."""
    return all(
        share_subtree(
            assignment.world,
            [take.provider for take in assignment.suffixed if take.group.suffix in suffixes],
        )
        for suffixes in assignment.query.same_subtree
    )


def root_required(assignment: Assignment) -> bool:
    """The root of the tree that is asked has the traits, even if it serves nothing (3)."""
    return has_traits(assignment.root, assignment.query.root_traits)


def nested_aware(assignment: Assignment) -> bool:
    """Clients before 1.29 never see two providers of one tree in a candidate."""
    chosen = {take.provider.uuid: take.provider.root_uuid for take in assignment.takes}
    return assignment.query.nested_aware or len(set(chosen.values())) == len(chosen)


RULES: tuple[Callable[[Assignment], bool], ...] = (
    each_group_fits,
    all_groups_fit,
    unsuffixed_required_traits,
    unsuffixed_forbidden_traits,
    unsuffixed_aggregates,
    suffixed_traits,
    suffixed_aggregates,
    in_tree,
    isolated,
    same_subtree,
    root_required,
    nested_aware,
)


# ---------------------------------------------------------------------------------------------
# The same questions about one provider, which lists of providers ask too


def fits(one: WorldProvider, resources: Mapping[str, int]) -> bool:
    return all(
        name in one.inventories and model.fits(one.inventories[name], one.used[name], amount)
        for name, amount in resources.items()
    )


def has_traits(one: WorldProvider, rule: TraitRule) -> bool:
    return all(one.traits & wanted for wanted in rule.required) and not (
        one.traits & rule.forbidden
    )


def member_of(aggregates: frozenset[str], rule: AggregateRule) -> bool:
    return all(aggregates & wanted for wanted in rule.required) and not (
        aggregates & rule.forbidden
    )


def stands_in_tree(world: World, one: WorldProvider, wanted: str | None) -> bool:
    if wanted is None:
        return True
    return wanted in world.providers and world.providers[wanted].root_uuid == one.root_uuid


def share_subtree(world: World, some: list[WorldProvider]) -> bool:
    lines = [{above.uuid for above in world.ancestors_and_self(one)} for one in some]
    return any(all(top.uuid in line for line in lines) for top in some)


def providers(world: World, query: ProviderQuery) -> set[str]:
    """The UUIDs of the providers to list: each rule is asked of the provider itself."""
    return {
        one.uuid
        for one in world.providers.values()
        if query.uuid in (None, one.uuid)
        and query.name in (None, one.name)
        and stands_in_tree(world, one, query.in_tree)
        and fits(one, query.resources)
        and has_traits(one, query.traits)
        and member_of(one.aggregates, query.aggregates)
    }


# ---------------------------------------------------------------------------------------------
# Other people's answers in the same form


def answer_of_candidate(query: CandidateQuery, candidate: model.Candidate) -> Answer:
    """A candidate of `roost.search` as the oracle would write it."""
    return make_answer(
        query,
        {
            (own, name): amount
            for own, resources in candidate.allocations.items()
            for name, amount in resources.items()
        },
        candidate.mappings,
    )


def answer_of_json(query: CandidateQuery, request: Mapping) -> Answer:
    """An allocation request of the HTTP API (from 1.12) as the oracle would write it."""
    return make_answer(
        query,
        {
            (own, name): amount
            for own, taken in request["allocations"].items()
            for name, amount in taken["resources"].items()
        },
        request.get("mappings", {}),
    )
