"""A packing in numbers: what the searches find, and how good it is."""

from typing import NamedTuple

from roost.agent.reshape.packing.problem import Problem

# Slots, one for each class of a component -> how many consumers go there.
Runs = dict[tuple[int, ...], int]
# Class -> slot -> amount.
Pieces = dict[int, dict[int, int]]


class Score(NamedTuple):
    """How good a packing is; lower is better, the first field decides."""

    torn: int  # consumers
    split: int  # amounts of one class on several providers
    moved: int  # amounts that leave providers where they could be


class Solution(NamedTuple):
    """Where the consumers of each flavour go. The torn ones are the last of their flavour."""

    runs: list[list[Runs]]  # by flavour and component
    remainder: list[list[Pieces]]  # by flavour, for each of its torn consumers

    def score(self, problem: Problem) -> Score:
        """Count what is torn, split and moved."""
        split = moved = 0
        for number, flavour in enumerate(problem.flavours):
            if flavour.kept:
                moved += len(flavour.consumers) * sum(flavour.kept.values())
                moved -= sum(
                    count * flavour.kept.get(slot, 0)
                    for runs in self.runs[number]
                    for slots, count in runs.items()
                    for slot in slots
                )
            for pieces in self.remainder[number]:
                for parts in pieces.values():
                    split += len(parts) > 1
                    moved -= sum(min(n, flavour.kept.get(slot, 0)) for slot, n in parts.items())
        return Score(sum(map(len, self.remainder)), split, moved)
