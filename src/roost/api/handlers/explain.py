"""/allocation_candidates/explain: why a request fits or does not."""

from typing import Any

from roost.api.handlers.explain_text import (
    failure_text,
    provider_text,
    relaxation_text,
    rule_text,
    summary,
    tree_text,
)
from roost.api.http.error_wording import ErrorWordings, reword_errors
from roost.api.http.messages import Reply, Request
from roost.api.parsing import bodies, candidate_query, pages, query_string
from roost.api.versions import VERSION_MAX
from roost.operations.candidates import explain_candidates
from roost.reasons import Explanation, ProviderMiss, Rule, Stage, TreeReason
from roost.service.service import Roost

WORDINGS: ErrorWordings = {
    **candidate_query.EXTENSION_WORDINGS,
    **pages.TREE_WORDINGS,
}


def get(roost: Roost, request: Request) -> Reply:
    return _explain(roost, query_string.split(request.query_string))


def post(roost: Roost, request: Request) -> Reply:
    body = bodies.read(request.body, request.body_schema)
    return _explain(roost, candidate_query.parameters_of(body))


def _explain(roost: Roost, given: query_string.Parameters) -> Reply:
    parameters = dict(given)
    tree_uuid = pages.parse_tree(query_string.once(parameters, "tree"))
    parameters.pop("tree", None)
    query = candidate_query.parse_parameters(parameters, VERSION_MAX, extended=True)
    with reword_errors(WORDINGS):
        found = explain_candidates(roost, query=query, tree_uuid=tree_uuid)
    return Reply(body=render(found), shows_state=True)


def render(found: Explanation) -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "summary": summary(found),
        "trees": found.trees,
        "providers": found.providers,
        "stages": [_stage(each) for each in found.stages],
        "tree": None if found.tree is None else _tree(found.tree),
        "nearest": [_tree(each) for each in found.nearest],
        "relaxations": [
            {"rule": _rule(each.rule), "amount": each.amount, "text": relaxation_text(each)}
            for each in found.relaxations
        ],
        "complete": found.complete,
    }


def _stage(stage: Stage) -> dict[str, Any]:
    return {
        "rule": _rule(stage.rule),
        "text": rule_text(stage.rule),
        "trees": {"in": stage.trees_in, "out": stage.trees_out},
        "providers": {"in": stage.providers_in, "out": stage.providers_out},
    }


def _rule(rule: Rule) -> dict[str, Any]:
    """A rule, without the fields that do not apply to its kind."""
    shown: dict[str, Any] = {"kind": rule.kind}
    if rule.group is not None:
        shown["group"] = rule.group
    shown["names"] = rule.names
    if rule.outside:
        shown["outside"] = rule.outside
    if rule.amount is not None:
        shown["amount"] = rule.amount
    if rule.may_split:
        shown["can_split"] = True
    return shown


def _tree(reason: TreeReason) -> dict[str, Any]:
    rule = reason.rule
    return {
        "uuid": reason.uuid,
        "name": reason.name,
        "stage": reason.stage,
        "rule": None if rule is None else _rule(rule),
        "reason": None if rule is None else failure_text(reason, rule),
        "text": tree_text(reason),
        "providers": [] if rule is None else [_provider(each, rule) for each in reason.providers],
        "providers_more": reason.providers_more,
    }


def _provider(miss: ProviderMiss, rule: Rule) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "uuid": miss.uuid,
        "name": miss.name,
        "broken": miss.broken,
        "text": provider_text(miss, rule),
    }
    if miss.asked is not None:
        fields = ("asked", "free", "used", "capacity", "min_unit", "max_unit", "step_size")
        shown["inventory"] = {name: getattr(miss, name) for name in fields}
    if miss.gives is not None:
        shown["gives"] = miss.gives
    return shown
