"""What `roost agent` prints with --json: lines with one JSON object each."""

import sys
from datetime import UTC, datetime
from typing import Any

from roost.agent.rounds import Update, describe
from roost.agent.tracker import Plan
from roost.agent.tree_diff import Mark, ProviderDiff, compare
from roost.cli.agent.moves import moves
from roost.cli.agent.summary import Result, Summary, result_of
from roost.cli.output import print_json_line

_CHANGES = {Mark.ADDED: "added", Mark.REMOVED: "removed", Mark.CHANGED: "changed"}


def print_update(update: Update, *, only_planned: bool = False) -> None:
    """What an update of a node has changed, or would change."""
    result = result_of(update, only_planned=only_planned)
    line: dict[str, Any] = {"root": update.nodename, "result": result}
    if update.error is not None:
        line["error"] = describe(update.error)
    else:
        line |= {"changes": [], "moves": []} if update.plan is None else _changes(update.plan)
    _print(line | {"seconds": round(update.seconds, 3)})


def print_summary(summary: Summary, *, is_interrupted: bool) -> None:
    """The last line, of all nodes."""
    counts = {result.value: summary.count(result) for result in Result}
    _print(
        {
            "summary": {
                "nodes": summary.nodes_total,
                **{result: count for result, count in counts.items() if count},
                "interrupted": is_interrupted,
                "failed_nodes": sorted(summary.errors),
                "moves": sum(each.moves for each in summary.moves.values()),
            }
        }
    )


def _print(line: dict[str, Any]) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    print_json_line({"time": now, **line})
    # Programs follow an agent that runs.
    sys.stdout.flush()


def _changes(plan: Plan) -> dict[str, Any]:
    settlement = plan.settlement
    return {
        "changes": [_change(each) for each in compare(plan.before, plan.after).changes],
        "moves": [
            {
                "consumer": move.consumer,
                "resource_class": move.resource_class,
                "amount": move.amount,
                "from": [{"provider": name, "resource_class": kind} for name, kind in move.sources],
                "to": move.target,
                "known": move.is_known,
            }
            for move in moves(plan)
        ],
        "torn": list(settlement.torn),
        "proven": settlement.is_proven,
        "excess": [each._asdict() for each in settlement.excess],
    }


def _change(each: ProviderDiff) -> dict[str, Any]:
    return {
        "uuid": each.uuid,
        "name": each.latest.name,
        "parent_uuid": each.latest.parent_uuid,
        "change": _CHANGES[each.mark],
        # As it was, where that has changed.
        **({"name_before": each.before.name} if each.before and each.renamed else {}),
        **({"parent_uuid_before": each.before.parent_uuid} if each.before and each.moved else {}),
        "inventories": {
            change.resource_class: {"before": change.before, "after": change.after}
            for change in each.inventories
        },
        "traits_added": sorted(each.traits_added),
        "traits_removed": sorted(each.traits_removed),
        "aggregates_added": sorted(each.aggregates_added),
        "aggregates_removed": sorted(each.aggregates_removed),
    }
