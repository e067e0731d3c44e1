"""Consumers that cannot be kept whole: each class on one provider if possible, else in pieces."""

from collections.abc import Sequence

from roost.agent.reshape.packing.problem import Flavour, Problem
from roost.agent.reshape.packing.solution import Pieces
from roost.agent.reshape.packing.units import Units


class NoPlace(Exception):
    """An amount that found no place. That does not prove that there is none."""

    def __init__(self, number: int, consumer: str, amount: int) -> None:
        super().__init__(number, consumer, amount)
        self.number = number
        self.consumer = consumer
        self.amount = amount


def place_remainder(problem: Problem, counts: Sequence[int], free: list[int]) -> list[list[Pieces]]:
    """Place so many consumers of each flavour, and take what they need from `free`.

    Raises NoPlace. Whatever fits on one provider is placed before anything is split: pieces are
    small, and find room in what is left.
    """
    found: list[list[Pieces]] = [[{} for _ in range(count)] for count in counts]
    split = []
    for flavour, remaining in zip(problem.flavours, found, strict=True):
        first = len(flavour.consumers) - len(remaining)
        for at, pieces in enumerate(remaining, first):
            for number, amount in flavour.amounts:
                slot = _single(problem, flavour, number, amount, pieces, free)
                if slot is None:
                    split.append((flavour, flavour.consumers[at], number, amount, pieces))
                else:
                    free[slot] -= amount
                    pieces[number] = {slot: amount}
    for flavour, consumer, number, amount, pieces in split:
        parts = _split(problem, flavour, number, amount, pieces, free)
        if parts is None:
            raise NoPlace(number, consumer, amount)
        for slot, part in parts.items():
            free[slot] -= part
        pieces[number] = parts
    return found


def _ranked(
    problem: Problem, flavour: Flavour, number: int, pieces: Pieces, free: list[int]
) -> list[int]:
    """Slots of a class: those that a consumer is in or near come first, then the emptiest."""
    near = {problem.branch[slot] for parts in pieces.values() for slot in parts}
    near |= {
        problem.branches.get(provider) for held in flavour.fixed.values() for provider, _ in held
    }
    return sorted(
        problem.slots_of_class[number],
        key=lambda slot: (
            -problem.held(flavour, slot, number),
            -flavour.kept.get(slot, 0),
            problem.branch[slot] not in near,
            -free[slot],
        ),
    )


def _single(
    problem: Problem, flavour: Flavour, number: int, amount: int, pieces: Pieces, free: list[int]
) -> int | None:
    # Most of those who are torn fit nowhere, and need no ranking to see it.
    if not any(amount <= free[slot] for slot in problem.slots_of_class[number]):
        return None
    for slot in _ranked(problem, flavour, number, pieces, free):
        if amount <= free[slot] and problem.takes(flavour, slot, number, amount):
            return slot
    return None


def _split(
    problem: Problem, flavour: Flavour, number: int, amount: int, pieces: Pieces, free: list[int]
) -> dict[int, int] | None:
    parts: dict[int, int] = {}
    for slot in _ranked(problem, flavour, number, pieces, free):
        units = Units.of(problem, flavour, slot, number)
        part = units.largest(min(amount, free[slot]))
        if part:
            parts[slot] = part
            amount -= part
        if not amount:
            return parts
    return None
