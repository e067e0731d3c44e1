"""Searches: where a request fits, why it does not, and how many more of it fit."""

from collections.abc import Iterable, Sequence

from roost.errors import AnswerTooLarge, SearchTooHard
from roost.model import Value
from roost.observe import metrics
from roost.operations.known_names import check_query
from roost.operations.randomness import RANDOM
from roost.query import CandidateQuery, Cursor
from roost.reasons import Explanation
from roost.search.answer import Answer, Layout, candidate_bytes_min
from roost.search.budget import Budget
from roost.search.candidate_text import SEPARATOR
from roost.search.capacity import simulate_claims
from roost.search.explain.explain import explain
from roost.search.find import find
from roost.search.hard.difficulty import describe_difficulty
from roost.service.service import Roost

# An answer that takes less is written at once. More candidates are written while they are sent.
SMALL_BYTES_MAX = 2**20
# With such a limit the search ends early enough. Whether the answer is too large shows at its end.
LIMIT_SMALL_MAX = 1000
WHAT_SHORTENS = "A `limit` makes it shorter, and a smaller one more so."


class WrittenCandidates(Value, frozen=True, kw_only=True):
    """The candidates of a search as text, in the layout of the API version.

    `SEPARATOR` stands between what a text holds, and belongs between the texts too. The lengths are
    those of all texts with it.
    """

    candidates: Iterable[bytes]  # of one or more candidates each; can be read only once
    candidates_length: int
    summaries: list[bytes]  # of one or more providers each
    summaries_length: int
    next: Cursor | None = None  # where the next page begins, if there is one
    # Whether everything was tried until the limit was reached; None if amounts may not be split.
    complete: bool | None = None


def find_candidates(roost: Roost, *, query: CandidateQuery, layout: Layout) -> WrittenCandidates:
    settings = roost.settings
    stopwatch = metrics.Stopwatch()
    index = roost.current_index()
    stopwatch.lap(metrics.SEARCH_CATCH_UP)
    check_query(index, query)
    answer = find(
        index,
        query,
        limit_max=settings.max_allocation_candidates,
        count_max=_count_max(query, layout, settings.answer_bytes_max),
        depth_first=settings.depth_first,
        random=RANDOM if settings.randomize_allocation_candidates else None,
        budget=roost.search_budget(),
    )
    if answer.is_too_large:
        raise AnswerTooLarge(settings.answer_bytes_max)
    # A limit asks for some candidates, whoever sets it; without one all of them are asked for. A
    # request that may split says how far it came; see `complete`.
    is_limited = (query.limit or settings.max_allocation_candidates) is not None
    if answer.gave_up and not (answer.count and (is_limited or query.may_split)):
        raise SearchTooHard(*describe_difficulty(query, answer.option_counts))
    stopwatch.lap(metrics.SEARCH_FIND)
    # Writing has as much time as searching had.
    budget = roost.search_budget()
    written = _write(answer, layout, settings.answer_bytes_max, budget, is_limited=is_limited)
    stopwatch.lap(metrics.SEARCH_RENDER)
    metrics.SEARCH_CANDIDATES.observe(answer.count)
    return written


def _count_max(query: CandidateQuery, layout: Layout, bytes_max: int) -> int | None:
    """How many candidates at most an answer of this size can hold; None: the limit is lower."""
    if query.limit is not None and query.limit <= LIMIT_SMALL_MAX:
        return None
    return bytes_max // candidate_bytes_min(query, layout)


def _write(
    answer: Answer, layout: Layout, bytes_max: int, budget: Budget, *, is_limited: bool
) -> WrittenCandidates:
    text = answer.text(layout)
    candidates: Iterable[bytes]
    if text.length_roughly() > SMALL_BYTES_MAX:
        count, candidates_length = text.measure(budget)
        if count < answer.count:
            # A page in order cannot be cut: where the next one would begin is no longer known.
            if not is_limited or answer.query.order is not None:
                hard, _ = describe_difficulty(answer.query, answer.option_counts)
                raise SearchTooHard(hard, WHAT_SHORTENS, unknown="how long its answer is")
            answer.cut(count)
            answer.gave_up = True
            text = answer.text(layout)
        candidates = text.blocks()
    else:
        candidates = blocks = list(text.blocks())
        candidates_length = _joined_length(blocks)
    if candidates_length > bytes_max:
        raise AnswerTooLarge(bytes_max)
    summaries = answer.write_summaries(layout, budget)
    summaries_length = _joined_length(summaries)
    if candidates_length + summaries_length > bytes_max:
        raise AnswerTooLarge(bytes_max)
    return WrittenCandidates(
        candidates=candidates,
        candidates_length=candidates_length,
        summaries=summaries,
        summaries_length=summaries_length,
        next=answer.next,
        complete=not answer.gave_up if answer.query.may_split else None,
    )


def _joined_length(texts: Sequence[bytes]) -> int:
    return sum(map(len, texts)) + len(SEPARATOR) * max(len(texts) - 1, 0)


def explain_candidates(
    roost: Roost, *, query: CandidateQuery, tree_uuid: str | None = None
) -> Explanation:
    """Explain a search of the whole cloud, or of the tree that a provider is in."""
    index = roost.current_index()
    check_query(index, query)
    root = None
    if tree_uuid is not None:
        root = int(index.rows.root[index.row(tree_uuid)])
    return explain(index, query, root=root, budget=roost.search_budget())


class TreeCapacity(Value, frozen=True, kw_only=True):
    """How many of the requests that fit take resources from one tree."""

    uuid: str  # of the root
    name: str
    count: int


class Capacity(Value, frozen=True, kw_only=True):
    count: int
    trees: tuple[TreeCapacity, ...]  # those with the most room first
    complete: bool  # False: the count is a lower bound


def count_capacity(roost: Roost, *, query: CandidateQuery) -> Capacity:
    index = roost.current_index()
    check_query(index, query)
    claims = simulate_claims(index, query, budget=roost.search_budget())
    trees = (
        TreeCapacity(uuid=index.uuids[root], name=index.names[root], count=count)
        for root, count in claims.by_root.items()
    )
    return Capacity(
        count=claims.count,
        trees=tuple(sorted(trees, key=lambda tree: (-tree.count, tree.name))),
        complete=claims.complete,
    )
