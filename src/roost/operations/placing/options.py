"""What a placement chooses from, as arrays: what each candidate takes, and how much is free."""

from typing import NamedTuple

import numpy as np

from roost.search.answer import Answer, Taken
from roost.search.budget import Budget, GaveUp
from roost.search.index.columns import Integers
from roost.search.index.index import Index

# How many options are considered when the budget is used up.
OPTIONS_AT_LAST = 64


class Options(NamedTuple):
    """The options of a placement, in order, each with a line in `takes` and `amounts`.

    What is taken has numbers: one for each inventory of which some option takes something.
    """

    takes: Integers  # numbers of inventories
    amounts: Integers  # how much of each; 0: nothing
    hosts: Integers  # the root of each option's tree; -1: it is on no host of its own
    free: Integers  # by number of the inventory
    classes: Integers  # by number of the inventory

    @property
    def option_count(self) -> int:
        return len(self.hosts)

    def first(self, count: int) -> "Options":
        return self._replace(
            takes=self.takes[:count], amounts=self.amounts[:count], hosts=self.hosts[:count]
        )

    def in_order(self, numbers: Integers) -> "Options":
        return self._replace(
            takes=self.takes[numbers], amounts=self.amounts[numbers], hosts=self.hosts[numbers]
        )


def options_of(index: Index, answer: Answer, budget: Budget) -> Options:
    """The candidates of an answer; those that do not fit into the budget are cut off from it."""
    try:
        taken = answer.taken(budget)
    except GaveUp:
        answer.cut(min(answer.count, OPTIONS_AT_LAST))
        answer.gave_up = True
        taken = answer.taken(Budget())
    return _numbered(index, taken, answer.hosts())


def _numbered(index: Index, taken: Taken, hosts: Integers) -> Options:
    # A class and a row as one number, which is quicker to compare than two.
    keys, takes = np.unique(taken.classes.astype(np.int64) << 32 | taken.rows, return_inverse=True)
    classes, rows = keys >> 32, (keys & 0xFFFFFFFF).astype(np.int32)
    free = np.zeros(len(keys), dtype=np.int64)
    for class_id in np.unique(classes).tolist():
        column = index.columns.get(class_id)
        some = slice(*np.searchsorted(classes, [class_id, class_id + 1]).tolist())
        if column is not None and column.count:
            positions = column.row[: column.count].searchsorted(rows[some])
            # Lines that are shorter than others name row 0, of which they take nothing.
            positions = np.minimum(positions, column.count - 1)
            free[some] = column.capacity[positions] - column.used[positions]
    return Options(takes.reshape(taken.rows.shape), taken.amounts, hosts, free, classes)
