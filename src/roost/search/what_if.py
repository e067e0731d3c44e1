"""Views of an index in which something is otherwise, for searches of "what if"."""

import copy
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from roost.query import CandidateQuery
from roost.search.combine import Work
from roost.search.find import Search
from roost.search.index.columns import ClassColumn, Integers
from roost.search.index.index import Index
from roost.search.split.find import SplitSearch


def with_usage(
    index: Index, class_ids: Iterable[int], used_of: Callable[[ClassColumn], Integers]
) -> Index:
    """The index with columns of its own for what is used of these classes.

    Everything else is shared, so the view is good only while the index stands still.
    """
    view = copy.copy(index)
    view.columns = dict(index.columns)
    # What is kept with an index for searches and answers speaks of its own numbers.
    view.fragments = {}
    for class_id in set(class_ids) & index.columns.keys():
        column = copy.copy(index.columns[class_id])
        column.used = used_of(column)
        view.columns[class_id] = column
    return view


def emptied(index: Index, query: CandidateQuery) -> Index:
    """The cloud as if nobody held anything of what the query asks for."""
    return with_usage(index, class_ids(index, query), lambda column: np.zeros_like(column.used))


def copied(index: Index, query: CandidateQuery) -> Index:
    """The cloud as it is, with usage that can be written to without anybody else seeing it."""
    return with_usage(index, class_ids(index, query), lambda column: column.used.copy())


def class_ids(index: Index, query: CandidateQuery) -> set[int]:
    return {index.classes.ids[name] for group in query.groups for name in group.resources}


class TreeSearch(Search):
    """A search on behalf of one tree alone."""

    def __init__(self, index: Index, query: CandidateQuery, root: int, work: Work) -> None:
        super().__init__(index, query, 1, None, work)
        self._root = root

    def _ranges(self) -> Iterator[tuple[int, int]]:
        return iter([(self._root, int(self.index.rows.last[self._root]) + 1)])


def has_candidate(index: Index, query: CandidateQuery, root: int | None, work: Work) -> bool | None:
    """Whether the query fits, anywhere or for the tree with this root; None if nobody knows."""
    if query.may_split:
        split_search = SplitSearch(index, query, root=root)
        found = split_search.find(1).count > 0
        return None if split_search.is_cut and not found else found
    if root is None:
        search = Search(index, query, 1, None, work)
    else:
        search = TreeSearch(index, query, root, work)
    return search.answer(search.ways_in_turns()).count > 0
