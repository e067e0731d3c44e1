"""Which providers can fill each slot, for several trees at once."""

from collections.abc import Sequence

import numpy as np

from roost.search.index.columns import Integers

# More ways than this are not told apart: the product must not become infinite.
WAYS_MAX = 1e300


class Options:
    """For several trees: which rows can fill each slot, as ragged lists in flat arrays."""

    def __init__(
        self,
        roots: Integers,
        flat: list[Integers],
        start: list[Integers],
        count: list[Integers],
        same_as: Sequence[int] | None = None,
    ) -> None:
        self.roots = roots  # of each tree
        self.flat = flat  # for each slot: rows
        self.start = start  # for each slot: where in `flat` the rows of each tree begin
        self.count = count  # for each slot: how many each tree has
        # For each slot: the first one with the same options in every tree.
        self.same_as = range(len(flat)) if same_as is None else same_as
        # Counted in floating point: more ways than an integer can hold must not wrap around.
        self.ways = np.ones(len(roots))
        for counts in count:
            self.ways = np.minimum(self.ways * counts, WAYS_MAX)

    def of_tree(self, tree: int) -> list[Integers]:
        return [
            flat[start[tree] : start[tree] + count[tree]]
            for flat, start, count in zip(self.flat, self.start, self.count, strict=True)
        ]

    def way(self, trees: Integers, numbers: Integers) -> list[Integers]:
        """Way `numbers[i]` of tree `trees[i]`, counting like an odometer, as columns."""
        columns = []
        for flat, start, count in zip(self.flat, self.start, self.count, strict=True):
            size = count[trees]
            numbers, digits = np.divmod(numbers, size)
            columns.append(flat[start[trees] + digits])
        return columns
