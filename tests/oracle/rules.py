"""The rules, each with what the documentation of Placement or of roost says about it."""

from collections.abc import Callable

from tests.oracle.answers import sums
from tests.oracle.assignments import Assignment
from tests.oracle.conditions import (
    fits,
    has_traits,
    is_above_all,
    is_in_subtree,
    is_in_tree,
    member_of,
    share_subtree,
)
from tests.support.world import WorldProvider


def each_group_fits(assignment: Assignment) -> bool:
    """Each amount respects what is free, min_unit, max_unit and step_size."""
    return all(fits(take.provider, take.resources) for take in assignment.takes)


def all_groups_fit(assignment: Assignment) -> bool:
    """Groups on one provider share its capacity, and max_unit bounds their sum."""
    for (uuid, name), amount in sums(assignment).items():
        one = assignment.world.providers[uuid]
        inventory = one.inventories.get(name)
        if inventory is None:
            return False
        if one.used[name] + amount > inventory.capacity or amount > inventory.max_unit:
            return False
    return True


def unsuffixed_required_traits(assignment: Assignment) -> bool:
    """One of the providers that serve the group has the trait."""
    present = frozenset().union(*(take.provider.traits for take in assignment.unsuffixed))
    return all(
        present & wanted for take in assignment.unsuffixed for wanted in take.group.traits.required
    )


def unsuffixed_forbidden_traits(assignment: Assignment) -> bool:
    """None of the providers that serve the group has the trait."""
    return not any(
        take.provider.traits & take.group.traits.forbidden for take in assignment.unsuffixed
    )


def unsuffixed_aggregates(assignment: Assignment) -> bool:
    """An aggregate on a root spans its whole tree."""
    return all(
        member_of(
            take.provider.aggregates | assignment.world.root(take.provider).aggregates,
            take.group.aggregates,
        )
        for take in assignment.unsuffixed
    )


def suffixed_traits(assignment: Assignment) -> bool:
    """The one provider of a suffixed group has the traits."""
    return all(has_traits(take.provider, take.group.traits) for take in assignment.suffixed)


def suffixed_aggregates(assignment: Assignment) -> bool:
    """An aggregate on a root spans nothing here."""
    return all(
        member_of(take.provider.aggregates, take.group.aggregates) for take in assignment.suffixed
    )


def in_tree(assignment: Assignment) -> bool:
    """A group may be bound to a tree, named by any of its providers."""
    return all(
        is_in_tree(assignment.world, take.provider, take.group.in_tree) for take in assignment.takes
    )


def bound_tree_serves(assignment: Assignment) -> bool:
    """A tree that the unsuffixed group is bound to serves the other groups too (api.md)."""
    return all(
        take.provider.root_uuid == assignment.root.uuid
        for take in assignment.unsuffixed
        if take.group.in_tree is not None or take.group.in_subtree is not None
    )


def isolated(assignment: Assignment) -> bool:
    """With isolate, suffixed groups take from different providers."""
    chosen = {(take.group.suffix, take.provider.uuid) for take in assignment.suffixed}
    return not assignment.query.isolate or len({uuid for _, uuid in chosen}) == len(chosen)


def isolate(assignment: Assignment) -> bool:
    """No provider serves two of the groups that one `isolate` names (decision 0014)."""
    for suffixes in assignment.query.isolated:
        serving = {
            (take.group.suffix, take.provider.uuid)
            for take in assignment.suffixed
            if take.group.suffix in suffixes
        }
        if len({uuid for _, uuid in serving}) < len(serving):
            return False
    return True


def elsewhere(assignment: Assignment) -> bool:
    """A group is not served from at or below the highest provider of others (decision 0014)."""
    for rule in assignment.query.elsewhere:
        inside = providers_of(assignment, rule.inside)
        tops = [one for one in inside if is_above_all(assignment.world, one, inside)]
        for one in providers_of(assignment, rule.outside):
            if any(is_above_all(assignment.world, top, [one]) for top in tops):
                return False
    return True


def in_subtree(assignment: Assignment) -> bool:
    """A group may be bound to a provider and all below it (beyond.md)."""
    return all(
        is_in_subtree(assignment.world, take.provider, take.group.in_subtree)
        for take in assignment.takes
    )


def root_member_of(assignment: Assignment) -> bool:
    """The root of the tree is in the aggregates, even if it serves nothing."""
    return member_of(assignment.root.aggregates, assignment.query.root_aggregates)


def same_subtree(assignment: Assignment) -> bool:
    """One of the providers is, or is above, each of the others."""
    return all(
        share_subtree(assignment.world, providers_of(assignment, suffixes))
        for suffixes in assignment.query.same_subtree
    )


def root_required(assignment: Assignment) -> bool:
    """The root of the tree has the traits, even if it serves nothing."""
    return has_traits(assignment.root, assignment.query.root_traits)


def nested_aware(assignment: Assignment) -> bool:
    """Clients before 1.29 never see two providers of one tree in a candidate."""
    chosen = {take.provider.uuid: take.provider.root_uuid for take in assignment.takes}
    return assignment.query.nested_aware or len(set(chosen.values())) == len(chosen)


RULES: tuple[Callable[[Assignment], bool], ...] = (
    each_group_fits,
    all_groups_fit,
    unsuffixed_required_traits,
    unsuffixed_forbidden_traits,
    unsuffixed_aggregates,
    suffixed_traits,
    suffixed_aggregates,
    in_tree,
    bound_tree_serves,
    isolated,
    same_subtree,
    root_required,
    nested_aware,
    # Beyond 1.39.
    isolate,
    elsewhere,
    in_subtree,
    root_member_of,
)


def providers_of(assignment: Assignment, suffixes: frozenset[str]) -> list[WorldProvider]:
    return [take.provider for take in assignment.suffixed if take.group.suffix in suffixes]
