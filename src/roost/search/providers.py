"""A list query -> the rows of the providers that meet it, each on its own."""

from roost.query import ProviderQuery, RequestGroup
from roost.search.index.index import Index
from roost.search.match import GroupMatcher


def select(index: Index, query: ProviderQuery) -> list[int]:
    # A provider that is listed meets every rule alone, just as one that serves a suffixed group.
    group = RequestGroup(
        suffix="listed",
        resources=query.resources,
        traits=query.traits,
        aggregates=query.aggregates,
        in_tree=query.in_tree,
    )
    first, end = 0, index.rows.count
    for key, rows_of in ((query.uuid, index.row_of_uuid), (query.name, index.row_of_name)):
        if key is not None:
            row = rows_of.get(key)
            if row is None:
                return []
            first, end = max(first, row), min(end, row + 1)
    if first >= end:
        return []
    (slot,) = GroupMatcher(index, group).slots
    rows: list[int] = slot.local(index, first, end).tolist()
    return rows
