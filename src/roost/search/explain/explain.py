"""One query on one index -> why it fits or does not."""

from msgspec.structs import replace as evolve

from roost.query import CandidateQuery
from roost.reasons import Explanation, Verdict
from roost.search.budget import Budget
from roost.search.explain.funnel import Funnel
from roost.search.explain.relax import Relaxer
from roost.search.explain.trees import nearest, reason_of
from roost.search.find import has_candidate
from roost.search.index.index import Index
from roost.search.what_if import what_if_empty


def explain(
    index: Index,
    query: CandidateQuery,
    *,
    root: int | None = None,
    budget: Budget | None = None,
) -> Explanation:
    """Why does this request not fit, and what would let it?

    With the row of a root the verdict and the relaxations are about its tree; the funnel is
    always about the whole cloud. Relaxations are searched for as long as the budget lasts.
    """
    budget = Budget() if budget is None else budget
    query = evolve(query, limit=None)
    funnel = Funnel(index, query, budget)
    tree = None if root is None else reason_of(funnel, root)
    fits = len(funnel.left) > 0 if tree is None else tree.stage is None
    relaxer = Relaxer(index, query, root, budget)
    if fits:
        verdict = Verdict.FITS
    elif has_candidate(what_if_empty(index, query), query, root=root, budget=budget) is False:
        verdict = Verdict.NEVER
    else:
        # Also if the search gave up, because "never" must be certain.
        verdict = Verdict.NOT_NOW
    return Explanation(
        verdict=verdict,
        trees=len(funnel.roots),
        providers=index.live_count,
        stages=tuple(funnel.stages),
        tree=tree,
        nearest=nearest(funnel) if tree is None else (),
        relaxations=() if fits else relaxer.relaxations(),
        complete=relaxer.complete and not funnel.gave_up,
    )
