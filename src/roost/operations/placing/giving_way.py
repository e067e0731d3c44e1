"""How processes that claim in the same order give way to each other after a lost race.

Each would choose the very first candidate, which only one of them gets.
"""

from collections.abc import Callable
from random import Random

import numpy as np

from roost.model import Candidate
from roost.operations.known_names import check_query
from roost.query import CandidateQuery
from roost.search.budget import Budget
from roost.search.find import find_in_tree
from roost.search.index.columns import Integers
from roost.service.service import Roost

# Where a choice goes to the end of the order (`spread`): among how many of the first trees a
# process chooses, and among which part of all.
TREES_MAX = 1024
TREES_PART = 1 / 16
# Where it stays at the front (`pack`): each process prefers one of so many shares of so many
# candidates.
CANDIDATES = 64
SHARES = 16
# Consecutive numbers, and those at equal distances, are in different shares.
HASH_FACTOR, HASH_DIVISOR = 0x9E3779B1, 1 << 16


def skip(random: Random) -> Callable[[int], int]:
    """How many of so many trees are passed over.

    Those that one process prefers for long would be used up, and the others be left at the front.
    """
    return lambda count: random.randrange(1 + min(TREES_MAX, int(count * TREES_PART)))


def same_again(roost: Roost, query: CandidateQuery, budget: Budget) -> Candidate | None:
    """A candidate on the host that this process chose last, if that has room.

    What is chosen stays at the front. So it is still the one that the process prefers, but for
    hosts that came there since then; and nobody has to look for it behind those that are full.
    """
    host_uuid = roost.contention.last_choices.find(query, roost.contention.preference)
    if host_uuid is None:
        return None
    index = roost.current_index()
    root = index.row_of_uuid.get(host_uuid)
    if root is None or index.rows.root[root] != root:
        return None
    check_query(index, query)
    answer = find_in_tree(index, query, root, budget)
    return next(iter(answer.candidates_of(np.array([0])))) if answer.count else None


def preferred(hosts: Integers, preference: int) -> int:
    """The first candidate of the share that a process prefers; the same one while it fits.

    `hosts` has a number for the host of each candidate, the same one in every process.
    """
    shares = hosts * HASH_FACTOR // HASH_DIVISOR - preference
    return int((shares % SHARES).argmin())
