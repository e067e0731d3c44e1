"""GET /allocation_candidates: where does this request fit?"""

from random import Random

from roost import metrics
from roost.model import Value
from roost.operations.known_names import check_query
from roost.query import CandidateQuery, Position
from roost.search.answer import Layout
from roost.search.find import find
from roost.service import Roost


class WrittenCandidates(Value, frozen=True, kw_only=True):
    """An answer as text, in the layout that was asked for."""

    candidates: list[str]  # texts of one or more candidates each
    summaries: list[bytes]  # texts of one or more providers each
    next: Position | None = None  # where the next page begins, if there is one


def find_candidates(roost: Roost, *, query: CandidateQuery, layout: Layout) -> WrittenCandidates:
    settings = roost.settings
    stopwatch = metrics.Stopwatch()
    with roost.view() as index:
        stopwatch.lap(metrics.SEARCH_CATCH_UP)
        check_query(index, query)
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
            candidates=answer.write_candidates(layout),
            summaries=answer.write_summaries(layout),
            next=answer.next,
        )
    stopwatch.lap(metrics.SEARCH_RENDER)
    metrics.SEARCH_CANDIDATES.observe(answer.count)
    return written
