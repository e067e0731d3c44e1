"""Decomposes a query into single rules, each of which can be taken out of it."""

from collections.abc import Callable, Iterable, Iterator
from typing import assert_never

from msgspec.structs import replace as evolve

from roost.query import AggregateRule, CandidateQuery, Elsewhere, RequestGroup, TraitRule
from roost.reasons import BETWEEN_GROUPS, Rule, RuleKind

_FORBIDDING = (
    RuleKind.ROOT_FORBIDDEN,
    RuleKind.ROOT_NOT_MEMBER_OF,
    RuleKind.FORBIDDEN,
    RuleKind.NOT_MEMBER_OF,
)


def decompose(query: CandidateQuery) -> list[Rule]:
    """Every rule of a query, in the order in which a funnel applies them.

    Rules about single providers come before those between several.
    """
    return [
        *_set_rules(RuleKind.ROOT_REQUIRED, RuleKind.ROOT_FORBIDDEN, None, query.root_traits),
        *_set_rules(
            RuleKind.ROOT_MEMBER_OF, RuleKind.ROOT_NOT_MEMBER_OF, None, query.root_aggregates
        ),
        *(rule for group in query.groups for rule in _group_rules(group)),
        *(rule for group in query.groups for rule in _traits_together(group)),
        *_rules_between_groups(query),
    ]


def is_between_slots(rule: Rule) -> bool:
    """Whether only a combination of providers can meet or break the rule."""
    return rule.together or rule.kind in BETWEEN_GROUPS


def without(query: CandidateQuery, rules: Iterable[Rule]) -> CandidateQuery:
    """The query without these rules. Capacity is no part of a query, so it cannot be taken out."""
    for rule in rules:
        query = _without(query, rule)
    return query


def with_amount(query: CandidateQuery, rule: Rule, amount: int) -> CandidateQuery:
    """The query with another amount of the class that the rule is about."""
    [name] = rule.names
    return _with_group(
        query, rule, lambda group: evolve(group, resources={**group.resources, name: amount})
    )


def _group_rules(group: RequestGroup) -> Iterator[Rule]:
    suffix = group.suffix
    for name, amount in group.resources.items():
        yield Rule(
            kind=RuleKind.RESOURCES,
            group=suffix,
            names=(name,),
            amount=amount,
            may_split=name in group.can_split,
        )
    on_each = TraitRule(forbidden=group.traits.forbidden) if _is_together(group) else group.traits
    yield from _set_rules(RuleKind.REQUIRED, RuleKind.FORBIDDEN, suffix, on_each)
    yield from _set_rules(RuleKind.MEMBER_OF, RuleKind.NOT_MEMBER_OF, suffix, group.aggregates)
    if group.in_tree is not None:
        yield Rule(kind=RuleKind.IN_TREE, group=suffix, names=(group.in_tree,))
    if group.in_subtree is not None:
        yield Rule(kind=RuleKind.IN_SUBTREE, group=suffix, names=(group.in_subtree,))


def _is_together(group: RequestGroup) -> bool:
    """Whether several providers may serve the group, so that they have its traits between them."""
    return not group.one_provider and not group.anywhere


def _traits_together(group: RequestGroup) -> Iterator[Rule]:
    if _is_together(group):
        together = TraitRule(required=group.traits.required)
        for rule in _set_rules(RuleKind.REQUIRED, RuleKind.FORBIDDEN, group.suffix, together):
            yield evolve(rule, together=True)


def _rules_between_groups(query: CandidateQuery) -> Iterator[Rule]:
    suffixed = tuple(group.suffix for group in query.groups if group.one_provider)
    if query.isolate and len(suffixed) > 1:
        yield Rule(kind=RuleKind.GROUP_POLICY, names=suffixed)
    for suffixes in dict.fromkeys(query.isolated):
        yield Rule(kind=RuleKind.ISOLATE, names=tuple(sorted(suffixes)))
    for suffixes in dict.fromkeys(query.same_subtree):
        # One provider is always in its own subtree; but one group may be split over several.
        if len(suffixes) > 1 or query.may_split:
            yield Rule(kind=RuleKind.SAME_SUBTREE, names=tuple(sorted(suffixes)))
    for each in dict.fromkeys(query.elsewhere):
        inside, outside = tuple(sorted(each.inside)), tuple(sorted(each.outside))
        yield Rule(kind=RuleKind.ELSEWHERE, names=inside, outside=outside)
    asked = [name for group in query.groups for name in group.resources]
    contended = tuple(dict.fromkeys(name for name in asked if asked.count(name) > 1))
    if contended:
        yield Rule(kind=RuleKind.CAPACITY, names=contended)


def _set_rules(
    required: RuleKind, forbidden: RuleKind, suffix: str | None, rule: TraitRule | AggregateRule
) -> Iterator[Rule]:
    for names in dict.fromkeys(rule.required):
        yield Rule(kind=required, group=suffix, names=tuple(sorted(names)))
    for name in sorted(rule.forbidden):
        yield Rule(kind=forbidden, group=suffix, names=(name,))


# ---------------------------------------------------------------------------------------------
# Taking out


def _without(query: CandidateQuery, rule: Rule) -> CandidateQuery:
    match rule.kind:
        case RuleKind.ROOT_REQUIRED | RuleKind.ROOT_FORBIDDEN:
            return evolve(query, root_traits=_less_traits(query.root_traits, rule))
        case RuleKind.ROOT_MEMBER_OF | RuleKind.ROOT_NOT_MEMBER_OF:
            return evolve(query, root_aggregates=_less_aggregates(query.root_aggregates, rule))
        case RuleKind.GROUP_POLICY:
            return evolve(query, isolate=False)
        case RuleKind.ISOLATE:
            return evolve(query, isolated=_other_than(query.isolated, rule))
        case RuleKind.SAME_SUBTREE:
            # Without a subtree nothing can be outside of it.
            names = frozenset(rule.names)
            return evolve(
                query,
                same_subtree=_other_than(query.same_subtree, rule),
                elsewhere=tuple(each for each in query.elsewhere if each.inside != names),
            )
        case RuleKind.ELSEWHERE:
            named = Elsewhere(inside=frozenset(rule.names), outside=frozenset(rule.outside))
            return evolve(query, elsewhere=tuple(each for each in query.elsewhere if each != named))
        case RuleKind.CAPACITY:
            return query
        case RuleKind.RESOURCES:
            return _with_group(query, rule, lambda group: _less_resources(group, rule))
        case RuleKind.REQUIRED | RuleKind.FORBIDDEN:
            return _with_group(
                query, rule, lambda group: evolve(group, traits=_less_traits(group.traits, rule))
            )
        case RuleKind.MEMBER_OF | RuleKind.NOT_MEMBER_OF:
            return _with_group(
                query,
                rule,
                lambda group: evolve(group, aggregates=_less_aggregates(group.aggregates, rule)),
            )
        case RuleKind.IN_TREE:
            return _with_group(query, rule, lambda group: evolve(group, in_tree=None))
        case RuleKind.IN_SUBTREE:
            return _with_group(query, rule, lambda group: evolve(group, in_subtree=None))
    assert_never(rule.kind)


def _other_than(sets: tuple[frozenset[str], ...], rule: Rule) -> tuple[frozenset[str], ...]:
    names = frozenset(rule.names)
    return tuple(each for each in sets if each != names)


def _with_group(
    query: CandidateQuery, rule: Rule, change: Callable[[RequestGroup], RequestGroup]
) -> CandidateQuery:
    groups = (change(group) if group.suffix == rule.group else group for group in query.groups)
    return evolve(query, groups=tuple(groups))


def _less_resources(group: RequestGroup, rule: Rule) -> RequestGroup:
    left = {name: amount for name, amount in group.resources.items() if name not in rule.names}
    return evolve(group, resources=left, can_split=group.can_split.difference(rule.names))


def _less_traits(traits: TraitRule, rule: Rule) -> TraitRule:
    required, forbidden = _less_sets(traits.required, traits.forbidden, rule)
    return TraitRule(required=required, forbidden=forbidden)


def _less_aggregates(aggregates: AggregateRule, rule: Rule) -> AggregateRule:
    required, forbidden = _less_sets(aggregates.required, aggregates.forbidden, rule)
    return AggregateRule(required=required, forbidden=forbidden)


def _less_sets(
    required: tuple[frozenset[str], ...], forbidden: frozenset[str], rule: Rule
) -> tuple[tuple[frozenset[str], ...], frozenset[str]]:
    if rule.kind in _FORBIDDING:
        return required, forbidden.difference(rule.names)
    return _other_than(required, rule), forbidden
