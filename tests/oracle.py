"""The documents, read literally: what is the right answer to a search?

The oracle tries every way to serve a request, in every tree, and keeps those that break no rule.
It prunes nothing, so that each rule can be compared with the sentence it comes from. That is far
too slow for a cloud, but affordable for a small world.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from roost import model
from roost.query import (
    AggregateRule,
    CandidateQuery,
    OrderBy,
    ProviderQuery,
    RequestGroup,
    TraitRule,
)
from tests.support.world import World, WorldProvider

# ---------------------------------------------------------------------------------------------
# Answers, and every assignment that could be one


class Answer(NamedTuple):
    """What distinguishes candidates. Before 1.34 an answer over HTTP does not show the mappings."""

    allocations: frozenset[tuple[str, str, int]]  # provider UUID, resource class, amount
    mappings: frozenset[tuple[str, frozenset[str]]]  # suffix, UUIDs of its providers


class Take(NamedTuple):
    """Resources that one group takes from one provider; none for a resourceless group."""

    group: RequestGroup
    resources: Mapping[str, int]
    provider: WorldProvider


class Assignment(NamedTuple):
    """One way to serve a whole request from one tree and what is shared with it."""

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
    """Every candidate; the limit is not applied, since any selection within it is right."""
    return {
        answer(assignment)
        for root in world.roots
        for assignment in assignments(world, query, root)
        if all(rule(assignment) for rule in RULES)
    }


def possible(world: World, query: CandidateQuery) -> bool:
    """Whether there is a candidate; where amounts may be split, in pieces of any size."""
    return any(
        all(rule(assignment) for rule in RULES)
        for root in world.roots
        for assignment in all_assignments(world, query, root)
    )


def all_assignments(
    world: World, query: CandidateQuery, root: WorldProvider
) -> Iterator[Assignment]:
    """First those that a search prefers, then all others, with pieces of any size."""
    yield from assignments(world, query, root)
    if query.may_split:
        yield from assignments(world, query, root, pieces_of=all_pieces)


def assignments(
    world: World,
    query: CandidateQuery,
    root: WorldProvider,
    pieces_of: Callable[[World, WorldProvider, str, int], list["Pieces"]] | None = None,
) -> Iterator[Assignment]:
    """Each class of the unsuffixed group, and each suffixed group, from one provider each.

    Each class that may be split (beyond.md) is served separately, in pieces.
    """
    pieces_of = pieces_of or splits
    options: list[list[tuple[Take, ...]]] = []
    for group in query.groups:
        if group.anywhere:
            options.append(
                [(Take(group, {}, one),) for one in first_that_meets(world, root, group)]
            )
        whole = {name: n for name, n in group.resources.items() if name not in group.can_split}
        parts = [whole] if group.one_provider else one_class_each(whole)
        if group.resources and not whole:
            parts = []
        for part in parts:
            options.append([(Take(group, part, one),) for one in available(world, root)])
        for name in group.resources.keys() - whole.keys():
            options.append(
                [
                    tuple(Take(group, {name: piece}, one) for one, piece in pieces)
                    for pieces in pieces_of(world, root, name, group.resources[name])
                ]
            )
    for choice in itertools.product(*options):
        takes = itertools.chain.from_iterable(choice)
        yield Assignment(world, query, root, tuple(takes))


def first_that_meets(world: World, root: WorldProvider, group: RequestGroup) -> list[WorldProvider]:
    """One provider of the tree, if any, that meets an unsuffixed group without resources.

    Whichever it is makes no difference (beyond.md), so it is the first one from the root down.
    """
    return [one for one in depth_first(world, root) if meets_anywhere(world, one, group)][:1]


def meets_anywhere(world: World, one: WorldProvider, group: RequestGroup) -> bool:
    return (
        has_traits(one, group.traits)
        and member_of(one.aggregates | world.root(one).aggregates, group.aggregates)
        and is_in_tree(world, one, group.in_tree)
        and is_in_subtree(world, one, group.in_subtree)
    )


def depth_first(world: World, top: WorldProvider) -> Iterator[WorldProvider]:
    yield top
    for one in world.providers.values():
        if one.parent_uuid == top.uuid:
            yield from depth_first(world, one)


def one_class_each(resources: Mapping[str, int]) -> list[Mapping[str, int]]:
    return [{name: amount} for name, amount in resources.items()]


Pieces = tuple[tuple[WorldProvider, int], ...]
PIECES_MAX = 4


def splits(world: World, root: WorldProvider, name: str, amount: int) -> list[Pieces]:
    """Minimal sets of providers, filled one after the other, in every order.

    Sets of two or more are from the tree itself; a single provider may also be a sharing one.
    """
    found: list[Pieces] = [((one, amount),) for one in available(world, root)]
    sufficient = [{one.uuid} for one in available(world, root) if fits(one, {name: amount})]
    for count in range(2, PIECES_MAX + 1):
        for some in itertools.combinations(world.tree(root.uuid), count):
            valid = [
                pieces
                for pieces in itertools.product(range(1, amount + 1), repeat=count)
                if sum(pieces) == amount
                and all(fits(one, {name: n}) for one, n in zip(some, pieces, strict=True))
            ]
            members = {one.uuid for one in some}
            if not valid or any(smaller < members for smaller in sufficient):
                continue
            sufficient.append(members)
            for order in itertools.permutations(range(count)):
                greediest = max(valid, key=lambda pieces: [pieces[place] for place in order])
                pieces = tuple(zip(some, greediest, strict=True))
                if pieces not in found:
                    found.append(pieces)
    return found


def all_pieces(world: World, root: WorldProvider, name: str, amount: int) -> list[Pieces]:
    """The amount in pieces of any size that fit, from any providers of the tree."""
    found: list[Pieces] = [((one, amount),) for one in available(world, root)]
    for count in range(2, PIECES_MAX + 1):
        for some in itertools.combinations(world.tree(root.uuid), count):
            fitting = [[n for n in range(1, amount) if fits(one, {name: n})] for one in some]
            found += [
                tuple(zip(some, pieces, strict=True))
                for pieces in itertools.product(*fitting)
                if sum(pieces) == amount
            ]
    return found


def available(world: World, root: WorldProvider) -> list[WorldProvider]:
    """The tree, and sharing providers in any of its aggregates."""
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


# ---------------------------------------------------------------------------------------------
# The rules, each with what the documentation of Placement or of roost says about it.


def each_group_fits(assignment: Assignment) -> bool:
    """Each amount respects what is free, min_unit, max_unit and step_size."""
    return all(fits(take.provider, take.resources) for take in assignment.takes)


def all_groups_fit(assignment: Assignment) -> bool:
    """Groups on one provider share its capacity, and max_unit bounds their sum."""
    for (uuid, name), amount in sums(assignment).items():
        one = assignment.world.providers[uuid]
        inventory = one.inventories.get(name)
        if inventory is None:
            return False
        if one.used[name] + amount > inventory.capacity or amount > inventory.max_unit:
            return False
    return True


def unsuffixed_required_traits(assignment: Assignment) -> bool:
    """One of the providers that serve the group has the trait."""
    present = frozenset().union(*(take.provider.traits for take in assignment.unsuffixed))
    return all(
        present & wanted for take in assignment.unsuffixed for wanted in take.group.traits.required
    )


def unsuffixed_forbidden_traits(assignment: Assignment) -> bool:
    """None of the providers that serve the group has the trait."""
    return not any(
        take.provider.traits & take.group.traits.forbidden for take in assignment.unsuffixed
    )


def unsuffixed_aggregates(assignment: Assignment) -> bool:
    """An aggregate on a root spans its whole tree."""
    return all(
        member_of(
            take.provider.aggregates | assignment.world.root(take.provider).aggregates,
            take.group.aggregates,
        )
        for take in assignment.unsuffixed
    )


def suffixed_traits(assignment: Assignment) -> bool:
    """The one provider of a suffixed group has the traits."""
    return all(has_traits(take.provider, take.group.traits) for take in assignment.suffixed)


def suffixed_aggregates(assignment: Assignment) -> bool:
    """An aggregate on a root spans nothing here."""
    return all(
        member_of(take.provider.aggregates, take.group.aggregates) for take in assignment.suffixed
    )


def in_tree(assignment: Assignment) -> bool:
    """A group may be bound to a tree, named by any of its providers."""
    return all(
        is_in_tree(assignment.world, take.provider, take.group.in_tree) for take in assignment.takes
    )


def bound_tree_serves(assignment: Assignment) -> bool:
    """A tree that the unsuffixed group is bound to serves the other groups too (api.md)."""
    return all(
        take.provider.root_uuid == assignment.root.uuid
        for take in assignment.unsuffixed
        if take.group.in_tree is not None or take.group.in_subtree is not None
    )


def isolated(assignment: Assignment) -> bool:
    """With isolate, suffixed groups take from different providers."""
    chosen = {(take.group.suffix, take.provider.uuid) for take in assignment.suffixed}
    return not assignment.query.isolate or len({uuid for _, uuid in chosen}) == len(chosen)


def isolate(assignment: Assignment) -> bool:
    """No provider serves two of the groups that one `isolate` names (decision 0014)."""
    for suffixes in assignment.query.isolated:
        serving = {
            (take.group.suffix, take.provider.uuid)
            for take in assignment.suffixed
            if take.group.suffix in suffixes
        }
        if len({uuid for _, uuid in serving}) < len(serving):
            return False
    return True


def elsewhere(assignment: Assignment) -> bool:
    """A group is not served from at or below the highest provider of others (decision 0014)."""
    for rule in assignment.query.elsewhere:
        inside = providers_of(assignment, rule.inside)
        tops = [one for one in inside if is_above_all(assignment.world, one, inside)]
        for one in providers_of(assignment, rule.outside):
            if any(is_above_all(assignment.world, top, [one]) for top in tops):
                return False
    return True


def in_subtree(assignment: Assignment) -> bool:
    """A group may be bound to a provider and all below it (beyond.md)."""
    return all(
        is_in_subtree(assignment.world, take.provider, take.group.in_subtree)
        for take in assignment.takes
    )


def root_member_of(assignment: Assignment) -> bool:
    """The root of the tree is in the aggregates, even if it serves nothing."""
    return member_of(assignment.root.aggregates, assignment.query.root_aggregates)


def same_subtree(assignment: Assignment) -> bool:
    """One of the providers is, or is above, each of the others."""
    return all(
        share_subtree(assignment.world, providers_of(assignment, suffixes))
        for suffixes in assignment.query.same_subtree
    )


def root_required(assignment: Assignment) -> bool:
    """The root of the tree has the traits, even if it serves nothing."""
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
    bound_tree_serves,
    isolated,
    same_subtree,
    root_required,
    nested_aware,
    # Beyond 1.39.
    isolate,
    elsewhere,
    in_subtree,
    root_member_of,
)


# ---------------------------------------------------------------------------------------------
# The order of candidates


def in_turns(world: World, query: CandidateQuery, roots: Iterable[str]) -> bool:
    """Whether candidates of these trees are in order: trees take turns, by rank in each turn."""
    turns: dict[str, int] = defaultdict(int)
    places = []
    for root in roots:
        places.append((turns[root], rank(world, query, root), root))
        turns[root] += 1
    return places == sorted(places)


def rank(world: World, query: CandidateQuery, root: str) -> float:
    """With `pack` the trees with the least free come first, with `spread` last (beyond.md)."""
    shares = []
    for name in {name for group in query.groups for name in group.resources}:
        some = [one for one in world.tree(root) if name in one.inventories]
        capacity = [max(0, one.inventories[name].capacity) for one in some]
        free = [max(0, total - one.used[name]) for total, one in zip(capacity, some, strict=True)]
        if sum(capacity):
            shares.append(sum(free) / sum(capacity))
    assert query.order is not None
    sign = {OrderBy.PACK: 1, OrderBy.SPREAD: -1, OrderBy.ROOT: 0}[query.order.by]
    return sign * min(shares, default=0.0)


# ---------------------------------------------------------------------------------------------
# Conditions on one provider, which lists of providers use too


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


def is_in_tree(world: World, one: WorldProvider, wanted: str | None) -> bool:
    if wanted is None:
        return True
    return wanted in world.providers and world.providers[wanted].root_uuid == one.root_uuid


def is_in_subtree(world: World, one: WorldProvider, top: str | None) -> bool:
    return top is None or top in {above.uuid for above in world.ancestors_and_self(one)}


def share_subtree(world: World, some: list[WorldProvider]) -> bool:
    return any(is_above_all(world, top, some) for top in some)


def is_above_all(world: World, top: WorldProvider, some: Iterable[WorldProvider]) -> bool:
    """Whether a provider is, or is above, each of the others."""
    return all(
        any(above.uuid == top.uuid for above in world.ancestors_and_self(one)) for one in some
    )


def providers_of(assignment: Assignment, suffixes: frozenset[str]) -> list[WorldProvider]:
    return [take.provider for take in assignment.suffixed if take.group.suffix in suffixes]


def providers(world: World, query: ProviderQuery) -> set[str]:
    """The UUIDs of the providers to list: each rule applies to the provider itself."""
    return {
        one.uuid
        for one in world.providers.values()
        if query.uuid in (None, one.uuid)
        and query.name in (None, one.name)
        and is_in_tree(world, one, query.in_tree)
        and fits(one, query.resources)
        and has_traits(one, query.traits)
        and member_of(one.aggregates, query.aggregates)
    }


# ---------------------------------------------------------------------------------------------
# Answers of the search and of the API in the same form


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
