"""One world on two sides: load it, search, write, search again, and collect the differences."""

import contextlib
import dataclasses
import random
from collections import Counter
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


class CloudsDiverged(Exception):
    """The two clouds are no longer equal, so all later answers would differ as well."""


class Comparison:
    """Sends each request to both sides, and compares the answers.

    Both sides must describe the cloud in the same way. The next request is made from the
    description by the reference.
    """

    def __init__(self, seed: int, reference: Side, roost: Side) -> None:
        self._chance = random.Random(seed)
        self._reference = reference
        self._roost = roost
        # Everything that a person needs to reproduce a difference by hand.
        self._sent: list[str] = []
        self._unequal: list[str] = []
        self._state: State | None = None

    def run(self) -> str:
        """How the two sides differ, and the writes before that; empty if they do not differ."""
        with contextlib.suppress(CloudsDiverged):
            self._run()
        if not self._unequal:
            return ""
        return "\n".join((*self._unequal, "writes:", *self._sent))

    def _run(self) -> None:
        for side in (self._reference, self._roost):
            side.reset()
        world = make_world(self._chance)
        for request in world.requests():
            self._write(request)
        self._state = read_state(self._read, world.consumer_uuids)
        self._send_searches(world)
        for _ in range(WRITES):
            assert self._state is not None
            self._write(make_write(Choices(self._chance, world, self._state)))
            self._state = read_state(self._read, world.consumer_uuids, known=self._state)
        self._state = read_state(self._read, world.consumer_uuids)
        self._send_searches(world)

    def _send_searches(self, world: World) -> None:
        everything = self._names(world)
        for _ in range(SEARCHES):
            names = everything
            if self._chance.random() < 0.7:
                names = self._names_of_a_tree(everything)
            self._search(make_search(self._chance, names))
        for _ in range(PROVIDER_LISTS):
            self._compare_answers(self._send_to_both(make_provider_list(self._chance, everything)))

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
        """What one tree and the sharing providers have, so that a search often finds something."""
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
        if not self._compare_answers(self._send_to_both(request)):
            raise CloudsDiverged

    def _read(self, request: Request) -> object:
        """The body of the answer, which must be equal on both sides."""
        situation = self._send_to_both(request)
        if not self._compare_answers(situation) and not same_body(situation):
            raise CloudsDiverged
        return situation.reference.body

    def _search(self, search: Search) -> None:
        situation = self._send_to_both(search.request(), search)
        unlimited = situation.reference
        if search.limit is not None and unlimited.status == 200:
            unlimited = ask(self._reference, search.without_limit().request())
        if unlimited.status != 200:
            self._record_unknown(compare.compare_candidates(situation, [], {}))
            return
        expected = compare.candidates_of(unlimited)
        if differences.amounts_leak(search):
            expected = self._expected_without_leak(search, expected)
        summaries = unlimited.body["provider_summaries"]
        self._record_unknown(compare.compare_candidates(situation, expected, summaries))

    def _expected_without_leak(
        self, search: Search, expected: list[compare.Candidate]
    ) -> list[compare.Candidate]:
        """The candidates that the reference would find without a bug that can be avoided."""
        answer = ask(self._reference, search.without_isolation().request())
        assert answer.status == 200, answer
        assert self._state is not None
        right = compare.isolated(search, self._state, compare.candidates_of(answer))
        if Counter(right) != Counter(expected):
            differences.used[differences.AMOUNTS_LEAK.name] += 1
        return right

    def _compare_answers(self, situation: Situation) -> bool:
        return self._record_unknown(compare.compare(situation))

    def _send_to_both(self, request: Request, search: Search | None = None) -> Situation:
        # The reference runs in another process, and can work while roost does.
        self._reference.start(request)
        self._roost.start(request)
        reference, roost = self._reference.finish(), self._roost.finish()
        return Situation(request, reference, roost, self._state, search)

    def _record_unknown(self, findings: Iterable[Finding]) -> bool:
        """Record the findings that no known difference explains; returns whether there are none."""
        unknown = [finding for finding in findings if differences.explain(finding) is None]
        if unknown:
            request = unknown[0].situation.request
            text = "\n".join(f"  {finding}" for finding in unknown)
            self._unequal.append(f"{request} (after {len(self._sent)} writes)\n{text}")
        return not unknown


def same_body(situation: Situation) -> bool:
    """The answers may differ in a header only, which does not affect later requests."""
    return compare.canonical(situation.reference.body) == compare.canonical(situation.roost.body)


def ask(side: Side, request: Request) -> Answer:
    side.start(request)
    return side.finish()
