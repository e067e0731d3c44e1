"""Orders of trees that searches asked for, brought up to date instead of made again.

The index notes which trees change. A search that needs an order takes the one that a search before
it left here, and moves the trees that changed between its own snapshot and that of the other. That
works in both directions, so an old snapshot is no obstacle.
"""

from array import array
from collections import OrderedDict
from collections.abc import Hashable, Iterable

from roost.search.index.sorted_trees import SortedTrees

# How many orders are kept; each has about 40 bytes for a tree. The one used least recently goes.
ORDERS_MAX = 8
# How many changes are remembered at least. A search that is further away makes its order again.
CHANGES_MIN = 16384


class TreeOrders:
    """What all snapshots of an index have in common, as long as trees keep their rows.

    One thread at a time notes changes; any number of threads read, and keep what they made.
    """

    def __init__(self) -> None:
        # The number of the first change that is remembered; then the root of each: row and UUID.
        # In one tuple, because readers look at all three.
        self._changes: tuple[int, array[int], list[str]] = (0, array("i"), [])
        # Threads that read change it at the same time, and each of its methods is atomic.
        self._kept: OrderedDict[Hashable, tuple[int, SortedTrees]] = OrderedDict()

    def note(self, rows: Iterable[int], uuids: Iterable[str]) -> None:
        """Note that trees came, changed or are about to go, by their roots."""
        first, all_rows, all_uuids = self._changes
        all_rows.extend(rows)
        all_uuids.extend(uuids)
        if len(all_rows) > 2 * CHANGES_MIN:
            forgotten = len(all_rows) - CHANGES_MIN
            self._changes = first + forgotten, all_rows[forgotten:], all_uuids[forgotten:]

    def changed_between(self, one: int, other: int) -> dict[int, str] | None:
        """The roots of trees that changed between two versions; None: nobody remembers."""
        first, rows, uuids = self._changes
        begin, end = min(one, other) - first, max(one, other) - first
        if begin < 0:
            return None
        return dict(zip(rows[begin:end], uuids[begin:end], strict=True))

    def find(self, key: Hashable) -> tuple[int, SortedTrees] | None:
        """An order with the version of the index that it was made for."""
        found = self._kept.get(key)
        if found is not None:
            self._touch(key)
        return found

    def keep(self, key: Hashable, version: int, trees: SortedTrees) -> None:
        """Keep an order for later searches, unless they have a newer one."""
        kept = self._kept.get(key)
        if kept is None or kept[0] < version:
            # Another thread may do the same meanwhile. Then the last one stays; each is right.
            self._kept[key] = version, trees
            self._touch(key)

    def _touch(self, key: Hashable) -> None:
        try:
            self._kept.move_to_end(key)
            if len(self._kept) > ORDERS_MAX:
                self._kept.popitem(last=False)
        except KeyError:
            # Another thread has just removed it, or the last one.
            pass
