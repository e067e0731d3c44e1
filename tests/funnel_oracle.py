"""What an explanation must report, computed literally: every assignment, rule after rule.

Like `oracle`, it is slow and prunes nothing. A rule is identified by its kind, group and names.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace as evolve

from roost.query import AggregateRule, CandidateQuery, RequestGroup, TraitRule
from tests import oracle
from tests.support.world import World, WorldProvider


class Count(NamedTuple):
    """How many trees and providers one rule received and left."""

    kind: str
    group: str | None
    names: tuple[str, ...]
    trees_in: int
    trees_out: int
    providers_in: int
    providers_out: int


# Whether a provider meets a condition.
Test = Callable[[WorldProvider], bool]


class Condition(NamedTuple):
    """A rule that applies to one provider at a time."""

    kind: str
    group: RequestGroup
    names: tuple[str, ...]
    test: Test


def funnel(world: World, query: CandidateQuery) -> list[Count]:
    trees = world.roots
    counts: list[Count] = []

    def record(
        kind: str,
        group: str | None,
        names: tuple[str, ...],
        left: list[WorldProvider],
        providers_in: int,
        providers_out: int,
    ) -> None:
        nonlocal trees
        counts.append(Count(kind, group, names, len(trees), len(left), providers_in, providers_out))
        trees = left

    for kind, names, test in root_conditions(query):
        left = [root for root in trees if test(root)]
        record(kind, None, names, left, size(world, trees), size(world, left))
    applied: list[Condition] = []
    for group in query.groups:
        for condition in group_conditions(world, group):
            left = [
                root
                for root in trees
                if tree_can_serve(world, root, [*applied, condition], condition)
            ]
            before, after = (
                can_serve(applied, condition),
                can_serve([*applied, condition], condition),
            )
            applied.append(condition)
            record(
                condition.kind,
                group.suffix,
                condition.names,
                left,
                available_count(world, trees, group, before),
                available_count(world, left, group, after),
            )
    rules = list(rules_between(query))
    for number, (kind, suffix, names, _) in enumerate(rules):
        tests = [test for *_, test in rules[: number + 1]]
        left = [
            root
            for root in trees
            if any(
                all(passes(applied, take) for take in assignment.takes)
                and oracle.bound_tree_serves(assignment)
                and all(test(assignment) for test in tests)
                for assignment in oracle.all_assignments(world, query, root)
            )
        ]
        record(kind, suffix, names, left, size(world, trees), size(world, left))
    return counts


def size(world: World, roots: Iterable[WorldProvider]) -> int:
    return sum(len(world.tree(root.uuid)) for root in roots)


def available_count(
    world: World, roots: Iterable[WorldProvider], group: RequestGroup, test: Test
) -> int:
    """Distinct providers, of these trees or shared with them, that pass."""
    providers_of = world_tree if group.anywhere else oracle.available
    found = {one.uuid: one for root in roots for one in providers_of(world, root)}
    return sum(test(one) for one in found.values())


def world_tree(world: World, root: WorldProvider) -> list[WorldProvider]:
    return world.tree(root.uuid)


# ---------------------------------------------------------------------------------------------
# Rules on one provider


def with_traits(rule: TraitRule) -> Test:
    return lambda one: oracle.has_traits(one, rule)


def in_aggregates(rule: AggregateRule) -> Test:
    return lambda one: oracle.member_of(one.aggregates, rule)


def root_conditions(query: CandidateQuery) -> Iterator[tuple[str, tuple[str, ...], Test]]:
    for kind, names, traits in single_traits(query.root_traits, "root_required", "root_forbidden"):
        yield kind, names, with_traits(traits)
    for kind, names, rule in single_aggregates(
        query.root_aggregates, "root_member_of", "root_not_member_of"
    ):
        yield kind, names, in_aggregates(rule)


def group_conditions(world: World, group: RequestGroup) -> Iterator[Condition]:
    for name, amount in group.resources.items():
        # For a class that may be split, a piece is enough.
        amounts = range(1, amount + 1) if name in group.can_split else [amount]

        def has_amount(
            one: WorldProvider, name: str = name, amounts: Iterable[int] = amounts
        ) -> bool:
            return any(oracle.fits(one, {name: n}) for n in amounts)

        yield Condition("resources", group, (name,), has_amount)
    required = group.traits.required if group.one_provider or group.anywhere else ()
    on_each = TraitRule(required=required, forbidden=group.traits.forbidden)
    for kind, names, traits in single_traits(on_each, "required", "forbidden"):
        yield Condition(kind, group, names, with_traits(traits))
    for kind, names, rule in single_aggregates(group.aggregates, "member_of", "not_member_of"):

        def test(one: WorldProvider, rule: AggregateRule = rule) -> bool:
            spanned = frozenset() if group.one_provider else world.root(one).aggregates
            return oracle.member_of(one.aggregates | spanned, rule)

        yield Condition(kind, group, names, test)
    if group.in_tree is not None:
        yield Condition(
            "in_tree",
            group,
            (group.in_tree,),
            lambda one: oracle.is_in_tree(world, one, group.in_tree),
        )
    if group.in_subtree is not None:
        yield Condition(
            "in_subtree",
            group,
            (group.in_subtree,),
            lambda one: oracle.is_in_subtree(world, one, group.in_subtree),
        )


def single_traits(
    rule: TraitRule, required: str, forbidden: str
) -> Iterator[tuple[str, tuple[str, ...], TraitRule]]:
    for names in dict.fromkeys(rule.required):
        yield required, tuple(sorted(names)), TraitRule(required=(names,))
    for name in sorted(rule.forbidden):
        yield forbidden, (name,), TraitRule(forbidden=frozenset([name]))


def single_aggregates(
    rule: AggregateRule, required: str, forbidden: str
) -> Iterator[tuple[str, tuple[str, ...], AggregateRule]]:
    for names in dict.fromkeys(rule.required):
        yield required, tuple(sorted(names)), AggregateRule(required=(names,))
    for name in sorted(rule.forbidden):
        yield forbidden, (name,), AggregateRule(forbidden=frozenset([name]))


def can_serve(applied: list[Condition], about: Condition) -> Test:
    """Whether a provider can serve what a condition is about, by the conditions applied so far.

    A condition on a class does not restrict classes that another provider may serve.
    """
    of_group = [each for each in applied if each.group is about.group]
    rest = [each for each in of_group if each.kind != "resources"]
    return lambda one: (
        any(
            all(each.test(one) for each in of_group if each.names[0] in names)
            for names in parts_of(about)
        )
        and all(each.test(one) for each in rest)
    )


def parts_of(about: Condition) -> list[frozenset[str]]:
    """The classes of each part of a group that a condition is about.

    One provider serves a suffixed group. Classes of the unsuffixed group, and classes that may be
    split, are served separately.
    """
    group = about.group
    whole = group.resources.keys() - group.can_split
    parts = [frozenset({name}) for name in group.resources if name not in whole]
    if group.one_provider or group.anywhere:
        parts += [frozenset(whole)] if whole or not parts else []
    else:
        parts += [frozenset({name}) for name in whole]
    if about.kind == "resources":
        return [names for names in parts if about.names[0] in names]
    return parts


def tree_can_serve(
    world: World, root: WorldProvider, applied: list[Condition], about: Condition
) -> bool:
    """Whether a tree can serve every part that the condition is about."""
    of_group = [each for each in applied if each.group is about.group]
    # Nothing is shared with the tree that the unsuffixed group is bound to, or that must meet it.
    alone = about.group.anywhere or (
        not about.group.one_provider
        and any(each.kind in ("in_tree", "in_subtree") for each in of_group)
    )
    classes = {each.names[0] for each in of_group if each.kind == "resources"}
    return all(
        any(
            all(passes(of_group, take) for take in takes)
            and not (alone and any(take.provider.root_uuid != root.uuid for take in takes))
            for takes in ways_to_serve(world, root, about.group, names & classes)
        )
        for names in parts_of(about)
    )


def ways_to_serve(
    world: World, root: WorldProvider, group: RequestGroup, names: frozenset[str]
) -> Iterator[list[oracle.Take]]:
    """One provider for a part, or several for a class that may be split."""
    if not names & group.can_split:
        part = {name: group.resources[name] for name in names}
        yield from ([oracle.Take(group, part, one)] for one in oracle.available(world, root))
        return
    [name] = names
    for pieces in oracle.splits(world, root, name, group.resources[name]):
        yield [oracle.Take(group, {name: piece}, one) for one, piece in pieces]


def passes(applied: list[Condition], take: oracle.Take) -> bool:
    """Whether a provider may serve what is taken, by the conditions on its group."""
    return oracle.fits(take.provider, take.resources) and all(
        each.test(take.provider)
        for each in applied
        if each.group.suffix == take.group.suffix and each.kind != "resources"
    )


# ---------------------------------------------------------------------------------------------
# Rules on a whole assignment: those of the oracle, for a query that has no other such rule


def takes_from_a_provider_with(names: frozenset[str]) -> Callable[[oracle.Assignment], bool]:
    return lambda assignment: any(take.provider.traits & names for take in assignment.unsuffixed)


def rules_between(
    query: CandidateQuery,
) -> Iterator[tuple[str, str | None, tuple[str, ...], Callable[[oracle.Assignment], bool]]]:
    def applied_alone(
        rule: Callable[[oracle.Assignment], bool], **fields: object
    ) -> Callable[..., bool]:
        bare = {"isolate": False, "isolated": (), "same_subtree": (), "elsewhere": ()}
        return lambda assignment: rule(
            assignment._replace(query=evolve(assignment.query, **{**bare, **fields}))
        )

    for group in query.groups:
        if not group.one_provider and not group.anywhere:
            for names in dict.fromkeys(group.traits.required):
                yield (
                    "required",
                    "",
                    tuple(sorted(names)),
                    takes_from_a_provider_with(names),
                )
    suffixed = tuple(group.suffix for group in query.groups if group.one_provider)
    if query.isolate and len(suffixed) > 1:
        yield "group_policy", None, suffixed, applied_alone(oracle.isolated, isolate=True)
    for names in dict.fromkeys(query.isolated):
        yield (
            "isolate",
            None,
            tuple(sorted(names)),
            applied_alone(oracle.isolate, isolated=(names,)),
        )
    for names in dict.fromkeys(query.same_subtree):
        if len(names) > 1 or query.may_split:
            test = applied_alone(oracle.same_subtree, same_subtree=(names,))
            yield "same_subtree", None, tuple(sorted(names)), test
    for rule in dict.fromkeys(query.elsewhere):
        test = applied_alone(oracle.elsewhere, elsewhere=(rule,))
        yield "elsewhere", None, tuple(sorted(rule.inside)), test
    names_asked = [name for group in query.groups for name in group.resources]
    contended = [name for name in names_asked if names_asked.count(name) > 1]
    if contended:
        yield "capacity", None, tuple(dict.fromkeys(contended)), oracle.all_groups_fit
