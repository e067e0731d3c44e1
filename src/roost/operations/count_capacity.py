"""GET /capacity: how many more of this request fit?"""

import time

from roost.model import Value
from roost.operations.known_names import check_query
from roost.query import CandidateQuery
from roost.search.fill import fill
from roost.service import Roost

# The index stands still for as long as it is filled, so others wait.
SECONDS_MAX = 1.0


class TreeCapacity(Value, frozen=True, kw_only=True):
    """How many of the requests that fit take something from one tree."""

    uuid: str  # of the root
    name: str
    count: int


class Capacity(Value, frozen=True, kw_only=True):
    count: int
    trees: tuple[TreeCapacity, ...]  # those that fit most first
    complete: bool  # False: at least so many


def count_capacity(roost: Roost, *, query: CandidateQuery) -> Capacity:
    with roost.view() as index:
        check_query(index, query)
        deadline = time.monotonic() + SECONDS_MAX
        filling = fill(index, query, may_go_on=lambda: time.monotonic() < deadline)
        trees = (
            TreeCapacity(uuid=index.uuids[root], name=index.names[root], count=count)
            for root, count in filling.by_root.items()
        )
        return Capacity(
            count=filling.count,
            trees=tuple(sorted(trees, key=lambda tree: (-tree.count, tree.name))),
            complete=filling.complete,
        )
