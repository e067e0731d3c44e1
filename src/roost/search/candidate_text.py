"""Candidates as text, a block at a time, so that millions of them never are in memory at once.

Text is joined rather than encoded: each distinct shape of candidate is laid out once and then
filled with UUIDs. So the length of all text is known before any of it is written.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol

import numpy as np
import numpy.typing as npt

from roost.model import Candidate
from roost.search.budget import Budget, GaveUp
from roost.search.index.columns import Integers

# Between candidates, and between summaries.
SEPARATOR = ", "

# Stands for the UUID of the provider in a slot while a shape is laid out. No name of a class and
# no suffix of a group can contain the @ sign.
_PLACEHOLDER = "@{}@"
_PLACEHOLDERS = re.compile(r"@(\d+)@")

# About so many bytes are written at once: a few milliseconds of work.
BLOCK_BYTES = 2**19
# About so many bytes has a candidate, for itself and for each slot; and one without slots.
CANDIDATE_BYTES = 64
SLOT_BYTES = 128
PLAIN_BYTES = 512

# So few ways are written one by one: arrays take longer to make than the text.
WAYS_FEW = 64
# The shapes of ways with so few slots are told apart pair by pair: at most 64 codes.
SLOTS_FEW = 4
# What it costs to lay out one candidate, in steps of the budget: for itself, and for its slots.
LAYOUT_STEPS = 4
SLOTS_PER_STEP = 2
# How many UUIDs are looked at without asking the budget in between.
ROWS_AT_ONCE = 1024
ROWS_PER_STEP = 64
# How many slots the shapes have in all that are kept. Where nearly every candidate has a shape of
# its own, they would take more memory than the text.
SLOTS_KEPT = 2**16
# The same for those that a layout keeps for further answers.
SLOTS_SHARED = 2**9

# A way for each line, and the row of a provider for each slot.
Ways = Integers
# The text between the UUIDs of a candidate, and the slots that they fill.
Template = tuple[list[str], list[int]]
# By shape. A layout keeps those of its query: clients ask the same again and again.
Templates = dict[tuple[int, ...], Template]
# Ways of one shape: their numbers, and for each slot the first that its provider fills.
Shape = tuple[npt.NDArray[np.int32], tuple[int, ...]]


class CandidateLayout(Protocol):
    """How a candidate is written. It is asked once for each shape."""

    templates: Templates

    def candidate(self, candidate: Candidate) -> str: ...


class CandidateText(Protocol):
    """The candidates of one answer, as a layout writes them."""

    def blocks(self) -> Iterator[bytes]:
        """The text in blocks of one or more candidates each, to be separated by `SEPARATOR`."""

    def measure(self, budget: Budget) -> tuple[int, int]:
        """How many bytes all blocks have, with the separators between them.

        Where candidates have so many shapes that it takes too long to lay them out, it is done for
        the first ones: how many candidates were measured, and their bytes. Some always are.
        """

    def length_roughly(self) -> int:
        """About the same, without much work."""


class PlainText:
    """Candidates that have no common shape, each laid out for itself."""

    def __init__(
        self, count: int, candidate: Callable[[int], Candidate], layout: Callable[[Candidate], str]
    ) -> None:
        self._count = count
        self._candidate = candidate  # by number
        self._layout = layout

    def blocks(self) -> Iterator[bytes]:
        texts: list[str] = []
        length = 0
        for number in range(self._count):
            text = self._layout(self._candidate(number))
            texts.append(text)
            length += len(text)
            if length > BLOCK_BYTES:
                yield SEPARATOR.join(texts).encode()
                texts, length = [], 0
        if texts:
            yield SEPARATOR.join(texts).encode()

    def length_roughly(self) -> int:
        return self._count * PLAIN_BYTES

    def measure(self, budget: Budget) -> tuple[int, int]:
        # They are written for that, and later a second time: both take less memory than once.
        count = total = 0
        with suppress(GaveUp):
            for number in range(self._count):
                (budget.step if number else budget.finish)(LAYOUT_STEPS)
                total += len(self._layout(self._candidate(number)).encode())
                count += 1
        return count, total + len(SEPARATOR) * max(count - 1, 0)


class ShapedText:
    """Candidates that are lines of a matrix, and of which many have the same shape."""

    def __init__(
        self,
        ways: Ways,
        uuids: Sequence[str],
        candidate: Callable[[Sequence[int], Sequence[str]], Candidate],
        layout: CandidateLayout,
    ) -> None:
        self._ways = ways
        self._uuids = uuids  # of each row
        self._candidate = candidate  # from the rows of a way, and the UUID of each
        self._layout = layout.candidate
        self._templates = layout.templates
        self._template_slots_max = SLOTS_SHARED
        self._candidate_bytes: int = CANDIDATE_BYTES + SLOT_BYTES * ways.shape[1]
        self._shapes: list[list[Shape]] = []  # of the first blocks
        self._shape_steps: int = LAYOUT_STEPS + ways.shape[1] // SLOTS_PER_STEP
        self._slots_kept = 0  # of all those shapes

    def blocks(self) -> Iterator[bytes]:
        if 0 < len(self._ways) <= WAYS_FEW and self.length_roughly() <= BLOCK_BYTES:
            yield self._written_few(self._ways.tolist()).encode()
            return
        for ways, shapes in self._parts():
            if len(shapes) == 1:
                [(_, shape)] = shapes
                yield self._written(ways, shape).encode()
                continue
            texts: list[str] = []
            for members, shape in shapes:
                texts += self._written_each(ways[members], shape)
            # Back into the order of the ways.
            places = np.concatenate([members for members, _ in shapes]).argsort()
            yield SEPARATOR.join(map(texts.__getitem__, places.tolist())).encode()

    def length_roughly(self) -> int:
        return len(self._ways) * self._candidate_bytes

    def measure(self, budget: Budget) -> tuple[int, int]:
        lengths = self._uuid_lengths(budget)
        count = total = 0
        with suppress(GaveUp):
            for ways, shapes in self._parts():
                step = budget.step if count else budget.finish
                length = 0
                for members, shape in shapes:
                    step(self._shape_steps)
                    between, slots = self._template(shape)
                    length += len(members) * len("".join(between).encode())
                    length += int(lengths[ways[members][:, slots]].sum())
                count, total = count + len(ways), total + length
        return count, total + len(SEPARATOR) * max(count - 1, 0)

    def _parts(self) -> Iterator[tuple[Ways, list[Shape]]]:
        """The ways of each block, and their shapes."""
        for number, ways in enumerate(self._matrices()):
            if number < len(self._shapes):
                yield ways, self._shapes[number]
                continue
            shapes = list(_shapes(ways))
            if number == len(self._shapes) and self._slots_kept < SLOTS_KEPT:
                self._shapes.append(shapes)
                self._slots_kept += len(shapes) * ways.shape[1]
            yield ways, shapes

    def _matrices(self) -> Iterator[Ways]:
        count = max(1, BLOCK_BYTES // self._candidate_bytes)
        for first in range(0, len(self._ways), count):
            yield self._ways[first : first + count]

    def _uuid_lengths(self, budget: Budget) -> Integers:
        """How long the UUID of each row is; adopted databases may have some in other forms."""
        count = int(self._ways.max()) + 1 if self._ways.size else 0
        used = np.zeros(count, dtype=np.bool_)
        for ways in self._matrices():
            budget.finish(1 + ways.size // ROWS_AT_ONCE)
            used[ways] = True
        lengths: Integers = np.zeros(count, dtype=np.int64)
        rows = np.flatnonzero(used)
        for first in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[first : first + ROWS_AT_ONCE]
            budget.finish(1 + len(some) // ROWS_PER_STEP)
            lengths[some] = [len(self._uuids[row].encode()) for row in some.tolist()]
        return lengths

    def _written(self, ways: Ways, shape: tuple[int, ...]) -> str:
        """Ways of one shape as text.

        The text between the UUIDs is the same for all. So one list repeats it, takes the UUIDs of
        a slot of all ways at a time, and is joined at the end.
        """
        between, slots = self._template(shape)
        width = 2 * len(slots) + 1
        one = [""] * width
        one[::2] = [*between[:-1], between[-1] + SEPARATOR]
        texts = one * len(ways)
        uuids_of = self._uuids_of(ways, slots)
        for number, slot in enumerate(slots):
            texts[2 * number + 1 :: width] = uuids_of[slot]
        texts[-1] = between[-1]
        return "".join(texts)

    def _written_each(self, ways: Ways, shape: tuple[int, ...]) -> Iterator[str]:
        """Each of these ways of one shape as text."""
        between, slots = self._template(shape)
        uuids_of = self._uuids_of(ways, slots)
        texts: list[Iterable[str]] = [itertools.repeat(between[0], len(ways))]
        for slot, text in zip(slots, between[1:], strict=True):
            texts += [uuids_of[slot], itertools.repeat(text)]
        return map("".join, zip(*texts, strict=False))

    def _uuids_of(self, ways: Ways, slots: Sequence[int]) -> dict[int, list[str]]:
        """The UUIDs of the providers in each of these slots."""
        return {
            slot: list(map(self._uuids.__getitem__, ways[:, slot].tolist())) for slot in set(slots)
        }

    def _written_few(self, ways: Sequence[Sequence[int]]) -> str:
        uuids, written = self._uuids, []
        for way in ways:
            between, slots = self._template(tuple(map(way.index, way)))
            texts = [SEPARATOR] * (2 * len(between))
            texts[:-1:2] = between
            texts[1:-1:2] = [uuids[way[slot]] for slot in slots]
            written += texts
        return "".join(written[:-1])

    def _template(self, shape: tuple[int, ...]) -> Template:
        """A candidate of this shape: the text between the UUIDs, and the slots that they fill."""
        template = self._templates.get(shape)
        if template is None:
            if len(self._templates) * len(shape) >= self._template_slots_max:
                # From now on without those of the layout, which are for the next answer.
                self._templates = {}
                self._template_slots_max = SLOTS_KEPT
            placeholders = [_PLACEHOLDER.format(slot) for slot in shape]
            texts = _PLACEHOLDERS.split(self._layout(self._candidate(shape, placeholders)))
            template = self._templates[shape] = texts[::2], [int(slot) for slot in texts[1::2]]
        return template


def _shapes(ways: Ways) -> Iterator[Shape]:
    width = ways.shape[1]
    if width <= SLOTS_FEW:
        for members in _members_by_shape(ways):
            way = ways[members[0]].tolist()
            yield members, tuple(map(way.index, way))
        return
    first = (ways[:, :, np.newaxis] == ways[:, np.newaxis, :]).argmax(axis=2)
    if width <= 15:
        # Each shape as one number, which is much quicker to compare than a row.
        codes = first @ width ** np.arange(width)
        _, examples, shape_of = np.unique(codes, return_index=True, return_inverse=True)
    else:
        _, examples, shape_of = np.unique(first, axis=0, return_index=True, return_inverse=True)
    for number, example in enumerate(examples.tolist()):
        shape = tuple(first[example].tolist())
        yield np.flatnonzero(shape_of.ravel() == number).astype(np.int32), shape


def _members_by_shape(ways: Ways) -> Iterator[npt.NDArray[np.int32]]:
    """The numbers of the ways of each shape, where few pairs of slots have to be compared."""
    codes = np.zeros(len(ways), dtype=np.int64)
    pairs = itertools.combinations(range(ways.shape[1]), 2)
    for bit, (one, other) in enumerate(pairs):
        codes |= (ways[:, one] == ways[:, other]).astype(np.int64) << bit
    for code in np.flatnonzero(np.bincount(codes)).tolist():
        yield np.flatnonzero(codes == code).astype(np.int32)
