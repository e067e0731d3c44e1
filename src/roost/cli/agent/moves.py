"""What consumers hold elsewhere after an update, for `roost agent` to show."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from roost.agent.driver import Allocations
from roost.agent.tracker import Plan

# The UUID of a provider, and a resource class of it.
Place = tuple[str, str]


class Move(NamedTuple):
    """Something that a consumer holds of another provider, or of another class, afterwards."""

    consumer: str
    resource_class: str
    amount: int
    sources: list[tuple[str, str]]  # names of providers and classes: what it gives back instead
    target: str  # the name of the provider
    is_known: bool  # somebody said that it is there; otherwise the agent has chosen

    @property
    def origin(self) -> str:
        """Where it was, in words."""
        return ", ".join(
            provider if name == self.resource_class else f"{provider} {name}"
            for provider, name in self.sources
        )


class MoveCount(NamedTuple):
    """All moves of a class from one provider to another."""

    moves: int
    amount: int
    guessed: int

    def plus(self, other: "MoveCount") -> "MoveCount":
        return MoveCount(*(a + b for a, b in zip(self, other, strict=True)))


# Class, origin, target -> how much moves.
MoveCounts = dict[tuple[str, str, str], MoveCount]


def moves(plan: Plan) -> Iterator[Move]:
    """All moves of a plan, by consumer."""
    before, after = plan.held_before or {}, plan.held_after or {}
    for consumer in sorted(before):
        old, new = _amounts(before, consumer), _amounts(after, consumer)
        removed = {place for place, amount in old.items() if amount > new.get(place, 0)}
        added = {place: n - old.get(place, 0) for place, n in new.items() if n > old.get(place, 0)}
        for (uuid, name), amount in sorted(added.items()):
            sources = [(_name(plan, each), kind) for each, kind in _sources(name, removed, added)]
            is_known = (consumer, name) not in plan.settlement.guessed
            yield Move(consumer, name, amount, sources, _name(plan, uuid), is_known)


def count_moves(found: Iterable[Move]) -> MoveCounts:
    """Moves by class and by the two providers."""
    counts: MoveCounts = {}
    for move in found:
        key = (move.resource_class, move.origin, move.target)
        count = MoveCount(1, move.amount, 0 if move.is_known else 1)
        counts[key] = counts.get(key, MoveCount(0, 0, 0)).plus(count)
    return counts


def _sources(resource_class: str, removed: set[Place], added: Iterable[Place]) -> list[Place]:
    """What a consumer gives back for what it gets: of this class, or of one that was renamed."""
    same_class = [place for place in removed if place[1] == resource_class]
    kept = {name for _, name in added}
    renamed = [place for place in removed if place[1] not in kept]
    return sorted(same_class or renamed or removed)


def _amounts(held: Allocations, consumer: str) -> dict[Place, int]:
    if consumer not in held:
        # The driver has taken everything from it.
        return {}
    return {
        (uuid, name): amount
        for uuid, each in held[consumer]["allocations"].items()
        for name, amount in each["resources"].items()
    }


def _name(plan: Plan, uuid: str) -> str:
    trees = (plan.after, plan.before)
    return next((tree.data(uuid).name for tree in trees if tree.exists(uuid)), uuid)
