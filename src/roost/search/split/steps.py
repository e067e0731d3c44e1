"""How much of one part of a search is tried before it is given up."""

from roost.search.budget import Budget


class OutOfSteps(Exception):
    """A part of a search is given up, so that the others get their chance."""


class StepCount:
    """Counts the steps of one part of a search. The budget bounds the search as a whole."""

    def __init__(self, budget: Budget, steps_max: int) -> None:
        self._budget = budget
        self._steps_left = steps_max

    def add(self) -> None:
        """Account for one more step."""
        self._budget.step()
        self._steps_left -= 1
        if self._steps_left < 0:
            raise OutOfSteps
