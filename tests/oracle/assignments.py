"""Every assignment that could be a candidate: each part of a request from each provider."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from roost.query import CandidateQuery, RequestGroup
from tests.oracle.conditions import fits, has_traits, is_in_subtree, is_in_tree, member_of
from tests.support.world import World, WorldProvider


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
    serving: Mapping[str, frozenset[str]] | None = None,
) -> Iterator[Assignment]:
    """Each class of the unsuffixed group, and each suffixed group, from one provider each.

    Each class that may be split (beyond.md) is served separately, in pieces. With `serving`, only
    those in which each group, by its suffix, is served by no others than these providers.
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
    if serving is not None:
        options = [
            [takes for takes in some if all(is_served(take, serving) for take in takes)]
            for some in options
        ]
    for choice in itertools.product(*options):
        takes = itertools.chain.from_iterable(choice)
        yield Assignment(world, query, root, tuple(takes))


def is_served(take: Take, serving: Mapping[str, frozenset[str]]) -> bool:
    return take.provider.uuid in serving.get(take.group.suffix, frozenset())


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
