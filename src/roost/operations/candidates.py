"""Searches: where a request fits, why it does not, and how many more of it fit."""

from random import Random

from roost.errors import SearchTooHard
from roost.model import Value
from roost.observe import metrics
from roost.operations.known_names import check_query
from roost.query import CandidateQuery, Cursor
from roost.reasons import Explanation
from roost.search.answer import Layout
from roost.search.capacity import simulate_claims
from roost.search.explain.explain import explain
from roost.search.find import find
from roost.service.service import Roost


class WrittenCandidates(Value, frozen=True, kw_only=True):
    """The candidates of a search as text, in the layout of the API version."""

    candidates: list[str]  # texts of one or more candidates each
    summaries: list[bytes]  # texts of one or more providers each
    next: Cursor | None = None  # where the next page begins, if there is one
    # Whether everything was tried until the limit was reached; None if amounts may not be split.
    complete: bool | None = None


def find_candidates(roost: Roost, *, query: CandidateQuery, layout: Layout) -> WrittenCandidates:
    settings = roost.settings
    stopwatch = metrics.Stopwatch()
    with roost.current_index() as index:
        stopwatch.lap(metrics.SEARCH_CATCH_UP)
        check_query(index, query)
        answer = find(
            index,
            query,
            limit_max=settings.max_allocation_candidates,
            depth_first=settings.depth_first,
            random=Random() if settings.randomize_allocation_candidates else None,
            budget=roost.search_budget(),
        )
        # A request that may split says how far it came; see `complete`.
        needs_all = query.limit is None and not query.may_split
        if answer.gave_up and (needs_all or not answer.count):
            raise SearchTooHard("It has many ways to serve each group.", "A limit helps.")
        stopwatch.lap(metrics.SEARCH_FIND)
        # Written while the index is locked, since the index caches the summaries of its trees.
        written = WrittenCandidates(
            candidates=answer.write_candidates(layout),
            summaries=answer.write_summaries(layout),
            next=answer.next,
            complete=not answer.gave_up if query.may_split else None,
        )
    stopwatch.lap(metrics.SEARCH_RENDER)
    metrics.SEARCH_CANDIDATES.observe(answer.count)
    return written


def explain_candidates(
    roost: Roost, *, query: CandidateQuery, tree_uuid: str | None = None
) -> Explanation:
    """Explain a search of the whole cloud, or of the tree that a provider is in."""
    with roost.current_index() as index:
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
    with roost.current_index() as index:
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
