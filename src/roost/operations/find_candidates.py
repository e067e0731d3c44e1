"""GET /allocation_candidates: where does this request fit?"""

from random import Random

from roost.model import Candidates
from roost.operations.known_names import check_classes, check_traits
from roost.query import CandidateQuery
from roost.search.find import find
from roost.service import Roost


def find_candidates(roost: Roost, *, query: CandidateQuery) -> Candidates:
    settings = roost.settings
    with roost.view() as index:
        check_classes(index, [name for group in query.groups for name in group.resources])
        check_traits(index, [query.root_traits, *(group.traits for group in query.groups)])
        answer = find(
            index,
            query,
            limit_max=settings.max_allocation_candidates,
            depth_first=settings.depth_first,
            random=Random() if settings.randomize_allocation_candidates else None,
        )
        return Candidates(candidates=answer.candidates, summaries=answer.summaries)
