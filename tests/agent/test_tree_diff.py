"""The difference of two trees, and how it is drawn."""

import io

import pytest
from rich.console import Console

from roost.agent.provider_tree import ProviderTree
from roost.agent.tree_diff import compare, render
from roost.model import Inventory


@pytest.fixture
def before():
    tree = ProviderTree()
    tree.new_root("host", "uuid-host")
    tree.new_child("numa0", "host", uuid="uuid-numa0")
    tree.new_child("nic", "host", uuid="uuid-nic")
    tree.new_child("gpu", "nic", uuid="uuid-gpu")
    tree.new_child("quiet", "host", uuid="uuid-quiet")
    tree.update_inventory("host", {"VCPU": {"total": 8}, "DISK_GB": {"total": 100}})
    tree.update_traits("host", ["CUSTOM_OLD", "CUSTOM_KEPT"])
    tree.update_aggregates("host", ["aggregate-1"])
    return tree


def drawn(difference, *, colour=False):
    stream = io.StringIO()
    system = "standard" if colour else None
    console = Console(file=stream, width=100, force_terminal=colour, color_system=system)
    console.print(render(difference))
    return stream.getvalue()


def test_equal_trees_have_no_difference(before):
    difference = compare(before, before.copy())
    assert not difference
    assert difference.changes == []
    assert drawn(difference) == "nothing to change\n"


def test_generations_are_no_difference(before):
    after = before.copy()
    after.set_generation("host", 12)
    assert not compare(before, after)


def test_changes_of_every_kind_are_listed_and_drawn(before):
    after = before.copy()
    after.reparent("nic", "numa0")
    after.remove("gpu")
    after.new_child("numa1", "host", uuid="uuid-numa1")
    after.rename("numa0", "node0")
    after.update_inventory("host", {"VCPU": {"total": 16, "allocation_ratio": 4.0}})
    after.update_inventory("numa1", {"MEMORY_MB": {"total": 1024, "reserved": 64}})
    after.update_traits("host", ["CUSTOM_KEPT", "CUSTOM_NEW"])
    after.update_aggregates("host", ["aggregate-2"])

    difference = compare(before, after)
    assert [each.uuid for each in difference.created] == ["uuid-numa1"]
    assert [each.uuid for each in difference.removed] == ["uuid-gpu"]
    assert [each.uuid for each in difference.moved] == ["uuid-nic"]
    assert [each.uuid for each in difference.renamed] == ["uuid-numa0"]
    host = next(each for each in difference.changes if each.uuid == "uuid-host")
    assert [(each.resource_class, each.before, each.after) for each in host.inventories] == [
        ("DISK_GB", Inventory(total=100), None),
        ("VCPU", Inventory(total=8), Inventory(total=16, allocation_ratio=4.0)),
    ]
    assert (host.traits_added, host.traits_removed) == ({"CUSTOM_NEW"}, {"CUSTOM_OLD"})
    assert (host.aggregates_added, host.aggregates_removed) == ({"aggregate-2"}, {"aggregate-1"})

    assert drawn(difference).splitlines() == [
        "~ host",
        "├── - DISK_GB",
        "├── ~ VCPU: total 8 → 16, allocation_ratio 1.0 → 4.0",
        "├── + traits: CUSTOM_NEW",
        "├── - traits: CUSTOM_OLD",
        "├── + aggregates: aggregate-2",
        "├── - aggregates: aggregate-1",
        "├── ~ node0 (was numa0)",
        "│   └── ~ nic (from below host)",
        "│       └── - gpu",
        "└── + numa1",
        "    └── + MEMORY_MB: total 1024, reserved 64",
    ]


def test_children_go_before_their_parents(before):
    after = before.copy()
    after.remove("nic")
    assert [each.uuid for each in compare(before, after).removed] == ["uuid-gpu", "uuid-nic"]


def test_an_unchanged_provider_is_drawn_only_above_a_changed_one(before):
    after = before.copy()
    after.update_traits("gpu", ["CUSTOM_FAST"])
    assert drawn(compare(before, after)).splitlines() == [
        "  host",
        "└──   nic",
        "    └── ~ gpu",
        "        └── + traits: CUSTOM_FAST",
    ]


def test_changes_are_coloured_and_names_are_not_markup(before):
    after = before.copy()
    after.remove("quiet")
    after.new_child("[red]disk", "host")
    after.update_traits("nic", ["CUSTOM_FAST"])
    picture = drawn(compare(before, after), colour=True)
    assert "\x1b[32m+ [red]disk" in picture
    assert "\x1b[31m- quiet" in picture
    assert "\x1b[33m~ nic" in picture
