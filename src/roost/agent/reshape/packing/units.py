"""In which pieces a provider takes a class."""

from collections.abc import Iterable
from typing import NamedTuple

from roost.agent.reshape.packing.problem import Flavour, Problem


class Units(NamedTuple):
    """The pieces that a slot takes: `smallest`, and then in steps up to `most`."""

    smallest: int
    step: int
    most: int  # less than smallest: it takes none

    @classmethod
    def of(cls, problem: Problem, flavour: Flavour, slot: int, number: int) -> "Units":
        """The pieces that a slot takes from a consumer, beside what is fixed there."""
        inventory = problem.inventories[slot]
        held = problem.held(flavour, slot, number)
        step = inventory.step_size
        # The service judges the sum of both.
        least = max(inventory.min_unit, held + 1)
        smallest = -(-least // step) * step - held
        most = min(problem.free[slot], inventory.max_unit - held)
        return cls(smallest, step, most - (most - smallest) % step)

    def largest(self, amount: int) -> int:
        """The largest piece of at most an amount; 0 if none is small enough."""
        amount = min(amount, self.most)
        return amount - (amount - self.smallest) % self.step if amount >= self.smallest else 0


def common_step(units: Iterable[Units], amount: int) -> int | None:
    """The step if any sum of pieces can be cut at will; None if it has to be tried.

    Slots that all take multiples of one step are interchangeable: what several consumers put there
    together can be cut into the pieces of each.
    """
    usable = [each for each in units if each.most >= each.smallest]
    steps = {each.step for each in usable}
    if len(steps) != 1 or any(each.smallest != each.step for each in usable):
        return None
    [step] = steps
    return step if amount % step == 0 else None
