"""A small cloud in which each kind of hard search has a tree of its own.

Each tree has its own resource class, so no search looks at two trees by accident. An ordinary host
stands beside them, for a client that wants nothing special.
"""

import random
from collections.abc import Iterator, Mapping, Sequence

from tests.support.world import ProviderPlan, World, build, provider

HOST = "ordinary host"
HOST_VCPUS = 1000

DEVICES = 8
DEVICE_CLASS = "CUSTOM_DEVICE"

BINS = 10
BIN_SIZE = 20
BIN_CLASS = "CUSTOM_BIN"

SPLIT_CLASS = "CUSTOM_CORE"
SPLIT_SIZES = [7 + number % 5 for number in range(40)]

# Three groups fill a device exactly, in theory: 24 amounts of six digits, each between a quarter
# and a half of a device, whose sum is the free capacity of all devices. Whether they can be packed
# is an instance of 3-partition, which is hard whatever a search does; and with amounts as random as
# these, no packing exists.
PUZZLE_CLASS = "CUSTOM_PUZZLE"
PUZZLE_DEVICES = 8
PUZZLE_SIZE = 1_000_000

# The same, with a second tree that has one large device, so that there is one candidate.
MIXED_CLASS = "CUSTOM_MIXED"
MIXED_ROOT = "mixed large"


def puzzle_amounts() -> list[int]:
    """What the groups of the puzzle ask for."""
    rng = random.Random("puzzle")
    count = 3 * PUZZLE_DEVICES
    while True:
        amounts = [
            rng.randint(PUZZLE_SIZE // 4 + 1, PUZZLE_SIZE // 2 - 1) for _ in range(count - 1)
        ]
        last = PUZZLE_SIZE * PUZZLE_DEVICES - sum(amounts)
        if PUZZLE_SIZE // 4 < last < PUZZLE_SIZE // 2:
            return [*amounts, last]


def hostile_cloud() -> World:
    mixed = PUZZLE_SIZE * PUZZLE_DEVICES
    plans = [
        provider(HOST, {"VCPU": HOST_VCPUS, "MEMORY_MB": 1_000_000}),
        *device_tree(),
        *_tree("bins", BIN_CLASS, [BIN_SIZE] * BINS),
        *_tree("cores", SPLIT_CLASS, SPLIT_SIZES),
        *puzzle_tree(),
        provider(MIXED_ROOT, {MIXED_CLASS: mixed}),
        *_tree("mixed small", MIXED_CLASS, [PUZZLE_SIZE] * PUZZLE_DEVICES),
    ]
    return build(*plans)


def device_tree() -> Iterator[ProviderPlan]:
    """A tree in which many groups have very many candidates."""
    return _tree("devices", DEVICE_CLASS, [1000] * DEVICES)


def puzzle_tree() -> Iterator[ProviderPlan]:
    return _tree("puzzle", PUZZLE_CLASS, [PUZZLE_SIZE] * PUZZLE_DEVICES)


def _tree(name: str, resource_class: str, totals: Sequence[int]) -> Iterator[ProviderPlan]:
    yield provider(name)
    for number, total in enumerate(totals):
        inventories: Mapping[str, int] = {resource_class: total}
        yield provider(f"{name} {number}", inventories, parent=name)
