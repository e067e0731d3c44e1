"""Ways -> the answer: each candidate once, and the providers that it names.

An answer can be read as values, or written as text: the candidates block by block
(`candidate_text.py`), and the summaries of whole trees, which the index caches until something in
the tree changes.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from roost.model import Candidate, ProviderSummary, Resources
from roost.query import CandidateQuery, Cursor
from roost.search.budget import Budget
from roost.search.candidate_text import SEPARATOR, CandidateText, ShapedText, Templates
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.match import Slot

SEPARATOR_BYTES = SEPARATOR.encode()

# What it costs to write one summary, in steps of the budget.
SUMMARY_STEPS = 3

# Of how many single rows the summaries are kept, besides those of whole trees.
ROWS_RENDERED_MAX = 16_384

# As many candidates as are handled one by one: numpy takes longer to begin than to do it.
FEW = 64

# The shortest form of a UUID.
_UUID_SHORTEST = "0" * 32


class Layout(Protocol):
    """How candidates and summaries are written."""

    key: str | None  # layouts with the same key write the same; None: not worth caching
    templates: Templates  # of the candidates of one query

    def candidate(self, candidate: Candidate) -> str: ...

    def summary(self, summary: ProviderSummary) -> bytes: ...


def candidate_bytes_min(query: CandidateQuery, layout: Layout) -> int:
    """A size that no candidate of this query falls below: one provider serves all groups."""
    resources = {name: 0 for group in query.groups for name in group.resources}
    smallest = Candidate(
        allocations={_UUID_SHORTEST: resources},
        mappings={group.suffix: (_UUID_SHORTEST,) for group in query.groups},
    )
    return len(layout.candidate(smallest))


class Taken(NamedTuple):
    """What each way of an answer takes, as matrices with a line for each way.

    A line has a provider and a class no more than once. Where the amount is 0 it says nothing.
    """

    rows: Integers
    classes: Integers  # ids
    amounts: Integers


class _Shape(NamedTuple):
    """What candidates have in common in which the same slots have the same provider."""

    allocations: Sequence[tuple[int, Resources]]  # the first slot of a provider, and what it gives
    mappings: Sequence[tuple[str, Sequence[int]]]  # a suffix, and the first slots of its providers


class Answer:
    """The ways found so far, without repetition."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        slots: Sequence[Slot],
        sharing: Integers,
        count_max: int | None = None,
    ) -> None:
        """A search may stop when it has found more than `count_max`."""
        self._index = index
        self.query = query
        self._slots = slots
        self._sharing = sharing
        self._seen: set[tuple[int, ...]] = set()  # ways that several trees may have
        self._matrices: list[Integers] = []
        self._count_max = count_max
        self.count = 0
        self.next: Cursor | None = None  # of the last way, if another page follows
        self.gave_up = False  # whether the search gave up, so that ways may be missing
        # How many options the slots have in the tree with the most ways.
        self.option_counts: Sequence[int] = ()

    # -- gathering -----------------------------------------------------------------------------

    def add(self, ways: Integers, *, may_repeat: bool = True) -> None:
        if may_repeat and len(self._sharing):
            ways = ways[self._is_new(ways)]
        # There may be millions, and rows fit into 32 bits.
        self._matrices.append(ways.astype(np.int32, copy=False))
        self.count += len(ways)

    @property
    def is_too_large(self) -> bool:
        return self._count_max is not None and self.count > self._count_max

    def cut(self, limit: int) -> None:
        """Drop the last ways, down to `limit`."""
        over = self.count - limit
        while over:
            last = self._matrices.pop()
            kept = max(len(last) - over, 0)
            over -= len(last) - kept
            if kept:
                self._matrices.append(last[:kept])
        self.count = limit
        self.__dict__.pop("ways", None)  # if they were put together before

    def _is_new(self, ways: Integers) -> list[bool]:
        """Which ways were not given before.

        Two trees can have a way in common only if all of its providers are sharing providers.
        """
        may_repeat = np.logical_and.reduce(np.isin(ways, self._sharing), axis=1)
        new = [True] * len(ways)
        for number in np.flatnonzero(may_repeat).tolist():
            way = tuple(ways[number].tolist())
            new[number] = way not in self._seen
            self._seen.add(way)
        return new

    def amounts(self, way: Sequence[int]) -> dict[tuple[int, int], int]:
        """What a candidate takes: (row, class id) -> amount."""
        amounts: dict[tuple[int, int], int] = {}
        for row, slot in zip(way, self._slots, strict=True):
            for class_id, amount in slot.demands.items():
                amounts[row, class_id] = amounts.get((row, class_id), 0) + amount
        return amounts

    # -- as arrays -----------------------------------------------------------------------------

    @cached_property
    def ways(self) -> Integers:
        if len(self._matrices) == 1:
            return self._matrices[0]
        none: Integers = np.empty((0, len(self._slots)), dtype=np.int32)
        return np.concatenate([none, *self._matrices])

    def taken(self, budget: Budget) -> Taken:
        """What the ways take. Raises `GaveUp`."""
        demands = [
            (number, class_id, amount)
            for number, slot in enumerate(self._slots)
            for class_id, amount in slot.demands.items()
        ]
        budget.try_choices(self.count, len(demands))
        shape = self.count, len(demands)
        classes = np.array([class_id for _, class_id, _ in demands], dtype=np.int64)
        amounts = np.array([amount for _, _, amount in demands], dtype=np.int64)
        rows = self.ways[:, [number for number, _, _ in demands]]
        # Nearly always the same for all ways, so it is not copied for each of them.
        taken = Taken(rows, np.broadcast_to(classes, shape), np.broadcast_to(amounts, shape))
        return _added_up(taken) if len(set(classes.tolist())) < len(demands) else taken

    def hosts(self) -> Integers:
        """For each way the root of the tree that serves it; -1: sharing providers alone do.

        All providers of a way that do not share are in one tree.
        """
        roots = self._index.rows.root[self.ways]
        if len(self._sharing):
            roots = np.where(np.isin(self.ways, self._sharing), -1, roots)
        hosts: Integers = roots.max(axis=1, initial=-1)
        return hosts

    # -- as values -----------------------------------------------------------------------------

    def candidates_of(self, numbers: Integers) -> Iterator[Candidate]:
        """The candidates with these numbers.

        Those of the same shape have everything in common that does not depend on the provider.
        """
        uuids = self._index.uuids
        if len(numbers) == 1:
            # One alone has no use for a shape.
            (way,) = self.ways[numbers].tolist()
            yield self._candidate(way, [uuids[row] for row in way])
            return
        shapes: dict[tuple[int, ...], _Shape] = {}
        for way in self.ways[numbers].tolist():
            # For each slot the first one that its provider fills.
            key = tuple(map(way.index, way))
            shape = shapes.get(key)
            if shape is None:
                shape = shapes[key] = self._shape(key)
            yield Candidate(
                allocations={uuids[way[slot]]: held for slot, held in shape.allocations},
                mappings={
                    suffix: tuple([uuids[way[slot]] for slot in some])
                    for suffix, some in shape.mappings
                },
            )

    def _shape(self, key: tuple[int, ...]) -> "_Shape":
        drawn = self._candidate(key, [str(slot) for slot in key])
        return _Shape(
            allocations=[(int(slot), held) for slot, held in drawn.allocations.items()],
            mappings=[(suffix, [int(n) for n in some]) for suffix, some in drawn.mappings.items()],
        )

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return tuple(self.each_candidate())

    def each_candidate(self) -> Iterator[Candidate]:
        """The candidates one by one, for a caller that may stop early."""
        uuids = self._index.uuids
        for way in self.ways.tolist():
            yield self._candidate(way, [uuids[row] for row in way])

    @property
    def summaries(self) -> tuple[ProviderSummary, ...]:
        return tuple(self._index.summary(row) for row in self._rows_shown())

    def _rows_shown(self) -> list[int]:
        """Those of whole trees; before 1.29 only those of the providers that serve."""
        if self.query.nested_aware:
            return [row for root in self._roots().tolist() for row in self._index.tree_rows(root)]
        rows: list[int] = self._distinct(self._serving()).tolist()
        return rows

    def _candidate(self, way: Sequence[int], uuids: Sequence[str]) -> Candidate:
        names = self._index.classes.names
        uuid_of = dict(zip(way, uuids, strict=True))
        allocations: dict[str, dict[str, int]] = {}
        for (row, class_id), amount in self.amounts(way).items():
            allocations.setdefault(uuid_of[row], {})[names[class_id]] = amount
        mappings: dict[str, dict[str, None]] = {}
        for row, slot in zip(way, self._slots, strict=True):
            mappings.setdefault(slot.group.suffix, {})[uuid_of[row]] = None
        return Candidate(
            allocations=allocations,
            mappings={suffix: tuple(serving) for suffix, serving in mappings.items()},
        )

    def _serving(self) -> Iterator[Integers]:
        """The rows from which candidates take something, some of them several times."""
        columns = [number for number, slot in enumerate(self._slots) if slot.demands]
        # Matrix by matrix: other threads wait while numpy works on one.
        for matrix in self._matrices:
            yield matrix[:, columns] if len(columns) < len(self._slots) else matrix

    def _roots(self) -> Integers:
        root = self._index.rows.root
        return self._distinct(root[rows] for rows in self._serving())

    def _distinct(self, parts: Iterable[Integers]) -> Integers:
        """Each of the rows once, in order."""
        if self.count <= FEW:
            few = sorted({row for rows in parts for row in rows.ravel().tolist()})
            return np.array(few, dtype=np.int64)
        # Marking them is quicker than sorting, because they are many and repeat.
        marked = np.zeros(self._index.rows.count, dtype=np.bool_)
        for rows in parts:
            marked[rows] = True
        return np.flatnonzero(marked)

    # -- as text -------------------------------------------------------------------------------

    def text(self, layout: Layout) -> CandidateText:
        """The candidates as text."""
        return ShapedText(self.ways, self._index.uuids, self._candidate, layout)

    def write_summaries(self, layout: Layout, budget: Budget) -> list[bytes]:
        """The summaries, of one or more providers each.

        There are no more than the cloud has providers, so the budget is asked and not obeyed.
        """
        index = self._index

        def write(row: int) -> bytes:
            budget.finish(SUMMARY_STEPS)
            return layout.summary(index.summary(row))

        if not self.query.nested_aware or layout.key is None:
            return list(map(write, self._rows_shown()))
        cached = index.rendered_summaries.setdefault(layout.key, {})
        roots = self._roots()
        stamps: list[int] = index.rows.stamp[roots].tolist()
        # Most are cached, so all are fetched at once and only the gaps are filled.
        texts = list(map(cached.get, stamps, itertools.repeat(b"")))
        if all(texts):
            return texts
        if len(cached) > 2 * index.rows.count:
            # A search on an older snapshot adds what nobody asks for again.
            cached.clear()
        of_rows = index.rendered_rows.setdefault(layout.key, {})
        if len(of_rows) > ROWS_RENDERED_MAX:
            of_rows.clear()
        for number, root in enumerate(roots.tolist()):
            if not texts[number]:
                text = SEPARATOR_BYTES.join(self._row_texts(root, of_rows, write))
                texts[number] = cached[stamps[number]] = text
        return texts

    def _row_texts(
        self, root: int, cached: dict[int, bytes], write: Callable[[int], bytes]
    ) -> list[bytes]:
        """The summaries of a tree. Usually the root and a row or two have changed."""
        rows = self._index.tree_rows(root)
        stamps: list[int] = self._index.rows.stamp[rows.start : rows.stop].tolist()
        texts = []
        for row, stamp in zip(rows, stamps, strict=True):
            text = cached.get(stamp)
            if text is None:
                text = write(row)
                # The stamp of a root is another one after each change in its tree.
                if row != root:
                    cached[stamp] = text
            texts.append(text)
        return texts


def _added_up(taken: Taken) -> Taken:
    """The same, with what groups take of one class from one provider as one amount."""
    # Equal ones become neighbours. A sum up to the last of them, minus the sum up to the last
    # ones before, is what they take together.
    keys = taken.classes.astype(np.int64) << 32 | taken.rows
    order = np.argsort(keys, axis=1)
    keys, rows, classes, amounts = (
        np.take_along_axis(each, order, axis=1) for each in (keys, *taken)
    )
    sums = np.cumsum(amounts, axis=1)
    is_last = np.ones(keys.shape, dtype=np.bool_)
    is_last[:, :-1] = keys[:, :-1] != keys[:, 1:]
    before = np.zeros_like(sums)
    before[:, 1:] = np.maximum.accumulate(np.where(is_last, sums, 0), axis=1)[:, :-1]
    return Taken(rows, classes, np.where(is_last, sums - before, 0))
