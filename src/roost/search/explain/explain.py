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
    always about the whole cloud. When the budget runs out, the explanation has what is known by
    then, and says that it is not complete.
    """
    budget = Budget() if budget is None else budget
    query = evolve(query, limit=None)
    funnel = Funnel(index, query, budget)
    fits = funnel.fits(root)
    verdict = _verdict(index, query, root, fits, budget)
    tree = None if root is None else reason_of(funnel, root)
    near = nearest(funnel) if tree is None else ()
    relaxer = Relaxer(index, query, root, budget)
    relaxations = () if fits else relaxer.relaxations()
    is_certain = verdict is not Verdict.UNKNOWN and funnel.is_complete
    return Explanation(
        verdict=verdict,
        trees=len(funnel.roots),
        providers=index.live_count,
        stages=tuple(funnel.stages),
        tree=tree,
        nearest=near,
        relaxations=relaxations,
        complete=is_certain and relaxer.complete and not budget.gave_up,
    )


def _verdict(
    index: Index, query: CandidateQuery, root: int | None, fits: bool | None, budget: Budget
) -> Verdict:
    if fits is None:
        return Verdict.UNKNOWN
    if fits:
        return Verdict.FITS
    would_fit = None
    if budget.is_left:
        would_fit = has_candidate(what_if_empty(index, query), query, root=root, budget=budget)
    if would_fit is None:
        return Verdict.UNKNOWN
    return Verdict.NOT_NOW if would_fit else Verdict.NEVER
