"""One world on two sides: load it, ask, write, ask again, and collect what differs."""

import contextlib
import dataclasses
import random
from collections.abc import Iterable

from tests.comparison import compare, differences
from tests.comparison.choices import Choices
from tests.comparison.compare import Finding, Situation
from tests.comparison.requests import Names, Request, Search, make_provider_list, make_search
from tests.comparison.sides import Answer, Side
from tests.comparison.state import State, read_state
from tests.comparison.worlds import CLASSES, SHARING, TRAITS, World, make_world
from tests.comparison.writes import make_write

SEARCHES = 30
PROVIDER_LISTS = 6
WRITES = 15


class Parted(Exception):
    """The two clouds are no longer the same, so whatever follows would differ as well."""


class Comparison:
    """Sends each request to both sides. What they tell about the cloud must be the same, so the
    reference's word is taken to make the next request."""

    def __init__(self, seed: int, reference: Side, roost: Side) -> None:
        self._chance = random.Random(seed)
        self._reference = reference
        self._roost = roost
        # For a person to read: everything needed to see a difference again by hand.
        self._sent: list[str] = []
        self._unequal: list[str] = []
        self._state: State | None = None

    def run(self) -> str:
        """In what the two differ, and what had been written before; empty if in nothing."""
        with contextlib.suppress(Parted):
            self._run()
        if not self._unequal:
            return ""
        return "\n".join((*self._unequal, "writes:", *self._sent))

    def _run(self) -> None:
        for side in (self._reference, self._roost):
            side.fresh()
        world = make_world(self._chance)
        for request in world.requests():
            self._write(request)
        self._state = read_state(self._read, world.consumer_uuids)
        self._ask_many(world)
        for _ in range(WRITES):
            assert self._state is not None
            self._write(make_write(Choices(self._chance, world, self._state)))
            self._state = read_state(self._read, world.consumer_uuids, known=self._state)
        self._state = read_state(self._read, world.consumer_uuids)
        self._ask_many(world)

    def _ask_many(self, world: World) -> None:
        everything = self._names(world)
        for _ in range(SEARCHES):
            names = everything
            if self._chance.random() < 0.7:
                names = self._names_of_a_tree(everything)
            self._search(make_search(self._chance, names))
        for _ in range(PROVIDER_LISTS):
            self._judge(self._situation(make_provider_list(self._chance, everything)))

    def _names(self, world: World) -> Names:
        assert self._state is not None
        return Names(
            classes=CLASSES,
            traits=(*TRAITS, SHARING),
            aggregates=world.aggregates,
            providers=(*self._state.providers, world.unused_providers[0]),
            provider_names=tuple(one["name"] for one in self._state.providers.values()),
        )

    def _names_of_a_tree(self, names: Names) -> Names:
        """What one tree and the sharing providers have: a search for that often finds some."""
        state = self._state
        assert state is not None
        if not state.providers:
            return names
        root = state.root(self._chance.choice(sorted(state.providers)))
        tree = sorted(one for one in state.providers if state.root(one) == root)
        around = (*tree, *sorted(state.sharing))
        return dataclasses.replace(
            names,
            classes=tuple(name for one in around for name in state.inventories(one))
            or names.classes,
            traits=(*(name for one in around for name in state.traits(one)), *names.traits[:2]),
            providers=tuple(tree),
        )

    def _write(self, request: Request) -> None:
        self._sent.append(f"  {request}")
        if not self._judge(self._situation(request)):
            raise Parted

    def _read(self, request: Request) -> object:
        """What both sides say, if they say the same."""
        situation = self._situation(request)
        if not self._judge(situation) and not same_body(situation):
            raise Parted
        return situation.reference.body

    def _search(self, search: Search) -> None:
        situation = self._situation(search.request(), search)
        whole = situation.reference
        if search.limit is not None and whole.status == 200:
            whole = ask(self._reference, search.without_limit().request())
        if whole.status != 200:
            self._settle(compare.compare_candidates(situation, [], {}))
            return
        expected = compare.candidates_of(whole)
        if differences.amounts_leak(search):
            expected = self._expected_without_leak(search, expected)
        summaries = whole.body["provider_summaries"]
        self._settle(compare.compare_candidates(situation, expected, summaries))

    def _expected_without_leak(
        self, search: Search, expected: list[compare.Candidate]
    ) -> list[compare.Candidate]:
        """What the reference would say but for a fault of it that can be avoided."""
        answer = ask(self._reference, search.without_isolation().request())
        assert answer.status == 200, answer
        assert self._state is not None
        right = compare.isolated(search, self._state, compare.candidates_of(answer))
        if set(right) != set(expected):
            differences.used[differences.AMOUNTS_LEAK.name] += 1
        return right

    def _judge(self, situation: Situation) -> bool:
        return self._settle(compare.compare(situation))

    def _situation(self, request: Request, search: Search | None = None) -> Situation:
        # The reference is in another process, and can work while roost does.
        self._reference.start(request)
        self._roost.start(request)
        reference, roost = self._reference.finish(), self._roost.finish()
        return Situation(request, reference, roost, self._state, search)

    def _settle(self, findings: Iterable[Finding]) -> bool:
        """Keep what no known difference explains; is there nothing to keep?"""
        unknown = [finding for finding in findings if differences.explain(finding) is None]
        if unknown:
            request = unknown[0].situation.request
            text = "\n".join(f"  {finding}" for finding in unknown)
            self._unequal.append(f"{request} (after {len(self._sent)} writes)\n{text}")
        return not unknown


def same_body(situation: Situation) -> bool:
    """They may differ in a header only, which changes nothing for what follows."""
    return compare.canonical(situation.reference.body) == compare.canonical(situation.roost.body)


def ask(side: Side, request: Request) -> Answer:
    side.start(request)
    return side.finish()
