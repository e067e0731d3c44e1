"""The order of candidates."""

from collections import defaultdict
from collections.abc import Iterable

from roost.query import CandidateQuery, OrderBy
from tests.support.world import World


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
