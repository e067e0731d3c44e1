"""The sentences of an explanation."""

from typing import assert_never

from roost.reasons import (
    Explanation,
    ProviderMiss,
    Relaxation,
    Rule,
    RuleKind,
    TreeReason,
    UnitLimit,
    Verdict,
)

# Classes that have a unit: the noun and the unit of one.
_UNITS = {"MEMORY_MB": ("memory", "MB"), "DISK_GB": ("disk", "GB")}
_LARGER = {"MB": "GB", "GB": "TB"}


def rule_text(rule: Rule) -> str:
    """What a rule asks for, short enough for a cell of a table."""
    names = ", ".join(rule.names)
    one_of = names if len(rule.names) == 1 else f"one of {names}"
    match rule.kind:
        case RuleKind.ROOT_REQUIRED:
            text = f"the root has {one_of}"
        case RuleKind.ROOT_FORBIDDEN:
            text = f"the root does not have {names}"
        case RuleKind.ROOT_MEMBER_OF:
            text = f"the root is in aggregate {one_of}"
        case RuleKind.ROOT_NOT_MEMBER_OF:
            text = f"the root is not in aggregate {names}"
        case RuleKind.RESOURCES:
            text = f"{names} {rule.amount}"
            if rule.may_split:
                text += ", in pieces"
        case RuleKind.REQUIRED:
            text = f"has {one_of}"
        case RuleKind.FORBIDDEN:
            text = f"does not have {names}"
        case RuleKind.MEMBER_OF:
            text = f"in aggregate {one_of}"
        case RuleKind.NOT_MEMBER_OF:
            text = f"not in aggregate {names}"
        case RuleKind.IN_TREE:
            text = f"in the tree of {names}"
        case RuleKind.IN_SUBTREE:
            text = f"at or below {names}"
        case RuleKind.GROUP_POLICY:
            text = "group_policy=isolate"
        case RuleKind.ISOLATE:
            text = f"isolate {names}"
        case RuleKind.SAME_SUBTREE:
            text = f"same_subtree {names}"
        case RuleKind.ELSEWHERE:
            text = f"{', '.join(rule.outside)} outside the subtree of {names}"
        case RuleKind.CAPACITY:
            text = f"{names} of all groups together"
        case _:
            assert_never(rule.kind)
    return f"{rule.group}: {text}" if rule.group else text


# ---------------------------------------------------------------------------------------------
# Trees and providers


def tree_text(reason: TreeReason) -> str:
    """A sentence about one tree: that it fits, or the first reason why it does not."""
    if reason.rule is None and not reason.is_decided:
        return f"it is unknown whether {reason.name} fits"
    if reason.rule is None:
        return f"{reason.name} fits"
    return f"{reason.name} fails at {failure_text(reason, reason.rule)}"


def failure_text(reason: TreeReason, rule: Rule) -> str:
    """The rule that a tree does not meet, and how its providers break it."""
    said = [provider_text(each, rule) for each in reason.providers]
    if reason.providers_more:
        said.append(f"and {reason.providers_more:,} more")
    if not said:
        said = [_without_providers(reason, rule)]
    return f"{rule_text(rule)}: " + "; ".join(said)


def provider_text(miss: ProviderMiss, rule: Rule) -> str:
    """How one provider breaks a rule."""
    names = ", ".join(miss.broken)
    match rule.kind:
        case RuleKind.RESOURCES:
            return f"{miss.name}: {rule.names[0]} {_inventory_text(miss)}"
        case RuleKind.CAPACITY:
            return f"{miss.name}: {names} {miss.asked} asked together, {_free_text(miss)}"
        case RuleKind.REQUIRED | RuleKind.ROOT_REQUIRED:
            return f"{miss.name} lacks {names}"
        case RuleKind.FORBIDDEN | RuleKind.ROOT_FORBIDDEN:
            return f"{miss.name} has {names}"
        case RuleKind.MEMBER_OF | RuleKind.ROOT_MEMBER_OF:
            return f"{miss.name} is not in {names}"
        case RuleKind.NOT_MEMBER_OF | RuleKind.ROOT_NOT_MEMBER_OF:
            # An aggregate of the root spans its tree, so the provider itself may be in none.
            return f"{miss.name} is in {names or rule.names[0]}"
        case (
            RuleKind.IN_TREE
            | RuleKind.IN_SUBTREE
            | RuleKind.GROUP_POLICY
            | RuleKind.ISOLATE
            | RuleKind.SAME_SUBTREE
            | RuleKind.ELSEWHERE
        ):
            return f"{miss.name} stands elsewhere"
    assert_never(rule.kind)


def _inventory_text(miss: ProviderMiss) -> str:
    units = [
        f"{said} {getattr(miss, part)}"
        for part, said in (
            (UnitLimit.BELOW_MIN_UNIT, "less than min_unit"),
            (UnitLimit.ABOVE_MAX_UNIT, "more than max_unit"),
            (UnitLimit.NO_WHOLE_STEP, "no multiple of step_size"),
        )
        if part in miss.broken
    ]
    said = ", ".join(units) or "units ok"
    if miss.gives is not None:
        said = f"gives {miss.gives}"
    return f"{miss.asked} asked, {_free_text(miss)}; {said}"


def _free_text(miss: ProviderMiss) -> str:
    return f"{miss.free} free of {miss.capacity}"


def _without_providers(reason: TreeReason, rule: Rule) -> str:
    return _tree_wide_text(rule) if reason.is_examined else "its providers were not all examined"


def _tree_wide_text(rule: Rule) -> str:
    """Why a tree fails at a rule, where no single provider breaks it."""
    names = ", ".join(rule.names)
    match rule.kind:
        case RuleKind.RESOURCES:
            return f"no provider that is left has {names}"
        case RuleKind.REQUIRED:
            return f"no combination of its providers has {' or '.join(rule.names)}"
        case RuleKind.GROUP_POLICY | RuleKind.ISOLATE:
            return f"it has too few providers to serve {names} by different ones"
        case RuleKind.SAME_SUBTREE:
            return f"none of the providers that can serve {names} is above the others"
        case RuleKind.ELSEWHERE:
            return f"{', '.join(rule.outside)} can only be served from the subtree of {names}"
        case (
            RuleKind.ROOT_REQUIRED
            | RuleKind.ROOT_FORBIDDEN
            | RuleKind.ROOT_MEMBER_OF
            | RuleKind.ROOT_NOT_MEMBER_OF
            | RuleKind.FORBIDDEN
            | RuleKind.MEMBER_OF
            | RuleKind.NOT_MEMBER_OF
            | RuleKind.IN_TREE
            | RuleKind.IN_SUBTREE
            | RuleKind.CAPACITY
        ):
            return "no provider is left"
    assert_never(rule.kind)


# ---------------------------------------------------------------------------------------------
# Relaxations


def relaxation_text(relaxation: Relaxation) -> str:
    """What to ask for instead; it follows "it would fit"."""
    rule = relaxation.rule
    of_group = f" in group {rule.group}" if rule.group else ""
    if relaxation.amount is not None:
        assert rule.amount is not None
        less = _quantity(rule.names[0], rule.amount - relaxation.amount)
        return f"with {less}{of_group} ({rule.names[0]}:{relaxation.amount})"
    names = " or ".join(rule.names)
    match rule.kind:
        case RuleKind.RESOURCES:
            return f"without {names}{of_group}"
        case RuleKind.REQUIRED:
            return f"without the trait {names}{of_group}"
        case RuleKind.ROOT_REQUIRED:
            return f"without the trait {names} of the root"
        case RuleKind.FORBIDDEN:
            return f"if the trait {names} were allowed{of_group}"
        case RuleKind.ROOT_FORBIDDEN:
            return f"if the root were allowed to have {names}"
        case RuleKind.MEMBER_OF:
            return f"without the aggregate {names}{of_group}"
        case RuleKind.ROOT_MEMBER_OF:
            return f"without the aggregate {names} of the root"
        case RuleKind.NOT_MEMBER_OF | RuleKind.ROOT_NOT_MEMBER_OF:
            return f"if the aggregate {names} were allowed{of_group}"
        case RuleKind.IN_TREE:
            return f"without in_tree{of_group}"
        case RuleKind.IN_SUBTREE:
            return f"without in_subtree{of_group}"
        case RuleKind.ELSEWHERE:
            return f"if {', '.join(rule.outside)} were allowed in the subtree of {names}"
        case RuleKind.GROUP_POLICY | RuleKind.ISOLATE | RuleKind.SAME_SUBTREE | RuleKind.CAPACITY:
            return f"without {rule_text(rule)}"
    assert_never(rule.kind)


def _quantity(name: str, amount: int) -> str:
    """`2 GB less memory`, or `2 less VCPU` where the class has no unit."""
    if name not in _UNITS:
        return f"{amount:,} less {name}"
    what, unit = _UNITS[name]
    if amount % 1024 == 0 and unit in _LARGER:
        amount, unit = amount // 1024, _LARGER[unit]
    return f"{amount:,} {unit} less {what}"


# ---------------------------------------------------------------------------------------------
# Summary


def summary(explanation: Explanation) -> str:
    """The explanation in one sentence."""
    if explanation.verdict == Verdict.FITS:
        return _who_fits(explanation)
    if not explanation.trees:
        return "No tree fits: there are no providers."
    tree = explanation.tree
    reason = tree or next(iter(explanation.nearest), None)
    if reason is None or reason.rule is None:
        who = "a tree" if tree is None else tree.name
        text = f"It is unknown whether {who} fits, because the search took too long and gave up"
    else:
        who = "No tree fits" if tree is None else f"{tree.name} does not fit"
        text = f"{who}{_when(explanation)}: {_why(reason, is_nearest=tree is None)}"
    if explanation.relaxations:
        text += f"; it would fit {relaxation_text(explanation.relaxations[0])}"
    return text + "."


def _who_fits(explanation: Explanation) -> str:
    if explanation.tree is not None:
        return f"{explanation.tree.name} fits."
    if not explanation.complete:
        return "At least 1 tree fits."
    count = explanation.stages[-1].trees_out if explanation.stages else explanation.trees
    return f"{_trees(count)} {'fits' if count == 1 else 'fit'}."


def _when(explanation: Explanation) -> str:
    """Whether the request could fit later, once less is used."""
    if explanation.verdict == Verdict.NOT_NOW:
        return " now"
    if explanation.verdict == Verdict.UNKNOWN:
        return " now (whether it would if nothing were used was not found out in time)"
    if explanation.tree is None:
        return ", and none would if all were empty"
    return ", and would not if it were empty"


def _why(reason: TreeReason, *, is_nearest: bool) -> str:
    assert reason.rule is not None
    who = f"{reason.name}, the nearest, fails" if is_nearest else "it fails"
    said = provider_text(reason.providers[0], reason.rule) if reason.providers else None
    said = said or _without_providers(reason, reason.rule)
    return f"{who} at {rule_text(reason.rule)} ({said})"


def _trees(count: int) -> str:
    return f"{count:,} tree{'' if count == 1 else 's'}"
