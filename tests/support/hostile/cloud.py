"""A small cloud in which each kind of hard search has a tree of its own.

Each search has its own resource class, so none looks at the trees of another by accident. An
ordinary host stands beside them, for a client that wants nothing special.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

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

# 24 amounts of six digits fill 8 devices exactly, in theory: each is between a quarter and a half
# of a device, and their sum is what all devices have. With amounts as random as these, no packing
# exists.
PACKING_CLASS = "CUSTOM_PACKING"
PACKING_DEVICES = 8
PACKING_SIZE = 1_000_000

# Whether groups can be served by so many devices, if some pairs of them must be apart, is the
# question whether the vertices of a graph can be coloured. It is hard whatever a search does. The
# graphs of Mycielski have no triangle, so no three groups are all apart, which would be easy to
# see; and yet this one needs seven colours, one more than there are devices.
PUZZLE_CLASS = "CUSTOM_PUZZLE"
PUZZLE_COLOURS = 7
PUZZLE_DEVICES = PUZZLE_COLOURS - 1

# The same beside a tree of seven devices, each with the trait of one colour. With groups that
# require these traits there is one candidate. The six devices of the other tree have all traits.
MIXED_CLASS = "CUSTOM_MIXED"
COLOUR_TRAITS = [f"CUSTOM_COLOUR_{number}" for number in range(PUZZLE_COLOURS)]


class Graph(NamedTuple):
    edges: Sequence[tuple[int, int]]
    colours: Sequence[int]  # of each vertex, such that no edge joins two of one colour


def mycielski_graph(colours: int = PUZZLE_COLOURS) -> Graph:
    """A graph without triangles that needs so many colours."""
    edges = [(0, 1)]
    colouring = [0, 1]
    for new_colour in range(2, colours):
        # Each vertex gets a copy, joined to its neighbours; another vertex is joined to all copies.
        count = len(colouring)
        last = 2 * count
        copies = [pair for a, b in edges for pair in ((a, b + count), (b, a + count))]
        edges += [*copies, *((count + vertex, last) for vertex in range(count))]
        colouring = [*colouring, *colouring, new_colour]
    return Graph(edges, colouring)


def packing_amounts() -> list[int]:
    rng = random.Random("packing")
    low, high = PACKING_SIZE // 4 + 1, PACKING_SIZE // 2 - 1
    while True:
        amounts = [rng.randint(low, high) for _ in range(3 * PACKING_DEVICES - 1)]
        last = PACKING_SIZE * PACKING_DEVICES - sum(amounts)
        if low <= last <= high:
            return [*amounts, last]


def hostile_cloud() -> World:
    return build(
        provider(HOST, {"VCPU": HOST_VCPUS, "MEMORY_MB": 1_000_000}),
        *device_tree(),
        *_tree("bins", BIN_CLASS, [BIN_SIZE] * BINS),
        *_tree("packing", PACKING_CLASS, [PACKING_SIZE] * PACKING_DEVICES),
        *_tree("cores", SPLIT_CLASS, SPLIT_SIZES),
        *puzzle_tree(),
        *_tree("mixed easy", MIXED_CLASS, [1000] * PUZZLE_COLOURS, [[t] for t in COLOUR_TRAITS]),
        *_tree(
            "mixed hard", MIXED_CLASS, [1000] * PUZZLE_DEVICES, [COLOUR_TRAITS] * PUZZLE_DEVICES
        ),
    )


def device_tree() -> Iterator[ProviderPlan]:
    """A tree in which many groups have very many candidates."""
    return _tree("devices", DEVICE_CLASS, [1000] * DEVICES)


def puzzle_tree() -> Iterator[ProviderPlan]:
    return _tree("puzzle", PUZZLE_CLASS, [1000] * PUZZLE_DEVICES)


def _tree(
    name: str,
    resource_class: str,
    totals: Sequence[int],
    traits: Sequence[Sequence[str]] | None = None,
) -> Iterator[ProviderPlan]:
    yield provider(name)
    for number, total in enumerate(totals):
        inventories: Mapping[str, int] = {resource_class: total}
        own = traits[number] if traits else ()
        yield provider(f"{name} {number}", inventories, parent=name, traits=own)
