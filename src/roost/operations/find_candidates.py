"""GET /allocation_candidates: where does this request fit?"""

from random import Random

from roost import metrics
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
    stopwatch = metrics.Stopwatch()
    with roost.view() as index:
        stopwatch.lap(metrics.SEARCH_CATCH_UP)
        check_classes(index, [name for group in query.groups for name in group.resources])
        check_traits(index, [query.root_traits, *(group.traits for group in query.groups)])
        answer = find(
            index,
            query,
            limit_max=settings.max_allocation_candidates,
            depth_first=settings.depth_first,
            random=Random() if settings.randomize_allocation_candidates else None,
        )
        stopwatch.lap(metrics.SEARCH_FIND)
        # Written while the index stands still, since what is written is kept with it.
        written = WrittenCandidates(
            candidates=answer.write_candidates(layout), summaries=answer.write_summaries(layout)
        )
    stopwatch.lap(metrics.SEARCH_RENDER)
    metrics.SEARCH_CANDIDATES.observe(answer.count)
    return written
