"""GET /allocation_candidates/explain: why does this request not fit?"""

from roost.errors import ProviderNotFound
from roost.operations.known_names import check_query
from roost.query import CandidateQuery
from roost.reasons import Explanation
from roost.search.explain.explain import explain
from roost.service import Roost


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
        return explain(index, query, root=root)
