"""The documents, read literally: what is the right answer to a search?

The oracle tries every way to serve a request, in every tree, and keeps those that break no rule.
It prunes nothing, so that each rule can be compared with the sentence it comes from. That is far
too slow for a cloud, but affordable for a small world.
"""

from roost.query import CandidateQuery
from tests.oracle.answers import (
    Answer,
    answer,
    answer_of_candidate,
    answer_of_json,
    make_answer,
    sums,
)
from tests.oracle.assignments import (
    PIECES_MAX,
    Assignment,
    Pieces,
    Take,
    all_assignments,
    all_pieces,
    assignments,
    available,
    depth_first,
    first_that_meets,
    meets_anywhere,
    one_class_each,
    splits,
)
from tests.oracle.conditions import (
    fits,
    has_traits,
    is_above_all,
    is_in_subtree,
    is_in_tree,
    member_of,
    providers,
    share_subtree,
)
from tests.oracle.order import (
    in_turns,
    rank,
)
from tests.oracle.rules import (
    RULES,
    all_groups_fit,
    bound_tree_serves,
    each_group_fits,
    elsewhere,
    in_subtree,
    in_tree,
    isolate,
    isolated,
    nested_aware,
    providers_of,
    root_member_of,
    root_required,
    same_subtree,
    suffixed_aggregates,
    suffixed_traits,
    unsuffixed_aggregates,
    unsuffixed_forbidden_traits,
    unsuffixed_required_traits,
)
from tests.support.world import World

__all__ = [
    "PIECES_MAX",
    "RULES",
    "Answer",
    "Assignment",
    "Pieces",
    "Take",
    "all_assignments",
    "all_groups_fit",
    "all_pieces",
    "answer",
    "answer_of_candidate",
    "answer_of_json",
    "assignments",
    "available",
    "bound_tree_serves",
    "candidates",
    "depth_first",
    "each_group_fits",
    "elsewhere",
    "first_that_meets",
    "fits",
    "has_traits",
    "in_subtree",
    "in_tree",
    "in_turns",
    "is_above_all",
    "is_candidate",
    "is_in_subtree",
    "is_in_tree",
    "isolate",
    "isolated",
    "make_answer",
    "meets_anywhere",
    "member_of",
    "nested_aware",
    "one_class_each",
    "possible",
    "providers",
    "providers_of",
    "rank",
    "root_member_of",
    "root_required",
    "same_subtree",
    "share_subtree",
    "splits",
    "suffixed_aggregates",
    "suffixed_traits",
    "sums",
    "unsuffixed_aggregates",
    "unsuffixed_forbidden_traits",
    "unsuffixed_required_traits",
]


def candidates(world: World, query: CandidateQuery) -> set[Answer]:
    """Every candidate; the limit is not applied, since any selection within it is right."""
    return {
        answer(assignment)
        for root in world.roots
        for assignment in assignments(world, query, root)
        if all(rule(assignment) for rule in RULES)
    }


def possible(world: World, query: CandidateQuery) -> bool:
    """Whether there is a candidate; where amounts may be split, in pieces of any size."""
    return any(
        all(rule(assignment) for rule in RULES)
        for root in world.roots
        for assignment in all_assignments(world, query, root)
    )


def is_candidate(world: World, query: CandidateQuery, found: Answer) -> bool:
    """Whether an answer is right, without trying all others: they may be too many."""
    serving = dict(found.mappings)
    return any(
        all(rule(assignment) for rule in RULES) and answer(assignment) == found
        for root in world.roots
        for assignment in assignments(world, query, root, serving=serving)
    )
