"""Decomposes a query into single rules, each of which can be taken out of it."""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace as evolve

from roost.query import AggregateRule, CandidateQuery, Elsewhere, RequestGroup, TraitRule
from roost.reasons import BETWEEN_GROUPS, Rule, RuleKind


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
    """The query without these rules. Capacity is no part of a query, so it cannot be taken out.

    All at once: a request may have thousands of rules, and each stage of a funnel asks for this.
    """
    by_group: dict[str | None, list[Rule]] = {}
    for rule in rules:
        by_group.setdefault(rule.group, []).append(rule)
    of_query = _Taken(by_group.pop(None, ()))
    return evolve(
        query,
        groups=tuple(
            group_without(group, by_group[group.suffix]) if group.suffix in by_group else group
            for group in query.groups
        ),
        root_traits=TraitRule(
            required=of_query.left(RuleKind.ROOT_REQUIRED, query.root_traits.required),
            forbidden=of_query.left_of(RuleKind.ROOT_FORBIDDEN, query.root_traits.forbidden),
        ),
        root_aggregates=AggregateRule(
            required=of_query.left(RuleKind.ROOT_MEMBER_OF, query.root_aggregates.required),
            forbidden=of_query.left_of(
                RuleKind.ROOT_NOT_MEMBER_OF, query.root_aggregates.forbidden
            ),
        ),
        isolate=query.isolate and not of_query.sets(RuleKind.GROUP_POLICY),
        isolated=of_query.left(RuleKind.ISOLATE, query.isolated),
        same_subtree=of_query.left(RuleKind.SAME_SUBTREE, query.same_subtree),
        elsewhere=of_query.left_elsewhere(query.elsewhere),
    )


def with_amount(query: CandidateQuery, rule: Rule, amount: int) -> CandidateQuery:
    """The query with another amount of the class that the rule is about."""
    [name] = rule.names
    groups = (
        evolve(group, resources={**group.resources, name: amount})
        if group.suffix == rule.group
        else group
        for group in query.groups
    )
    return evolve(query, groups=tuple(groups))


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
    asked = Counter(name for group in query.groups for name in group.resources)
    contended = tuple(name for name, count in asked.items() if count > 1)
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


class _Taken:
    """Rules of one group, or of no group, that are taken out."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._sets: dict[RuleKind, set[frozenset[str]]] = {}
        self._elsewhere: set[Elsewhere] = set()
        for rule in rules:
            names = frozenset(rule.names)
            self._sets.setdefault(rule.kind, set()).add(names)
            if rule.kind == RuleKind.ELSEWHERE:
                self._elsewhere.add(Elsewhere(inside=names, outside=frozenset(rule.outside)))

    def sets(self, kind: RuleKind) -> set[frozenset[str]]:
        """The names of each rule of a kind."""
        return self._sets.get(kind, set())

    def left(self, kind: RuleKind, sets: tuple[frozenset[str], ...]) -> tuple[frozenset[str], ...]:
        """Those of the sets that no rule of the kind is about."""
        taken = self.sets(kind)
        return tuple(each for each in sets if each not in taken) if taken else sets

    def left_of(self, kind: RuleKind, names: frozenset[str]) -> frozenset[str]:
        """Those of the names that no rule of the kind is about."""
        return names.difference(*self.sets(kind))

    def left_elsewhere(self, rules: tuple[Elsewhere, ...]) -> tuple[Elsewhere, ...]:
        # Without a subtree nothing can be outside of it.
        subtrees = self.sets(RuleKind.SAME_SUBTREE)
        return tuple(
            each for each in rules if each not in self._elsewhere and each.inside not in subtrees
        )


def group_without(group: RequestGroup, rules: Iterable[Rule]) -> RequestGroup:
    """The group without these rules, which are all its own."""
    taken = _Taken(rules)
    gone = frozenset[str]().union(*taken.sets(RuleKind.RESOURCES))
    return evolve(
        group,
        resources={name: n for name, n in group.resources.items() if name not in gone},
        can_split=group.can_split - gone,
        traits=TraitRule(
            required=taken.left(RuleKind.REQUIRED, group.traits.required),
            forbidden=taken.left_of(RuleKind.FORBIDDEN, group.traits.forbidden),
        ),
        aggregates=AggregateRule(
            required=taken.left(RuleKind.MEMBER_OF, group.aggregates.required),
            forbidden=taken.left_of(RuleKind.NOT_MEMBER_OF, group.aggregates.forbidden),
        ),
        in_tree=None if taken.sets(RuleKind.IN_TREE) else group.in_tree,
        in_subtree=None if taken.sets(RuleKind.IN_SUBTREE) else group.in_subtree,
    )
