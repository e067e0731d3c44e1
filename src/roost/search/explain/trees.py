"""Why one tree was lost, provider by provider, with numbers."""

from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace as evolve

from roost.reasons import OF_THE_ROOT, ProviderMiss, Rule, RuleKind, TreeReason, UnitLimit
from roost.search.explain.funnel import SURVIVES, Funnel
from roost.search.explain.rules import is_between_slots
from roost.search.index.columns import CAPACITY_MAX, Integers
from roost.search.index.index import Index
from roost.search.index.nodes import IndexedInventory, column_capacity
from roost.search.sharing import lenders_of
from roost.search.split.parts import offer_of

# So many providers of a tree are told about, and so many trees that came near.
PROVIDERS_MAX = 10
NEAREST_MAX = 5


def reason_of(funnel: Funnel, root: int) -> TreeReason:
    """Where this tree was lost, and why."""
    index, stage = funnel.index, int(funnel.lost_at[root])
    if stage == SURVIVES:
        return TreeReason(uuid=index.uuids[root], name=index.names[root], stage=None)
    rule = funnel.rules[stage]
    misses = sorted(_misses(funnel, stage, rule, root), key=_distance)
    return TreeReason(
        uuid=index.uuids[root],
        name=index.names[root],
        stage=stage,
        rule=rule,
        providers=tuple(misses[:PROVIDERS_MAX]),
        providers_more=max(0, len(misses) - PROVIDERS_MAX),
    )


def nearest(funnel: Funnel) -> tuple[TreeReason, ...]:
    """The trees that came furthest, those that lack least first."""
    roots, lost_at = funnel.roots, funnel.lost_at[funnel.roots]
    if not len(roots) or SURVIVES in lost_at:
        return ()
    stage = int(lost_at.max())
    roots = roots[lost_at == stage]
    rule = funnel.rules[stage]
    if rule.kind == RuleKind.RESOURCES:
        roots = roots[np.argsort(_lacking(funnel, stage, rule)[roots], kind="stable")]
    return tuple(reason_of(funnel, root) for root in roots[:NEAREST_MAX].tolist())


def _lacking(funnel: Funnel, stage: int, rule: Rule) -> Integers:
    """For each root: how much more its own best provider would have to have free."""
    assert rule.amount is not None
    index = funnel.index
    end = index.rows.count
    lacking = np.full(end, np.iinfo(np.int64).max)
    column = index.columns.get(index.classes.ids[rule.names[0]])
    if column is None:
        return lacking
    able = np.zeros(end, dtype=np.bool_)
    for asked_part in funnel.parts_at(stage, rule, after=False):
        able[asked_part.givers] = True
    part = slice(0, column.count)
    rows = column.row[part]
    asked = min(rule.amount, CAPACITY_MAX)
    free = np.clip(column.capacity[part] - column.used[part], 0, asked)
    if rule.may_split:
        # What all of the tree have free counts.
        given = np.zeros(end, dtype=np.int64)
        np.add.at(given, index.rows.root[rows[able[rows]]], free[able[rows]])
        return np.maximum(asked - given, 0)
    least = asked - free
    wanted = able[rows]
    np.minimum.at(lacking, index.rows.root[rows[wanted]], least[wanted])
    return lacking


# ---------------------------------------------------------------------------------------------
# Providers


def _misses(funnel: Funnel, stage: int, rule: Rule, root: int) -> Iterable[ProviderMiss]:
    index = funnel.index
    if rule.kind in (RuleKind.ROOT_REQUIRED, RuleKind.ROOT_FORBIDDEN):
        return [_miss_of_names(index, root, rule, index.trait_names(root))]
    if rule.kind in OF_THE_ROOT:
        return [_miss_of_names(index, root, rule, index.row_aggregates(root))]
    if rule.kind == RuleKind.CAPACITY:
        return _misses_together(funnel, rule, root)
    if is_between_slots(rule):
        # No provider of its own breaks it, but every combination does.
        return []
    rows = _asked_at(funnel, stage, rule, root)
    match rule.kind:
        case RuleKind.RESOURCES:
            class_id = index.classes.ids[rule.names[0]]
            stocks = {row: index.inventory(class_id, row) for row in rows}
            misses = [
                _miss_of_stock(index, row, stock, rule.amount or 0)
                for row, stock in stocks.items()
                if stock is not None
            ]
            if rule.may_split:
                return [_with_piece(index, miss, class_id) for miss in misses]
            return misses
        case RuleKind.REQUIRED | RuleKind.FORBIDDEN:
            return [_miss_of_names(index, row, rule, index.trait_names(row)) for row in rows]
        case RuleKind.MEMBER_OF | RuleKind.NOT_MEMBER_OF:
            return [_miss_of_names(index, row, rule, index.row_aggregates(row)) for row in rows]
    return [ProviderMiss(uuid=index.uuids[row], name=index.names[row]) for row in rows]


def _asked_at(funnel: Funnel, stage: int, rule: Rule, root: int) -> list[int]:
    """The providers that met every rule so far for this tree, and so were asked by the next."""
    index = funnel.index
    able: set[int] = set()
    for part in funnel.parts_at(stage, rule, after=False):
        able.update(part.rows_of(root, lenders_of(index, root)))
    return sorted(able)


def _misses_together(funnel: Funnel, rule: Rule, root: int) -> Iterable[ProviderMiss]:
    """Who has some of a class that groups together ask for more of than can be had."""
    index = funnel.index
    for name in rule.names:
        asked = sum(group.resources.get(name, 0) for group in funnel.query.groups)
        for row in (*index.tree_rows(root), *lenders_of(index, root)):
            stock = index.inventory(index.classes.ids[name], row)
            if stock is not None:
                yield _miss_of_stock(index, row, stock, asked, name)


def _miss_of_stock(
    index: Index, row: int, stock: IndexedInventory, amount: int, name: str | None = None
) -> ProviderMiss:
    capacity = column_capacity(stock)
    broken = [
        part
        for part, breaks in (
            (UnitLimit.NOT_FREE, stock.used + amount > capacity),
            (UnitLimit.BELOW_MIN_UNIT, amount < stock.min_unit),
            (UnitLimit.ABOVE_MAX_UNIT, amount > stock.max_unit),
            (UnitLimit.NO_WHOLE_STEP, amount % stock.step_size != 0),
        )
        if breaks
    ]
    return ProviderMiss(
        uuid=index.uuids[row],
        name=index.names[row],
        broken=tuple(broken) if name is None else (name,),
        asked=amount,
        used=stock.used,
        capacity=capacity,
        min_unit=stock.min_unit,
        max_unit=stock.max_unit,
        step_size=stock.step_size,
    )


def _with_piece(index: Index, miss: ProviderMiss, class_id: int) -> ProviderMiss:
    """What the provider gives of an amount that may be split: units bound each piece alone."""
    found = offer_of(index, class_id, index.row_of_uuid[miss.uuid])
    gives = 0 if found is None else min(found.high, miss.asked or 0)
    return evolve(miss, gives=gives, broken=(UnitLimit.NOT_FREE,))


def _miss_of_names(index: Index, row: int, rule: Rule, held: Iterable[str]) -> ProviderMiss:
    """Of what is forbidden only what is there; of what is required all, since none is."""
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
