"""`roost provider`."""

import json
from collections.abc import Callable

import pytest

from roost.client import Client
from tests.support.cli_runner import CommandLine, rows

Create = Callable[..., str]
UNKNOWN = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"


def test_a_provider_is_created_renamed_moved_and_deleted(
    roost: CommandLine, client: Client, name: str
) -> None:
    root = roost("provider", "create", name).strip()
    child = roost("provider", "create", f"{name}-numa0", "--parent", name).strip()
    assert client.provider(child).parent_uuid == root
    roost("provider", "set", f"{name}-numa0", "--name", f"{name}-numa1")
    assert client.provider(child).name == f"{name}-numa1"
    # A rename does not move it.
    assert client.provider(child).parent_uuid == root
    roost("provider", "set", f"{name}-numa1", "--root")
    assert client.provider(child).parent_uuid is None
    roost("provider", "set", child, "--parent", root)
    assert client.provider(child).parent_uuid == root
    deleted = roost.json("provider", "delete", f"{name}-numa1", name)
    assert deleted == {"deleted": [child, root]}
    assert client.providers({"name": name}) == []


def test_the_uuid_of_a_new_provider_can_be_chosen(
    roost: CommandLine, name: str, new_uuid: str
) -> None:
    made = roost.json("provider", "create", name, "--uuid", new_uuid)
    assert (made["uuid"], made["name"]) == (new_uuid, name)


def test_a_provider_is_shown_with_everything_it_has(
    roost: CommandLine, client: Client, create: Create, name: str, new_uuid: str
) -> None:
    root = create(name)
    child = create(f"{name}-child", parent_uuid=root, VCPU=16, MEMORY_MB=32768)
    client.set_provider_traits(child, ["HW_CPU_X86_AVX2"], client.provider(child).generation)
    client.set_provider_aggregates(child, [new_uuid], client.provider(child).generation)
    roost("place", "resources=VCPU:2", f"in_tree={root}")
    shown = rows(roost("provider", "show", f"{name}-child"))
    assert ["parent", name, root] in shown
    assert ["root", name, root] in shown
    assert ["traits", "HW_CPU_X86_AVX2"] in shown
    assert ["aggregates", new_uuid] in shown
    assert ["VCPU", "2", "16", "16", "0", "1"] in shown
    found = roost.json("provider", "show", child)
    assert found["parent_provider_uuid"] == root
    assert found["inventories"]["MEMORY_MB"]["total"] == 32768
    assert found["usages"] == {"VCPU": 2, "MEMORY_MB": 0}
    assert (found["traits"], found["aggregates"]) == (["HW_CPU_X86_AVX2"], [new_uuid])


def test_lists_are_filtered(
    roost: CommandLine, client: Client, create: Create, name: str, new_uuid: str
) -> None:
    root = create(name, DISK_GB=10)
    fast = create(f"{name}-fast", parent_uuid=root, VCPU=16)
    slow = create(f"{name}-slow", parent_uuid=root, VCPU=4)
    client.set_provider_traits(fast, ["HW_CPU_X86_AVX2"], client.provider(fast).generation)
    client.set_provider_aggregates(slow, [new_uuid], client.provider(slow).generation)

    def listed(*options: str) -> list[str]:
        found = roost.json("provider", "list", "--tree", slow, *options)["resource_providers"]
        lines = rows(roost("provider", "list", "--tree", name, *options))
        if found:
            assert lines[0] == ["uuid", "generation", "name"]
            assert [line[0] for line in lines[1:]] == [each["uuid"] for each in found]
        return [each["uuid"] for each in found]

    assert listed() == [root, fast, slow]
    assert listed("--limit", "2") == [root, fast]
    assert listed("--name", f"{name}-slow") == [slow]
    assert listed("--resources", "VCPU:5") == [fast]
    assert listed("--required", "HW_CPU_X86_AVX2") == [fast]
    assert listed("--required", "!HW_CPU_X86_AVX2") == [root, slow]
    assert listed("--required", "in:HW_CPU_X86_AVX2,HW_CPU_X86_AVX") == [fast]
    assert listed("--member-of", new_uuid) == [slow]
    assert listed("--member-of", f"!{new_uuid}") == [root, fast]
    assert listed("--name", "nobody") == []


def test_json_is_one_document_without_links(roost: CommandLine, create: Create, name: str) -> None:
    create(name)
    shown = roost("provider", "list", "--name", name, "--json")
    [found] = json.loads(shown)["resource_providers"]
    assert set(found) == {
        "uuid",
        "name",
        "generation",
        "parent_provider_uuid",
        "root_provider_uuid",
    }
    assert json.loads(roost("provider", "list", "--name", "nobody", "--json")) == {
        "resource_providers": []
    }


def test_a_name_that_looks_like_a_uuid_is_found_after_uuids(
    roost: CommandLine, create: Create, name: str, new_uuid: str
) -> None:
    named = create(new_uuid)
    assert roost.json("provider", "show", new_uuid)["uuid"] == named
    roost("provider", "create", name, "--uuid", new_uuid)
    assert roost.json("provider", "show", new_uuid)["name"] == name


def test_a_tree_is_deleted_from_its_leaves_after_a_question(
    roost: CommandLine, client: Client, create: Create, name: str
) -> None:
    root = create(name)
    child = create(f"{name}-a", parent_uuid=root)
    create(f"{name}-b", parent_uuid=child, VCPU=1)
    said = roost("provider", "delete", name, "--tree", status=1, answer="n\n")
    assert "Delete 3 providers" in said
    assert "nothing was deleted" in said
    # Below it only.
    roost("provider", "delete", f"{name}-a", "--tree", answer="y\n")
    assert [each.uuid for each in client.tree(root)] == [root]
    create(f"{name}-c", parent_uuid=root)
    roost("provider", "delete", name, "--tree", "--yes")
    assert client.tree(root) == []


def test_a_conflict_is_one_line(roost: CommandLine, create: Create, name: str) -> None:
    root = create(name, VCPU=1)
    create(f"{name}-child", parent_uuid=root)
    refused = roost.refused("provider", "create", name, status=1)
    assert "already exists" in refused
    assert "child resource providers" in roost.refused("provider", "delete", name, status=1)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("show", "nobody"), "there is no provider nobody"),
        (("show", UNKNOWN), f"there is no provider {UNKNOWN}"),
        (("create", "x", "--parent", "nobody"), "there is no provider nobody"),
        (("create", "x", "--uuid", "y"), "uuid"),
        (("set", "nobody", "--name", "x"), "there is no provider nobody"),
        (("set", "x"), "give --name, --parent or --root"),
        (("set", "x", "--root", "--parent", "y"), "exclude each other"),
        (("delete", "nobody"), "there is no provider nobody"),
        (("list", "--tree", "nobody"), "there is no provider nobody"),
        (("list", "--resources", "VCPU"), "resources"),
        (("list", "--required", "CUSTOM_NOBODY"), "CUSTOM_NOBODY"),
        (("list", "--member-of", "x"), "UUID"),
        (("show", "no\x1b[31mbody"), r"there is no provider no\x1b[31mbody"),
    ],
)
def test_wrong_input_is_refused(
    roost: CommandLine, arguments: tuple[str, ...], expected: str
) -> None:
    assert expected in roost.refused("provider", *arguments)
