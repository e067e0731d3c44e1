"""GET /allocation_candidates: where does this request fit?"""

from random import Random

from roost.model import Value
from roost.operations.known_names import check_classes, check_traits
from roost.query import CandidateQuery
from roost.search.answer import Layout
from roost.search.find import find
from roost.service import Roost


class WrittenCandidates(Value, frozen=True, kw_only=True):
    """An answer as text, in the layout that was asked for."""

    candidates: list[str]  # texts of one or more candidates each
    summaries: list[bytes]  # texts of one or more providers each


def find_candidates(roost: Roost, *, query: CandidateQuery, layout: Layout) -> WrittenCandidates:
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
        # Written while the index stands still, since what is written is kept with it.
        return WrittenCandidates(
            candidates=answer.write_candidates(layout), summaries=answer.write_summaries(layout)
        )
