"""What-if copies of a snapshot of the index: the same cloud with other usage.

A copy shares everything else with the snapshot.
"""

import copy
from collections.abc import Callable

import numpy as np

from roost.query import CandidateQuery
from roost.search.index.columns import ClassColumn, Integers
from roost.search.index.index import Index


def what_if_empty(index: Index, query: CandidateQuery) -> Index:
    """The cloud as if nothing that the query asks for were used."""
    return _what_if_used(index, query, lambda column: np.zeros_like(column.used))


def what_if_copy(index: Index, query: CandidateQuery) -> Index:
    """The cloud as it is; the caller may write to the usage of what the query asks for."""
    return _what_if_used(index, query, lambda column: column.used.copy())


def _what_if_used(
    index: Index, query: CandidateQuery, used_of: Callable[[ClassColumn], Integers]
) -> Index:
    other = copy.copy(index)
    other.columns = dict(index.columns)
    # Rendered summaries show usage, so the copy does not take them over.
    other.rendered_summaries, other.rendered_rows = {}, {}
    other.is_what_if = True
    for class_id in class_ids(index, query) & index.columns.keys():
        column = copy.copy(index.columns[class_id])
        column.used = used_of(column)
        other.columns[class_id] = column
    return other


def class_ids(index: Index, query: CandidateQuery) -> set[int]:
    return {index.classes.ids[name] for group in query.groups for name in group.resources}
