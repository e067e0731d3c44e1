"""One query on one index -> why it fits or does not."""

from collections.abc import Callable

from msgspec.structs import replace as evolve

from roost.query import CandidateQuery
from roost.reasons import Explanation, Verdict
from roost.search.combine import Work
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
    may_go_on: Callable[[], bool] = lambda: True,
    work: Work | None = None,
) -> Explanation:
    """Why does this request not fit, and what would let it?

    With the row of a root the verdict and the relaxations are about its tree; the funnel is
    always about the whole cloud. Relaxations are searched for as long as `may_go_on` says so.
    """
    work = Work() if work is None else work
    query = evolve(query, limit=None)
    funnel = Funnel(index, query, work)
    tree = None if root is None else reason_of(funnel, root)
    fits = len(funnel.left) > 0 if tree is None else tree.stage is None
    relaxer = Relaxer(index, query, root, work, may_go_on)
    if fits:
        verdict = Verdict.FITS
    elif has_candidate(what_if_empty(index, query), query, root=root, work=work) is False:
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
