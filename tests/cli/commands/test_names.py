"""`roost trait`, `roost class` and `roost aggregate`."""

from collections.abc import Callable

import pytest

from roost.client import Client
from tests.support.cli_runner import CommandLine, rows

Create = Callable[..., str]
SECOND = "5b1e28ba-2fa1-41d2-883f-0016d3cca428"


def test_traits_are_created_shown_and_deleted(roost: CommandLine) -> None:
    roost("trait", "create", "CUSTOM_RACK_7", "CUSTOM_RACK_8")
    roost("trait", "create", "CUSTOM_RACK_7")  # it exists, which is all that was asked for
    assert roost("trait", "list", "--prefix", "CUSTOM_RACK").split() == [
        "CUSTOM_RACK_7",
        "CUSTOM_RACK_8",
    ]
    assert roost("trait", "list", "--prefix", "CUSTOM_RACK", "--used") == ""
    assert roost.json("trait", "list", "--prefix", "CUSTOM_RACK_7") == {"traits": ["CUSTOM_RACK_7"]}
    assert "HW_CPU_X86_AVX2" in roost("trait", "list").split()
    shown = roost.json("trait", "show", "CUSTOM_RACK_7")
    assert shown == {"name": "CUSTOM_RACK_7", "custom": True, "used": False}
    assert ["custom", "no"] in rows(roost("trait", "show", "HW_CPU_X86_AVX2"))
    assert roost.json("trait", "create", "CUSTOM_RACK_7") == {"traits": ["CUSTOM_RACK_7"]}
    assert roost("trait", "delete", "CUSTOM_RACK_7") == ""
    assert roost.json("trait", "delete", "CUSTOM_RACK_8") == {"deleted": ["CUSTOM_RACK_8"]}
    assert roost("trait", "list", "--prefix", "CUSTOM_RACK") == ""


def test_traits_of_a_provider_are_added_taken_away_and_replaced(
    roost: CommandLine, client: Client, create: Create, name: str
) -> None:
    uuid = create(name)
    roost("trait", "set", name, "HW_CPU_X86_AVX", "HW_CPU_X86_AVX2")
    roost("trait", "set", uuid, "HW_CPU_X86_SSE")
    traits = {"HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_SSE"}
    assert roost("trait", "list", name).split() == sorted(traits)
    assert roost.json("trait", "list", name, "--prefix", "HW_CPU_X86_S") == {
        "traits": ["HW_CPU_X86_SSE"]
    }
    generation = client.provider(uuid).generation
    roost("trait", "set", name, "HW_CPU_X86_SSE")
    # What changes nothing is not written.
    assert client.provider(uuid).generation == generation
    assert roost.json("trait", "unset", name, "HW_CPU_X86_AVX") == {
        "traits": ["HW_CPU_X86_AVX2", "HW_CPU_X86_SSE"]
    }
    assert roost("trait", "set", name, "--replace", "HW_CPU_X86_AVX") == "HW_CPU_X86_AVX\n"
    roost("trait", "unset", name, "--all")
    assert client.provider_traits(uuid).traits == frozenset()


def test_classes_are_created_shown_and_deleted(roost: CommandLine) -> None:
    made = roost.json("class", "create", "CUSTOM_LICENCE")
    assert made == {"resource_classes": [{"name": "CUSTOM_LICENCE"}]}
    assert roost("class", "list", "--prefix", "CUSTOM_LIC") == "CUSTOM_LICENCE\n"
    assert {"name": "VCPU"} in roost.json("class", "list")["resource_classes"]
    assert roost.json("class", "show", "CUSTOM_LICENCE") == {
        "name": "CUSTOM_LICENCE",
        "custom": True,
    }
    assert roost.json("class", "delete", "CUSTOM_LICENCE") == {"deleted": ["CUSTOM_LICENCE"]}
    assert roost("class", "list", "--prefix", "CUSTOM_LIC") == ""


def test_a_provider_is_put_into_aggregates_and_taken_out(
    roost: CommandLine, client: Client, create: Create, name: str, new_uuid: str
) -> None:
    uuid = create(name)
    create(f"{name}-2", parent_uuid=uuid)
    roost("aggregate", "set", name, new_uuid)
    roost("aggregate", "set", name, SECOND)
    assert roost("aggregate", "list", name).split() == sorted([new_uuid, SECOND])
    # In the tree, and by itself.
    assert [new_uuid, "2", "1"] in rows(roost("aggregate", "list"))
    assert roost.json("aggregate", "list")["aggregates"][new_uuid] == {"providers": 2, "trees": 1}
    assert [line[2] for line in rows(roost("aggregate", "members", new_uuid))] == ["name", name]
    [member] = roost.json("aggregate", "members", new_uuid)["resource_providers"]
    assert member["uuid"] == uuid
    assert roost.json("aggregate", "unset", name, SECOND) == {"aggregates": [new_uuid]}
    assert roost("aggregate", "set", name, "--replace", SECOND).strip() == SECOND
    roost("aggregate", "unset", name, "--all")
    assert client.provider_aggregates(uuid).aggregates == frozenset()
    assert roost("aggregate", "members", new_uuid) == "there are no such providers\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("trait create RACK", "expected a custom trait such as CUSTOM_RACK_7, not 'RACK'"),
        ("trait create CUSTOM_A/B?c", "expected a custom trait"),
        ("trait show CUSTOM_NOBODY", "there is no trait CUSTOM_NOBODY"),
        ("trait list nobody", "there is no provider nobody"),
        ("trait delete HW_CPU_X86_AVX", "Cannot delete standard trait"),
        ("trait set HOST", "nothing to set"),
        ("trait set HOST CUSTOM_NOBODY", "CUSTOM_NOBODY"),
        ("trait unset HOST", "name the traits to take away, or give --all"),
        ("trait unset HOST CUSTOM_NOBODY", "does not have CUSTOM_NOBODY"),
        ("class create LICENCE", "expected a custom class such as CUSTOM_LICENCE"),
        ("class show CUSTOM_NOBODY", "there is no resource class CUSTOM_NOBODY"),
        ("class delete VCPU", "Cannot delete standard resource class"),
        ("aggregate set HOST", "nothing to set"),
        ("aggregate set HOST rack", "not the UUID of an aggregate: 'rack'"),
        ("aggregate unset HOST", "name the aggregates to leave, or give --all"),
        (f"aggregate unset HOST {SECOND}", f"is not in {SECOND}"),
        ("aggregate members rack", "not the UUID of an aggregate: 'rack'"),
    ],
)
def test_wrong_input_is_refused(
    roost: CommandLine, create: Create, name: str, arguments: str, expected: str
) -> None:
    create(name)
    assert expected in roost.refused(*arguments.replace("HOST", name).split())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("trait delete CUSTOM_NOBODY", "CUSTOM_NOBODY"),
        ("class delete CUSTOM_NOBODY", "CUSTOM_NOBODY"),
    ],
)
def test_what_does_not_exist_cannot_be_deleted(
    roost: CommandLine, arguments: str, expected: str
) -> None:
    assert expected in roost.refused(*arguments.split(), status=1)
