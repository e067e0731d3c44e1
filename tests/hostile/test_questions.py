"""A search asks often whether it may go on, whatever it is that takes its time."""

import gc
import time
from collections.abc import Iterator
from random import Random

import pytest

from roost.query import CandidateQuery, Elsewhere, RequestGroup, TraitRule
from roost.search.budget import Budget
from roost.search.explain.explain import explain
from roost.search.find import find
from roost.search.index.index import Index
from tests.support.world import build, provider, rows

VF, SLOTS = "SRIOV_NET_VF", "PCI_DEVICE"
# Far more than the millisecond that is meant, so that a slow machine does not matter, and less than
# the tenth of a second that others may have to wait.
GAP_SECONDS_MAX = 0.08
SECONDS_MAX = 0.5


class Clock:
    """Lets a search go on for a while, and measures its processor time between two questions."""

    def __init__(self) -> None:
        self.begun = self._last = time.thread_time()
        self.gaps: list[float] = []

    def __call__(self) -> bool:
        now = time.thread_time()
        self.gaps.append(now - self._last)
        self._last = now
        return now - self.begun < SECONDS_MAX


def host(device_count: int, shelf_count: int = 0) -> Index:
    random = Random(1)
    plans = [provider("host", {"VCPU": 8})]
    plans += [provider(f"shelf{n}", {SLOTS: 8}, parent="host") for n in range(shelf_count)]
    for number in range(device_count):
        parent = f"shelf{number % shelf_count}" if shelf_count else "host"
        inventory = {VF: random.choice([1, 7, 20, 64]), "FPGA": random.choice([1, 4, 9])}
        traits = [f"CUSTOM_KIND{number % 10}"]
        plans.append(provider(f"device{number}", inventory, traits=traits, parent=parent))
    return Index.build(rows(build(*plans)))


def groups(count: int, kind_count: int = 10) -> tuple[RequestGroup, ...]:
    random = Random(2)
    return tuple(
        RequestGroup(
            suffix=f"_{number}",
            resources={VF: random.choice([1, 5, 7]), "FPGA": random.choice([1, 3])},
            traits=TraitRule(required=(frozenset({f"CUSTOM_KIND{number % kind_count}"}),)),
        )
        for number in range(count)
    )


def some(random: Random, count: int, of: int) -> list[str]:
    return [f"_{number}" for number in random.sample(range(of), count)]


def searches() -> Iterator[tuple[str, Index, CandidateQuery]]:
    random = Random(3)
    # One kind has a device too few.
    uneven = (*groups(101, kind_count=1), *groups(256)[101:])
    yield "isolated", host(1000), CandidateQuery(groups=uneven, isolate=True)
    pairs = tuple(frozenset(some(random, 2, 256)) for _ in range(1000))
    yield "pairs", host(200), CandidateQuery(groups=groups(256), isolated=pairs)
    apart = (some(random, 2, 256) for _ in range(300))
    elsewhere = tuple(Elsewhere(inside=frozenset({a}), outside=frozenset({b})) for a, b in apart)
    yield "elsewhere", host(1000, 40), CandidateQuery(groups=groups(256), elsewhere=elsewhere)
    together = tuple(frozenset(some(random, 10, 100)) for _ in range(50))
    yield "subtrees", host(3000), CandidateQuery(groups=groups(100), same_subtree=together)


@pytest.mark.parametrize(
    ("index", "query"), [pytest.param(index, query, id=name) for name, index, query in searches()]
)
def test_little_work_lies_between_two_questions(index, query):
    # Passes of the garbage collector look at what all tests have left.
    gc.disable()
    try:
        clock = Clock()
        find(index, query, budget=Budget(clock))
        clock()
    finally:
        gc.enable()
    assert max(clock.gaps) < GAP_SECONDS_MAX


def test_an_explanation_asks_while_it_looks_at_providers_that_lack_a_class():
    index, budget = host(3000), Budget()
    query = CandidateQuery(groups=(RequestGroup(resources={"VCPU": 9}),))
    explanation = explain(index, query, budget=budget)
    assert [len(tree.providers) for tree in explanation.nearest] == [1]
    assert budget.steps > 3000
