"""Why one tree was lost, provider by provider, with numbers."""

from collections.abc import Callable, Iterable, Iterator
from typing import assert_never

import numpy as np
from msgspec.structs import replace as evolve

from roost.reasons import ProviderMiss, Rule, RuleKind, TreeReason, UnitLimit
from roost.search.budget import GaveUp
from roost.search.explain.funnel import SURVIVES, Funnel
from roost.search.explain.rules import is_between_slots
from roost.search.index.columns import CAPACITY_MAX, Integers
from roost.search.index.index import Index
from roost.search.index.providers import IndexedInventory, column_capacity
from roost.search.sharing import sharing_with
from roost.search.split.slots import piece_sizes_of

# How many providers of a tree, and how many trees, are reported at most.
PROVIDERS_MAX = 10
NEAREST_MAX = 5


def reason_of(funnel: Funnel, root: int) -> TreeReason:
    """Where this tree was lost, and why; with fewer providers if the budget runs out."""
    index, stage = funnel.index, int(funnel.lost_at[root])
    uuid, name = index.uuids[root], index.names[root]
    if stage == SURVIVES:
        is_decided = funnel.fits(root) is not None
        return TreeReason(uuid=uuid, name=name, stage=None, is_decided=is_decided)
    rule = funnel.rules[stage]
    misses: list[ProviderMiss] = []
    is_examined = True
    try:
        for miss in _misses(funnel, stage, rule, root):
            funnel.budget.step()
            misses.append(miss)
    except GaveUp:
        is_examined = False
    misses.sort(key=_distance)
    return TreeReason(
        uuid=uuid,
        name=name,
        stage=stage,
        rule=rule,
        providers=tuple(misses[:PROVIDERS_MAX]),
        providers_more=max(0, len(misses) - PROVIDERS_MAX),
        is_examined=is_examined,
    )


def nearest(funnel: Funnel) -> tuple[TreeReason, ...]:
    """The trees that came furthest, those that lack least first."""
    roots, lost_at = funnel.roots, funnel.lost_at[funnel.roots]
    if not len(roots) or len(funnel.left):
        return ()
    stage = int(lost_at.max())
    roots = roots[lost_at == stage]
    rule = funnel.rules[stage]
    if rule.kind == RuleKind.RESOURCES:
        try:
            funnel.budget.examine_rows(funnel.index.rows.count)
            roots = roots[np.argsort(_lacking(funnel, stage, rule)[roots], kind="stable")]
        except GaveUp:
            # In another order: they came as far as any.
            pass
    return tuple(reason_of(funnel, root) for root in roots[:NEAREST_MAX].tolist())


def _lacking(funnel: Funnel, stage: int, rule: Rule) -> Integers:
    """For each root: how much more the best provider of its tree would have to have free."""
    assert rule.amount is not None
    index = funnel.index
    end = index.rows.count
    lacking = np.full(end, np.iinfo(np.int64).max)
    column = index.columns.get(index.classes.ids[rule.names[0]])
    if column is None:
        return lacking
    able = np.zeros(end, dtype=np.bool_)
    for slot in funnel.slots_at(stage, rule, after=False):
        able[slot.able_rows] = True
    filled = slice(0, column.count)
    rows = column.row[filled]
    asked = min(rule.amount, CAPACITY_MAX)
    free = np.clip(column.capacity[filled] - column.used[filled], 0, asked)
    if rule.may_split:
        # What all providers of the tree have free, added up, counts.
        free_total = np.zeros(end, dtype=np.int64)
        np.add.at(free_total, index.rows.root[rows[able[rows]]], free[able[rows]])
        return np.maximum(asked - free_total, 0)
    least = asked - free
    wanted = able[rows]
    np.minimum.at(lacking, index.rows.root[rows[wanted]], least[wanted])
    return lacking


# ---------------------------------------------------------------------------------------------
# Providers


def _misses(funnel: Funnel, stage: int, rule: Rule, root: int) -> Iterable[ProviderMiss]:
    index = funnel.index

    def misses_of_names(names_of: Callable[[int], Iterable[str]]) -> Iterator[ProviderMiss]:
        rows = _checked_at(funnel, stage, rule, root)
        return (_miss_of_names(index, row, rule, names_of(row)) for row in rows)

    match rule.kind:
        case RuleKind.ROOT_REQUIRED | RuleKind.ROOT_FORBIDDEN:
            return [_miss_of_names(index, root, rule, index.trait_names(root))]
        case RuleKind.ROOT_MEMBER_OF | RuleKind.ROOT_NOT_MEMBER_OF:
            return [_miss_of_names(index, root, rule, index.row_aggregates(root))]
        case RuleKind.RESOURCES:
            return _misses_of_resources(funnel, _checked_at(funnel, stage, rule, root), rule)
        case RuleKind.REQUIRED if is_between_slots(rule):
            # Every combination of providers breaks the rule, but no provider alone.
            return []
        case RuleKind.REQUIRED | RuleKind.FORBIDDEN:
            return misses_of_names(index.trait_names)
        case RuleKind.MEMBER_OF | RuleKind.NOT_MEMBER_OF:
            return misses_of_names(index.row_aggregates)
        case RuleKind.IN_TREE | RuleKind.IN_SUBTREE:
            rows = _checked_at(funnel, stage, rule, root)
            return (ProviderMiss(uuid=index.uuids[row], name=index.names[row]) for row in rows)
        case RuleKind.GROUP_POLICY | RuleKind.ISOLATE | RuleKind.SAME_SUBTREE | RuleKind.ELSEWHERE:
            return []
        case RuleKind.CAPACITY:
            return _misses_together(funnel, rule, root)
    assert_never(rule.kind)


def _misses_of_resources(funnel: Funnel, rows: Iterable[int], rule: Rule) -> Iterator[ProviderMiss]:
    index = funnel.index
    class_id = index.classes.ids[rule.names[0]]
    for row in rows:
        # Most providers of a tree may have no inventory of the class, and are no miss.
        funnel.budget.step()
        inventory = index.inventory(class_id, row)
        if inventory is not None:
            miss = _miss_of_inventory(index, row, inventory, rule.amount or 0)
            yield _with_piece(index, miss, class_id) if rule.may_split else miss


def _checked_at(funnel: Funnel, stage: int, rule: Rule, root: int) -> list[int]:
    """The providers that met every earlier rule for this tree, so that this rule checked them."""
    index = funnel.index
    able: set[int] = set()
    for slot in funnel.slots_at(stage, rule, after=False):
        able.update(slot.rows_of(root, sharing_with(index, root)))
    return sorted(able)


def _misses_together(funnel: Funnel, rule: Rule, root: int) -> Iterable[ProviderMiss]:
    """The providers of each class of which the groups together ask for too much."""
    index = funnel.index
    for name in rule.names:
        asked = sum(group.resources.get(name, 0) for group in funnel.query.groups)
        for row in (*index.tree_rows(root), *sharing_with(index, root)):
            funnel.budget.step()
            inventory = index.inventory(index.classes.ids[name], row)
            if inventory is not None:
                yield _miss_of_inventory(index, row, inventory, asked, name)


def _miss_of_inventory(
    index: Index, row: int, inventory: IndexedInventory, amount: int, name: str | None = None
) -> ProviderMiss:
    capacity = column_capacity(inventory)
    broken = [
        limit
        for limit, breaks in (
            (UnitLimit.NOT_FREE, inventory.used + amount > capacity),
            (UnitLimit.BELOW_MIN_UNIT, amount < inventory.min_unit),
            (UnitLimit.ABOVE_MAX_UNIT, amount > inventory.max_unit),
            (UnitLimit.NO_WHOLE_STEP, amount % inventory.step_size != 0),
        )
        if breaks
    ]
    return ProviderMiss(
        uuid=index.uuids[row],
        name=index.names[row],
        broken=tuple(broken) if name is None else (name,),
        asked=amount,
        used=inventory.used,
        capacity=capacity,
        min_unit=inventory.min_unit,
        max_unit=inventory.max_unit,
        step_size=inventory.step_size,
    )


def _with_piece(index: Index, miss: ProviderMiss, class_id: int) -> ProviderMiss:
    """With the largest piece that the provider can serve: units bound each piece alone."""
    found = piece_sizes_of(index, class_id, index.row_of_uuid[miss.uuid])
    gives = 0 if found is None else min(found.high, miss.asked or 0)
    return evolve(miss, gives=gives, broken=(UnitLimit.NOT_FREE,))


def _miss_of_names(index: Index, row: int, rule: Rule, held: Iterable[str]) -> ProviderMiss:
    """The names that break the rule: required ones are all missing, forbidden ones are present."""
    wanted = rule.kind in (
        RuleKind.ROOT_REQUIRED,
        RuleKind.ROOT_MEMBER_OF,
        RuleKind.REQUIRED,
        RuleKind.MEMBER_OF,
    )
    broken = rule.names if wanted else tuple(name for name in rule.names if name in set(held))
    return ProviderMiss(uuid=index.uuids[row], name=index.names[row], broken=broken)


def _distance(miss: ProviderMiss) -> tuple[int, int, str]:
    return (len(miss.broken), miss.lacking, miss.name)
