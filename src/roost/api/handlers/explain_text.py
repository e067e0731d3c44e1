"""Explanations in words."""

from roost import reasons
from roost.reasons import Explanation, ProviderMiss, Relaxation, Rule, TreeReason

# Classes of which people speak in units of their own: what it is, and how much one of them is.
_UNITS = {"MEMORY_MB": ("memory", "MB"), "DISK_GB": ("disk", "GB")}
_LARGER = {"MB": "GB", "GB": "TB"}


def rule_text(rule: Rule) -> str:
    """What a rule asks, short enough for a table."""
    names = ", ".join(rule.names)
    one_of = names if len(rule.names) == 1 else f"one of {names}"
    match rule.kind:
        case reasons.ROOT_REQUIRED:
            text = f"the root has {one_of}"
        case reasons.ROOT_FORBIDDEN:
            text = f"the root does not have {names}"
        case reasons.ROOT_MEMBER_OF:
            text = f"the root is in aggregate {one_of}"
        case reasons.ROOT_NOT_MEMBER_OF:
            text = f"the root is not in aggregate {names}"
        case reasons.RESOURCES:
            text = f"{names} {rule.amount}"
            if rule.may_split:
                text += ", in pieces"
        case reasons.REQUIRED:
            text = f"has {one_of}"
        case reasons.FORBIDDEN:
            text = f"does not have {names}"
        case reasons.MEMBER_OF:
            text = f"in aggregate {one_of}"
        case reasons.NOT_MEMBER_OF:
            text = f"not in aggregate {names}"
        case reasons.IN_TREE:
            text = f"in the tree of {names}"
        case reasons.IN_SUBTREE:
            text = f"at or below {names}"
        case reasons.GROUP_POLICY:
            text = "group_policy=isolate"
        case reasons.ISOLATE:
            text = f"isolate {names}"
        case reasons.SAME_SUBTREE:
            text = f"same_subtree {names}"
        case reasons.ELSEWHERE:
            text = f"{', '.join(rule.outside)} outside the subtree of {names}"
        case _:
            text = f"{names} of all groups together"
    return f"{rule.group}: {text}" if rule.group else text


# ---------------------------------------------------------------------------------------------
# Trees and providers


def tree_text(reason: TreeReason) -> str:
    """The first reason why a tree does not fit."""
    rule = reason.rule
    if rule is None:
        return f"{reason.name} fits"
    said = [provider_text(each, rule) for each in reason.providers]
    if reason.providers_more:
        said.append(f"and {reason.providers_more:,} more")
    if not said:
        said = [_nobody(rule)]
    return f"{reason.name} fails at {rule_text(rule)}: " + "; ".join(said)


def provider_text(miss: ProviderMiss, rule: Rule) -> str:
    names = ", ".join(miss.broken)
    match rule.kind:
        case reasons.RESOURCES:
            return f"{miss.name}: {rule.names[0]} {_stock(miss)}"
        case reasons.CAPACITY:
            return f"{miss.name}: {names} {miss.asked} asked together, {_free(miss)}"
        case reasons.REQUIRED | reasons.ROOT_REQUIRED:
            return f"{miss.name} lacks {names}"
        case reasons.FORBIDDEN | reasons.ROOT_FORBIDDEN:
            return f"{miss.name} has {names}"
        case reasons.MEMBER_OF | reasons.ROOT_MEMBER_OF:
            return f"{miss.name} is not in {names}"
        case reasons.NOT_MEMBER_OF | reasons.ROOT_NOT_MEMBER_OF:
            # An aggregate on a root spans its tree, and then the provider itself is in none.
            return f"{miss.name} is in {names or rule.names[0]}"
    return f"{miss.name} stands elsewhere"


def _stock(miss: ProviderMiss) -> str:
    units = [
        f"{said} {getattr(miss, part)}"
        for part, said in (
            (reasons.BELOW_MIN_UNIT, "less than min_unit"),
            (reasons.ABOVE_MAX_UNIT, "more than max_unit"),
            (reasons.NO_WHOLE_STEP, "no multiple of step_size"),
        )
        if part in miss.broken
    ]
    said = ", ".join(units) or "units ok"
    if miss.gives is not None:
        said = f"gives {miss.gives}"
    return f"{miss.asked} asked, {_free(miss)}; {said}"


def _free(miss: ProviderMiss) -> str:
    return f"{miss.free} free of {miss.capacity}"


def _nobody(rule: Rule) -> str:
    """What holds of a tree where no single provider is to blame."""
    names = ", ".join(rule.names)
    match rule.kind:
        case reasons.RESOURCES:
            return f"no provider that is left has {names}"
        case reasons.REQUIRED:
            return f"no combination of its providers has {' or '.join(rule.names)}"
        case reasons.GROUP_POLICY | reasons.ISOLATE:
            return f"it has too few providers to serve {names} by different ones"
        case reasons.SAME_SUBTREE:
            return f"none of the providers that can serve {names} is above the others"
        case reasons.ELSEWHERE:
            return f"{', '.join(rule.outside)} can only be served from the subtree of {names}"
    return "no provider is left"


# ---------------------------------------------------------------------------------------------
# What would help


def relaxation_text(relaxation: Relaxation) -> str:
    """What to ask instead, as it follows "it would fit"."""
    rule = relaxation.rule
    of_group = f" in group {rule.group}" if rule.group else ""
    if relaxation.amount is not None:
        assert rule.amount is not None
        less = _quantity(rule.names[0], rule.amount - relaxation.amount)
        return f"with {less}{of_group} ({rule.names[0]}:{relaxation.amount})"
    names = " or ".join(rule.names)
    match rule.kind:
        case reasons.RESOURCES:
            return f"without {names}{of_group}"
        case reasons.REQUIRED:
            return f"without the trait {names}{of_group}"
        case reasons.ROOT_REQUIRED:
            return f"without the trait {names} of the root"
        case reasons.FORBIDDEN:
            return f"if the trait {names} were allowed{of_group}"
        case reasons.ROOT_FORBIDDEN:
            return f"if the root were allowed to have {names}"
        case reasons.MEMBER_OF:
            return f"without the aggregate {names}{of_group}"
        case reasons.ROOT_MEMBER_OF:
            return f"without the aggregate {names} of the root"
        case reasons.NOT_MEMBER_OF | reasons.ROOT_NOT_MEMBER_OF:
            return f"if the aggregate {names} were allowed{of_group}"
        case reasons.IN_TREE:
            return f"without in_tree{of_group}"
        case reasons.IN_SUBTREE:
            return f"without in_subtree{of_group}"
        case reasons.ELSEWHERE:
            return f"if {', '.join(rule.outside)} were allowed in the subtree of {names}"
    return f"without {rule_text(rule)}"


def _quantity(name: str, amount: int) -> str:
    """`2 GB less memory`, or `2 less VCPU` where the class has no unit."""
    if name not in _UNITS:
        return f"{amount:,} less {name}"
    what, unit = _UNITS[name]
    if amount % 1024 == 0 and unit in _LARGER:
        amount, unit = amount // 1024, _LARGER[unit]
    return f"{amount:,} {unit} less {what}"


def summary(explanation: Explanation) -> str:
    """All of it in a sentence."""
    tree = explanation.tree
    who = "No tree" if tree is None else tree.name
    if explanation.verdict == reasons.FITS:
        count = explanation.stages[-1].trees_out if explanation.stages else explanation.trees
        fit = "fits" if count == 1 else "fit"
        return f"{who} fits." if tree is not None else f"{_trees(count)} {fit}."
    if not explanation.trees:
        return "No tree fits: there are no providers."
    verb = "fits" if tree is None else "does not fit"
    text = f"{who} {verb}{_when(explanation)}: "
    text += _why(tree or explanation.nearest[0], is_nearest=tree is None)
    if explanation.relaxations:
        text += f"; it would fit {relaxation_text(explanation.relaxations[0])}"
    return text + "."


def _when(explanation: Explanation) -> str:
    if explanation.verdict == reasons.NOT_NOW:
        return " now"
    if explanation.tree is None:
        return ", and none would if all were empty"
    return ", and would not if it were empty"


def _why(reason: TreeReason, *, is_nearest: bool) -> str:
    assert reason.rule is not None
    who = f"{reason.name}, the nearest, fails" if is_nearest else "it fails"
    said = provider_text(reason.providers[0], reason.rule) if reason.providers else None
    return f"{who} at {rule_text(reason.rule)} ({said or _nobody(reason.rule)})"


def _trees(count: int) -> str:
    return f"{count:,} tree{'' if count == 1 else 's'}"
