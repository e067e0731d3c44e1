"""Ways in which amounts are split -> the answer."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from roost.model import Candidate
from roost.query import CandidateQuery
from roost.search.answer import Answer, Layout, Taken
from roost.search.budget import Budget
from roost.search.candidate_text import CandidateText, PlainText
from roost.search.constraints import Pieces
from roost.search.index.columns import Integers
from roost.search.index.index import Index
from roost.search.match import EMPTY

# What fills each slot.
SplitWay = tuple[Pieces, ...]


def amounts_of(slots: Iterable[Pieces]) -> dict[tuple[int, int], int]:
    """What a candidate takes: (row, class id) -> amount."""
    amounts: dict[tuple[int, int], int] = {}
    for pieces in slots:
        for piece in pieces:
            for class_id, amount in piece.resources.items():
                key = piece.row, class_id
                amounts[key] = amounts.get(key, 0) + amount
    return amounts


class SplitAnswer(Answer):
    """An answer whose candidates may take different amounts, so that they have no common shape."""

    def __init__(
        self,
        index: Index,
        query: CandidateQuery,
        ways: Sequence[SplitWay],
        count_max: int | None = None,
    ) -> None:
        super().__init__(index, query, (), EMPTY, count_max)
        self.split_ways = ways
        self.count = len(ways)

    def cut(self, limit: int) -> None:
        self.split_ways = self.split_ways[:limit]
        self.count = limit

    def taken(self, budget: Budget) -> Taken:
        amounts = []
        for way in self.split_ways:
            budget.step()
            amounts.append(amounts_of(way))
        shape = 3, len(amounts), max(map(len, amounts), default=0)
        taken = np.zeros(shape, dtype=np.int64)
        for number, each in enumerate(amounts):
            for place, ((row, class_id), amount) in enumerate(each.items()):
                taken[:, number, place] = row, class_id, amount
        return Taken(*taken)

    def hosts(self) -> Integers:
        root, sharing = self._index.rows.root, frozenset(self._index.sharing_rows().tolist())
        hosts = (
            {int(root[piece.row]) for pieces in way for piece in pieces if piece.row not in sharing}
            for way in self.split_ways
        )
        return np.array([max(some, default=-1) for some in hosts], dtype=np.int64)

    def candidates_of(self, numbers: Integers) -> Iterator[Candidate]:
        return (self._candidate_of(self.split_ways[number]) for number in numbers.tolist())

    def each_candidate(self) -> Iterator[Candidate]:
        return map(self._candidate_of, self.split_ways)

    def _candidate_of(self, way: SplitWay) -> Candidate:
        uuids, names = self._index.uuids, self._index.classes.names
        allocations: dict[str, dict[str, int]] = {}
        for (row, class_id), amount in amounts_of(way).items():
            allocations.setdefault(uuids[row], {})[names[class_id]] = amount
        mappings: dict[str, dict[str, None]] = {}
        for pieces in way:
            for piece in pieces:
                mappings.setdefault(piece.suffix, {})[uuids[piece.row]] = None
        return Candidate(
            allocations=allocations,
            mappings={suffix: tuple(serving) for suffix, serving in mappings.items()},
        )

    def _serving(self) -> Iterator[Integers]:
        rows = {row for way in self.split_ways for row, _ in amounts_of(way)}
        yield np.array(sorted(rows), dtype=np.int64)

    def text(self, layout: Layout) -> CandidateText:
        ways = self.split_ways
        return PlainText(
            len(ways), lambda number: self._candidate_of(ways[number]), layout.candidate
        )
