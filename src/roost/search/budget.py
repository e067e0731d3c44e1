"""How much one search may do. Its innermost loops ask, so that no question can stop the service.

The budget counts work: rows that are examined, ways that are tried, and steps of loops in Python.
Every few thousand units it asks the caller, who knows the clock, whether the search may go on.
"""

from collections.abc import Callable
from contextlib import suppress

# About a millisecond of work lies between two questions to the caller.
UNITS_PER_QUESTION = 8192
# What costs how much, in units: a way in a matrix costs one, and a step of a loop in Python more.
ROWS_PER_UNIT = 4
COLUMNS_PER_UNIT = 8
UNITS_PER_STEP = 64


class GaveUp(Exception):
    """The budget is used up. What was found so far is right, but there may be more."""


class Budget:
    """What a search may still do, and how much it did; tests assert on the latter."""

    def __init__(
        self, may_go_on: Callable[[], bool] = lambda: True, *, units_max: float = float("inf")
    ) -> None:
        self.rows_examined = 0
        self.choices_tried = 0
        self.trees_sorted = 0
        self.steps = 0
        self.gave_up = False
        self._may_go_on = may_go_on
        self._units_left = units_max
        self._units_until_question = UNITS_PER_QUESTION

    def examine_rows(self, count: int) -> None:
        """Account for rows that masks are computed for."""
        self.rows_examined += count
        self._spend(count // ROWS_PER_UNIT)

    def pass_over_rows(self, count: int) -> None:
        """Account for another pass over rows that were examined before, as for another group."""
        self._spend(count // ROWS_PER_UNIT)

    def compare_sets(self, count: int) -> None:
        """Account for sets of traits or aggregates that a rule is evaluated for."""
        self._spend(count)

    def sort_trees(self, count: int) -> None:
        """Account for trees whose place in an order is found."""
        self.trees_sorted += count
        self._spend(count // ROWS_PER_UNIT)

    def try_choices(self, count: int, width: int = 1) -> None:
        """Account for ways, or partial ways, that are checked as lines of a matrix.

        The wider it is, the more there is to copy and to compare in each.
        """
        self.choices_tried += count
        self._spend(count * max(1, width // COLUMNS_PER_UNIT))

    def step(self, count: int = 1) -> None:
        """Account for steps of a loop in Python."""
        self.steps += count
        self._spend(count * UNITS_PER_STEP)

    def finish(self, count: int = 1) -> None:
        """Account for steps that are not given up, because there is an end to them.

        The caller is asked all the same, and may let others go first.
        """
        with suppress(GaveUp):
            self.step(count)

    def _spend(self, units: int) -> None:
        """Raises `GaveUp` when nothing is left, and from then on each time."""
        self._units_left -= units
        self._units_until_question -= units
        if self._units_until_question <= 0:
            self._units_until_question = UNITS_PER_QUESTION
            if not self._may_go_on():
                self._units_left = -1
        if self._units_left < 0:
            self.gave_up = True
            raise GaveUp

    @property
    def is_left(self) -> bool:
        """Whether the search may go on; asks the caller."""
        if self._units_left >= 0 and not self._may_go_on():
            self._units_left = -1
        self.gave_up |= self._units_left < 0
        return self._units_left >= 0
