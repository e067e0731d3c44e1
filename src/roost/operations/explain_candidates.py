"""GET /allocation_candidates/explain: why does this request not fit?"""

import time

from roost.errors import ProviderNotFound
from roost.operations.known_names import check_query
from roost.query import CandidateQuery
from roost.reasons import Explanation
from roost.search.explain.explain import explain
from roost.service import Roost

# The index stands still in the meantime, so others wait: after so long no more is tried.
SECONDS_MAX = 1.0


def explain_candidates(
    roost: Roost, *, query: CandidateQuery, tree_uuid: str | None = None
) -> Explanation:
    """With the UUID of a provider, about the tree that it stands in."""
    with roost.view() as index:
        check_query(index, query)
        root = None
        if tree_uuid is not None:
            row = index.row_of_uuid.get(tree_uuid)
            if row is None:
                raise ProviderNotFound(tree_uuid)
            root = int(index.rows.root[row])
        deadline = time.monotonic() + SECONDS_MAX
        return explain(index, query, root=root, may_go_on=lambda: time.monotonic() < deadline)
