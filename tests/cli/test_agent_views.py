"""What `roost agent` says of plans: guesses, torn consumers, excess, and large reshapes."""

import json

import pytest

from roost.agent.driver import Allocations
from roost.agent.provider_tree import ProviderTree
from roost.agent.reshape.settlement import Excess, Settlement
from roost.agent.rounds import Update
from roost.agent.tracker import Plan
from roost.cli.agent import summary, updates
from roost.cli.agent.moves import moves
from roost.cli.agent.plan_view import print_plan
from roost.cli.agent.summary import Summary, describe_plan
from tests.support.names import uid

Held = dict[str, dict[str, dict[str, int]]]  # consumer -> provider -> class -> amount


def tree_of(*children: str) -> ProviderTree:
    tree = ProviderTree()
    tree.new_root("host", uid("host"))
    for name in children:
        tree.new_child(name, "host", uuid=uid(name))
    return tree


def records(held: Held) -> Allocations:
    return {
        uid(consumer): {
            "allocations": {
                uid(provider): {"resources": dict(resources)}
                for provider, resources in places.items()
            }
        }
        for consumer, places in held.items()
    }


def plan_of(before: Held, after: Held, settlement: Settlement | None = None) -> Plan:
    names = sorted({name for places in after.values() for name in places} - {"host"})
    return Plan(
        tree_of(*names),
        tree_of(*names),
        records(before),
        records(after),
        settlement or Settlement(),
    )


# One consumer follows what is known, the other was guessed and torn.
MOVED = plan_of(
    {"a": {"host": {"VCPU": 2, "MEMORY_MB": 512}}, "b": {"host": {"VCPU": 4, "MEMORY_MB": 1024}}},
    {
        "a": {"numa0": {"VCPU": 2, "MEMORY_MB": 512}},
        "b": {"numa0": {"VCPU": 4}, "numa1": {"MEMORY_MB": 1024}},
    },
    Settlement(
        guessed=frozenset({(uid("b"), "VCPU"), (uid("b"), "MEMORY_MB")}),
        torn=(uid("b"),),
        is_proven=False,
        excess=(Excess("numa0", "VCPU", 6, 4),),
    ),
)


def test_the_whole_plan_marks_guesses(capsys: pytest.CaptureFixture[str]) -> None:
    print_plan(MOVED)
    shown = capsys.readouterr().out
    lines = [line.split() for line in shown.splitlines()]
    assert [uid("a"), "VCPU", "2", "host", "numa0"] in lines
    assert [uid("b"), "VCPU", "4", "host", "numa0", "guessed"] in lines
    assert [uid("b"), "MEMORY_MB", "1,024", "host", "numa1", "guessed"] in lines
    assert "consumers that are not kept together (fewer may be possible):" in shown
    assert f"\n  {uid('b')}\n" in shown
    assert "in excess: 6 of 4 VCPU of numa0 are in use" in shown


def test_programs_get_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    updates.print_update(Update("host", MOVED))
    line = json.loads(capsys.readouterr().out)
    known = {(move["consumer"], move["resource_class"]): move["known"] for move in line["moves"]}
    assert known == {
        (uid("a"), "VCPU"): True,
        (uid("a"), "MEMORY_MB"): True,
        (uid("b"), "VCPU"): False,
        (uid("b"), "MEMORY_MB"): False,
    }
    assert (line["torn"], line["proven"]) == ([uid("b")], False)
    assert line["excess"] == [
        {"provider": "numa0", "resource_class": "VCPU", "used": 6, "capacity": 4}
    ]


def test_a_plan_in_few_words() -> None:
    assert describe_plan(MOVED) == (
        "4 moves, 2 of them guessed, 1 consumer torn, in excess: 6 of 4 VCPU of numa0 are in use"
    )


def test_a_move_names_what_it_replaces() -> None:
    """The same class elsewhere; else the class that it was before."""
    plan = plan_of(
        {"a": {"host": {"VCPU": 2, "MEMORY_MB": 512, "CUSTOM_DISK": 5}}},
        {"a": {"numa0": {"PCPU": 2, "MEMORY_MB": 512}}},
    )
    origins = {move.resource_class: move.origin for move in moves(plan)}
    # Whether PCPU was VCPU or CUSTOM_DISK, nobody has said.
    assert origins == {"MEMORY_MB": "host", "PCPU": "host CUSTOM_DISK, host VCPU"}


def test_a_driver_may_take_everything_from_a_consumer() -> None:
    plan = plan_of({"a": {"host": {"VCPU": 2}}}, {})
    assert [*moves(plan)] == []


def test_a_large_reshape_is_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    consumers, targets = 3000, 30
    before: Held = {f"c{number}": {"host": {"VGPU": 2}} for number in range(consumers)}
    after: Held = {
        f"c{number}": {f"card{number % targets}": {"VGPU": 2}} for number in range(consumers)
    }
    found = Summary(["host"], nothing="nothing to move", only_planned=False)
    found.add(Update("host", plan_of(before, after), seconds=1.25))
    found.print()
    shown = capsys.readouterr().out
    lines = [line.split() for line in shown.splitlines()]
    assert ["host", "updated", "3,000", "moves", "1.2"] in lines
    assert ["VGPU", "host", "card0", "100", "200", "0"] in lines
    assert sum(line[:1] == ["VGPU"] for line in lines) == summary.PAIRS_MAX
    assert "... and between 10 other pairs of providers" in shown


def test_many_failures_are_one_line() -> None:
    names = [f"host{number}" for number in range(500)]
    found = Summary(names, nothing="nothing to do", only_planned=False)
    for name in reversed(names):
        found.add(Update(name, None, RuntimeError("no")))
    first = ", ".join(names[: summary.NAMES_MAX])
    assert found.failure() == f"500 of 500 nodes failed: {first}, ..."
