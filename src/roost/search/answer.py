"""Ways -> the answer: each candidate once, and the providers that it names.

An answer can be read as values, or written as text. Text is joined rather than encoded: each
distinct shape of candidate is laid out once and then filled with UUIDs, and the index caches the
summaries of a tree until something in the tree changes.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from roost.model import Candidate, ProviderSummary, capacity
from roost.query import CandidateQuery, Cursor
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.match import Slot

# Stands for the UUID of the provider in a slot while a shape is laid out. No name of a class and
# no suffix of a group can contain the @ sign.
_PLACEHOLDER = "@{}@"
_PLACEHOLDERS = re.compile(r"@(\d+)@")

# Between candidates, and between summaries.
SEPARATOR = ", "
SEPARATOR_BYTES = SEPARATOR.encode()
# Between candidates while they are sorted; JSON has only escaped line breaks.
_LINE = "\n"


class Layout(Protocol):
    """How candidates and summaries are written."""

    key: str | None  # layouts with the same key write the same; None: not worth caching

    def candidate(self, candidate: Candidate) -> str: ...

    def summary(self, summary: ProviderSummary) -> bytes: ...


class Answer:
    """The ways found so far, without repetition."""

    def __init__(
        self, index: Index, query: CandidateQuery, slots: Sequence[Slot], sharing: Integers
    ) -> None:
        self._index = index
        self._query = query
        self._slots = slots
        self._sharing = sharing
        self._seen: set[tuple[int, ...]] = set()  # ways that several trees may have
        self._matrices: list[Integers] = [np.empty((0, len(slots)), dtype=np.int64)]
        self.count = 0
        self.next: Cursor | None = None  # of the last way, if another page follows
        self.gave_up = False  # whether the search gave up, so that ways may be missing

    # -- gathering -----------------------------------------------------------------------------

    def add(self, ways: Integers) -> None:
        if len(self._sharing):
            ways = ways[self._is_new(ways)]
        self._matrices.append(ways)
        self.count += len(ways)

    def cut(self, limit: int) -> None:
        """Drop the last ways, down to `limit`."""
        left = len(self._matrices[-1]) - (self.count - limit)
        self._matrices[-1] = self._matrices[-1][:left]
        self.count = limit

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

    # -- as values -----------------------------------------------------------------------------

    @cached_property
    def ways(self) -> Integers:
        return np.concatenate(self._matrices)

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
        """Of whole trees; before 1.29 only of the providers that serve."""
        index = self._index
        if self._query.nested_aware:
            shown = [row for root in self._roots() for row in index.tree_rows(root)]
        else:
            shown = np.unique(self._serving()).tolist()
        return tuple(summary(index, row) for row in shown)

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

    def _serving(self) -> Integers:
        """The rows from which candidates take something, some of them several times."""
        return self.ways[:, [number for number, slot in enumerate(self._slots) if slot.demands]]

    def _roots(self) -> list[int]:
        roots: list[int] = np.unique(self._index.rows.root[self._serving()]).tolist()
        return roots

    # -- as text -------------------------------------------------------------------------------

    def write_candidates(self, layout: Layout) -> list[str]:
        """The candidates, one or more in each text, separated by `SEPARATOR`."""
        shapes = list(self._shapes())
        if len(shapes) == 1:
            [(_, shape)] = shapes
            return [self._written(self.ways, shape, layout, SEPARATOR)]
        texts: list[str] = [""] * len(self.ways)
        for members, shape in shapes:
            lines = self._written(self.ways[members], shape, layout, _LINE).split(_LINE)
            for member, text in zip(members.tolist(), lines, strict=True):
                texts[member] = text
        return texts

    def _written(self, ways: Integers, shape: Sequence[int], layout: Layout, separator: str) -> str:
        """Ways of one shape as text.

        The text between the UUIDs is the same for all. So one list takes texts and UUIDs in turn,
        a column of all ways at a time, and is joined at the end.
        """
        between, slots = self._template(shape, layout)
        count, width = len(ways), 2 * len(slots) + 1
        texts = [""] * (count * width)
        for number, slot in enumerate(slots):
            texts[2 * number :: width] = [between[number]] * count
            rows = ways[:, slot].tolist()
            texts[2 * number + 1 :: width] = map(self._index.uuids.__getitem__, rows)
        texts[width - 1 :: width] = [between[-1] + separator] * (count - 1) + [between[-1]]
        return "".join(texts)

    def _shapes(self) -> Iterator[tuple[Integers, list[int]]]:
        """Ways of one shape: their numbers, and for each slot the first that its provider fills."""
        ways, width = self.ways, len(self._slots)
        if not len(ways):
            return
        first = (ways[:, :, np.newaxis] == ways[:, np.newaxis, :]).argmax(axis=2)
        if width <= 15:
            # Each shape as one number, which is much quicker to compare than a row.
            codes = first @ width ** np.arange(width)
            _, examples, shape_of = np.unique(codes, return_index=True, return_inverse=True)
        else:
            _, examples, shape_of = np.unique(first, axis=0, return_index=True, return_inverse=True)
        for number, example in enumerate(examples.tolist()):
            yield np.flatnonzero(shape_of.ravel() == number), first[example].tolist()

    def _template(self, shape: Sequence[int], layout: Layout) -> tuple[list[str], list[int]]:
        """A candidate of this shape: the text between the UUIDs, and the slots that they fill."""
        text = layout.candidate(
            self._candidate(shape, [_PLACEHOLDER.format(slot) for slot in shape])
        )
        texts = _PLACEHOLDERS.split(text)
        return texts[::2], [int(slot) for slot in texts[1::2]]

    def write_summaries(self, layout: Layout) -> list[bytes]:
        """The summaries, of one or more providers each."""
        index = self._index
        if not self._query.nested_aware or layout.key is None:
            return [layout.summary(one) for one in self.summaries]
        cached = index.rendered_summaries.setdefault(layout.key, {})
        roots = self._roots()
        # Most are cached, so all are fetched at once and only the gaps are filled.
        texts = list(map(cached.get, roots, itertools.repeat(b"")))
        for number, text in enumerate(texts):
            if not text:
                rows = index.tree_rows(roots[number])
                text = SEPARATOR_BYTES.join([layout.summary(summary(index, row)) for row in rows])
                texts[number] = cached[roots[number]] = text
        return texts


def summary(index: Index, row: int) -> ProviderSummary:
    return ProviderSummary(
        uuid=index.uuids[row],
        parent_uuid=index.parent_uuid(row),
        root_uuid=index.root_uuid(row),
        traits=index.trait_names(row),
        resources={
            index.classes.names[inventory.class_id]: (
                capacity(inventory.total, inventory.reserved, inventory.allocation_ratio),
                inventory.used,
            )
            for inventory in index.inventories(row)
        },
    )
