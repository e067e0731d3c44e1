"""Queries that are hard for a search, as query strings for the cloud of `cloud.py`."""

import itertools
from collections.abc import Iterable, Sequence

from tests.support.hostile.cloud import (
    BIN_CLASS,
    COLOUR_TRAITS,
    DEVICE_CLASS,
    DEVICES,
    MIXED_CLASS,
    PACKING_CLASS,
    PUZZLE_CLASS,
    SPLIT_CLASS,
    mycielski_graph,
    packing_amounts,
)


def groups(resource_class: str, amounts: Iterable[int]) -> list[str]:
    """A group _0, _1, ... for each amount."""
    return [f"resources_{n}={resource_class}:{amount}" for n, amount in enumerate(amounts)]


def suffixes(count: int) -> Sequence[str]:
    return [f"_{number}" for number in range(count)]


def query(*parts: str | Iterable[str]) -> str:
    flat = ([part] if isinstance(part, str) else part for part in parts)
    return "&".join(itertools.chain.from_iterable(flat))


def isolated_pairs(count: int = DEVICES + 1) -> str:
    """Each two groups apart: one group too many for the devices."""
    pairs = itertools.combinations(suffixes(count), 2)
    rules = [f"isolate={one},{other}" for one, other in pairs]
    return query(groups(DEVICE_CLASS, [1] * count), rules)


def subtree_pairs(count: int = DEVICES + 1) -> str:
    """No group below the device of another: one group too many for the devices."""
    pairs = itertools.combinations(suffixes(count), 2)
    rules = [f"same_subtree={one},!{other}" for one, other in pairs]
    return query(groups(DEVICE_CLASS, [1] * count), rules, "group_policy=none")


def equal_groups() -> str:
    """21 groups of 7 and 5 of 1, where a device of 20 has room for two groups of 7."""
    return query(groups(BIN_CLASS, [7] * 21 + [1] * 5), "group_policy=none")


def large_groups() -> str:
    """11 groups of 11, where each of the 10 devices has room for one."""
    return query(groups(BIN_CLASS, [11] * 11), "group_policy=none")


def too_much_in_total() -> str:
    """Groups of different sizes that together ask for more than all devices have."""
    amounts = [5, 6, 7, 8, 9] * 5 + [10, 11, 12]
    assert sum(amounts) > 200
    return query(groups(BIN_CLASS, amounts), "group_policy=none")


def exact_packing() -> str:
    """Groups that would fill all devices to the last unit: see `cloud.py`."""
    return query(groups(PACKING_CLASS, packing_amounts()), "group_policy=none")


def puzzle() -> str:
    """A search that no insight ends early: see `cloud.py`."""
    return query(groups(PUZZLE_CLASS, [1] * len(mycielski_graph().colours)), _apart())


def puzzle_with_one_candidate() -> str:
    colours = mycielski_graph().colours
    required = [f"required_{n}={COLOUR_TRAITS[colour]}" for n, colour in enumerate(colours)]
    return query(groups(MIXED_CLASS, [1] * len(colours)), required, _apart())


def _apart() -> list[str]:
    return [f"isolate=_{one},_{other}" for one, other in mycielski_graph().edges]


def combinations(count: int) -> str:
    """Each group on any device: 8 ** count candidates."""
    return query(groups(DEVICE_CLASS, [1] * count), "group_policy=none")


def split_groups() -> str:
    """3 groups of 30, each from up to four of 40 devices of 7 to 11."""
    splits = [f"can_split{suffix}={SPLIT_CLASS}" for suffix in suffixes(3)]
    return query(groups(SPLIT_CLASS, [30] * 3), splits, "group_policy=none")


def many_groups(characters: int) -> str:
    """A query string of that length, made of groups."""
    count = characters // len("resources_10000=VCPU:1&")
    return query(groups("VCPU", [1] * count), "group_policy=none")
