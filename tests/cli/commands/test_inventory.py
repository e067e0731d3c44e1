"""`roost inventory`."""

from collections.abc import Callable

import pytest

from roost.cli.commands import inventory as commands
from roost.cli.commands.inventory import changed, parse_changes
from roost.client import Client, Inventory
from tests.support.cli_runner import CommandLine, rows

Create = Callable[..., str]


def test_what_is_not_named_stays(
    roost: CommandLine, client: Client, create: Create, name: str
) -> None:
    uuid = create(name, VCPU=8, DISK_GB=100)
    roost("inventory", "set", name, "VCPU=16:reserved=2,allocation_ratio=1.5", "MEMORY_MB=1024")
    roost("inventory", "set", name, "VCPU:max_unit=4")
    assert client.inventories(uuid).inventories == {
        "VCPU": Inventory(total=16, reserved=2, allocation_ratio=1.5, max_unit=4),
        "DISK_GB": Inventory(total=100),
        "MEMORY_MB": Inventory(total=1024),
    }


def test_replace_leaves_nothing_else(
    roost: CommandLine, client: Client, create: Create, name: str
) -> None:
    uuid = create(name, VCPU=8, DISK_GB=100)
    roost("inventory", "set", name, "VCPU:reserved=1")
    shown = roost.json("inventory", "set", name, "--replace", "VCPU=16")
    assert list(shown["inventories"][uuid]) == ["VCPU"]
    assert client.inventories(uuid).inventories == {"VCPU": Inventory(total=16)}


def test_a_dry_run_writes_nothing(
    roost: CommandLine, client: Client, create: Create, name: str
) -> None:
    uuid = create(name, VCPU=8)
    shown = rows(roost("inventory", "set", name, "VCPU=16", "--dry-run"))
    assert [name, "VCPU", "16", "0", "1"] in shown
    assert client.inventories(uuid).inventories == {"VCPU": Inventory(total=8)}


def test_all_providers_of_an_aggregate_are_changed(
    roost: CommandLine, client: Client, create: Create, name: str, new_uuid: str
) -> None:
    one, two, bare = create(f"{name}-1", VCPU=8), create(f"{name}-2", VCPU=16), create(f"{name}-3")
    for uuid in (one, two):
        roost("aggregate", "set", uuid, new_uuid)
    roost("inventory", "set", "--aggregate", new_uuid, "VCPU:allocation_ratio=4")
    assert [client.inventories(uuid).inventories["VCPU"].total for uuid in (one, two)] == [8, 16]
    # One without the inventory keeps none of the others from the change.
    roost("aggregate", "set", bare, new_uuid)
    said = roost("inventory", "set", "--aggregate", new_uuid, "VCPU:reserved=1", status=1)
    assert (
        said
        == f"roost: {name}-3: there is no inventory of VCPU yet: give its total, as in VCPU=16\n"
    )
    assert client.inventories(two).inventories["VCPU"].reserved == 1


def test_lists_have_usage_capacity_and_units(roost: CommandLine, create: Create, name: str) -> None:
    uuid = create(name)
    roost("inventory", "set", name, "VCPU=100000:reserved=2,min_unit=2,max_unit=64,step_size=2")
    roost("place", "resources=VCPU:64", f"in_tree={uuid}")
    lines = rows(roost("inventory", "list", name))
    assert lines[0] == ["class", "used", "capacity", "total", "reserved", "ratio", "units"]
    assert " ".join(lines[1]) == "VCPU 64 99,998 100,000 2 1 from 2 to 64 by 2"
    assert roost.json("inventory", "list", name)["inventories"]["VCPU"]["max_unit"] == 64
    shown = dict(line for line in rows(roost("inventory", "show", name, "VCPU")))
    assert (shown["used"], shown["capacity"]) == ("64", "99,998")
    assert roost.json("inventory", "show", name, "VCPU")["step_size"] == 2


def test_inventories_are_deleted(
    roost: CommandLine, client: Client, create: Create, name: str
) -> None:
    uuid = create(name, VCPU=8, DISK_GB=100, MEMORY_MB=1)
    left = roost.json("inventory", "delete", name, "DISK_GB")
    assert set(left["inventories"]) == {"VCPU", "MEMORY_MB"}
    assert set(client.inventories(uuid).inventories) == {"VCPU", "MEMORY_MB"}
    roost("place", "resources=VCPU:1", f"in_tree={uuid}")
    assert "in use" in roost.refused("inventory", "delete", name, "VCPU", status=1)
    create(f"{name}-2", VCPU=8, DISK_GB=100)
    roost("inventory", "delete", f"{name}-2", "--all")
    assert roost("inventory", "list", f"{name}-2") == "the provider has no inventories\n"


class Rival:
    """Another client, which writes between the command's read and its write."""

    def __init__(self, client: Client, uuid: str, times: int) -> None:
        self._client = client
        self._uuid = uuid
        self._times = times

    def changed(
        self, present: dict[str, Inventory], changes: commands.Changes, *, replace: bool
    ) -> dict[str, Inventory]:
        if self._times:
            self._times -= 1
            read = self._client.inventories(self._uuid)
            inventory = Inventory(total=7 + self._times)
            self._client.set_inventory(self._uuid, "DISK_GB", inventory, read.generation)
        return changed(present, changes, replace=replace)


def test_an_amendment_that_lost_a_race_is_made_again(
    roost: CommandLine,
    client: Client,
    create: Create,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uuid = create(name, VCPU=8, DISK_GB=1)
    monkeypatch.setattr(commands, "changed", Rival(client, uuid, 1).changed)
    roost("inventory", "set", name, "VCPU=16")
    found = client.inventories(uuid).inventories
    assert (found["VCPU"].total, found["DISK_GB"].total) == (16, 7)


@pytest.mark.parametrize(("options", "times"), [(("--replace",), 1), ((), 2)])
def test_a_race_that_cannot_be_mended_is_refused(
    roost: CommandLine,
    client: Client,
    create: Create,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    times: int,
) -> None:
    uuid = create(name, VCPU=8, DISK_GB=1)
    monkeypatch.setattr(commands, "changed", Rival(client, uuid, times).changed)
    refused = roost.refused("inventory", "set", name, "VCPU=16", *options, status=1)
    assert "another client" in refused
    assert client.inventories(uuid).inventories["VCPU"].total == 8


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("VCPU", "expected a resource such as VCPU=16"),
        ("=16", "expected a resource such as VCPU=16"),
        ("VCPU=", "total of VCPU must be a whole number from 1 to 2147483647, not ''"),
        ("VCPU=a", "total of VCPU must be a whole number from 1 to 2147483647, not 'a'"),
        ("VCPU=0", "total of VCPU must be a whole number"),
        ("VCPU=2147483648", "total of VCPU must be a whole number"),
        ("VCPU=8:reservd=1", "unknown field 'reservd'; did you mean 'reserved'?"),
        ("VCPU=8:allocation_ratio=nan", "allocation_ratio of VCPU must be a number above 0"),
        ("VCPU=8:total=9", "total of VCPU is given twice"),
        ("VGPU:reserved=1", "there is no inventory of VGPU yet: give its total"),
        ("CUSTOM_NOBODY=1", "No such resource class CUSTOM_NOBODY"),
    ],
)
def test_a_wrong_resource_is_refused(
    roost: CommandLine, create: Create, name: str, word: str, expected: str
) -> None:
    create(name)
    assert expected in roost.refused("inventory", "set", name, word)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("set", "host"), "nothing to set"),
        (("set", "nobody", "VCPU=1"), "there is no provider nobody"),
        (("set", "nobody", "VCPU=1", "VCPU=2"), "VCPU is given twice"),
        (("list", "nobody"), "there is no provider nobody"),
        (("delete", "nobody"), "name the classes to delete, or give --all"),
        (("delete", "nobody", "vcpu"), "expected a resource class"),
        (("delete", "nobody", "--all"), "there is no provider nobody"),
    ],
)
def test_wrong_input_is_refused(
    roost: CommandLine, arguments: tuple[str, ...], expected: str
) -> None:
    assert expected in roost.refused("inventory", *arguments)


def test_fields_are_read() -> None:
    assert parse_changes(["VCPU=16:reserved=2,allocation_ratio=1.5", "DISK_GB:step_size=5"]) == {
        "VCPU": {"total": 16, "reserved": 2, "allocation_ratio": 1.5},
        "DISK_GB": {"step_size": 5},
    }
