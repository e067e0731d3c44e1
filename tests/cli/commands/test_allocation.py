"""`roost allocation`, `roost usages` and `roost summary`."""

from collections.abc import Callable

import pytest

from roost.client import Client
from tests.support.cli_runner import CommandLine, rows

Create = Callable[..., str]
CONSUMER = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"


def test_what_a_consumer_holds_is_set_shown_and_given_back(
    roost: CommandLine, client: Client, create: Create, name: str, new_uuid: str
) -> None:
    # As the agents of neutron name their providers.
    nic = f"{name}:NIC Switch agent:eth0"
    host_uuid, nic_uuid = create(name, VCPU=8, MEMORY_MB=8192), create(nic, SRIOV_NET_VF=4)
    owner = ("--project", "demo", "--user", "alice")
    held = (f"{name}:VCPU=2,MEMORY_MB=4096", f"{nic}:SRIOV_NET_VF=1")
    shown = rows(roost("allocation", "set", new_uuid, *held, *owner))
    assert ["project", "demo"] in shown
    assert ["type", "INSTANCE"] in shown
    assert [name, "MEMORY_MB:4096,", "VCPU:2"] in shown
    # What is not named stays.
    roost("allocation", "set", new_uuid, f"{nic}:SRIOV_NET_VF=2")
    assert client.consumer(new_uuid).allocations == {
        host_uuid: {"VCPU": 2, "MEMORY_MB": 4096},
        nic_uuid: {"SRIOV_NET_VF": 2},
    }
    assert client.consumer(new_uuid).project_id == "demo"
    found = roost.json("allocation", "show", new_uuid)
    assert found["allocations"][nic_uuid]["resources"] == {"SRIOV_NET_VF": 2}
    roost("allocation", "unset", new_uuid, "--class", "MEMORY_MB")
    roost("allocation", "unset", new_uuid, "--provider", nic)
    assert client.consumer(new_uuid).allocations == {host_uuid: {"VCPU": 2}}
    roost("allocation", "set", new_uuid, "--replace", f"{nic}:SRIOV_NET_VF=1")
    assert client.consumer(new_uuid).allocations == {nic_uuid: {"SRIOV_NET_VF": 1}}
    assert roost.json("allocation", "delete", new_uuid) == {"deleted": [new_uuid]}
    assert roost("allocation", "show", new_uuid) == f"{new_uuid} holds nothing\n"
    refused = roost.refused("allocation", "delete", new_uuid, status=1)
    assert "No allocations for consumer" in refused


def test_the_last_that_a_consumer_holds_is_given_back(
    roost: CommandLine, client: Client, create: Create, name: str, new_uuid: str
) -> None:
    tree = create(name, VCPU=8)
    roost("place", "resources=VCPU:1", f"in_tree={tree}", "--consumer", new_uuid)
    shown = roost("allocation", "unset", new_uuid, "--class", "VCPU", "--provider", name)
    assert shown == f"{new_uuid} holds nothing\n"
    assert client.consumer(new_uuid).allocations == {}


def test_more_than_there_is_is_a_conflict(
    roost: CommandLine, create: Create, name: str, new_uuid: str
) -> None:
    create(name, VCPU=8)
    owner = ("--project", "demo", "--user", "alice")
    refused = roost.refused("allocation", "set", new_uuid, f"{name}:VCPU=9", *owner, status=1)
    assert "exceed the capacity" in refused


def test_consumers_are_listed_and_filtered(roost: CommandLine, create: Create, name: str) -> None:
    tree = create(name, VCPU=8)
    child = create(f"{name}-child", parent_uuid=tree, VGPU=8)
    for resources, kind in (
        ("VCPU:1", "INSTANCE"),
        ("VGPU:2", "MIGRATION"),
        ("VCPU:3", "INSTANCE"),
    ):
        owner = ("--project", f"project-{name}", "--user", "alice", "--type", kind)
        roost("place", f"resources={resources}", f"in_tree={tree}", *owner)

    def listed(*options: str) -> list[str]:
        """What each of the listed consumers holds."""
        found = roost.json("allocation", "list", *options)["consumers"]
        lines = roost("allocation", "list", *options).splitlines()
        assert [line.split()[0] for line in lines if not line.startswith(" ")] == (
            [each["uuid"] for each in found] or ["there"]
        )
        return [
            f"{resource}:{amount}"
            for each in found
            for held in each["allocations"].values()
            for resource, amount in held["resources"].items()
        ]

    assert listed("--project", f"project-{name}") == ["VCPU:1", "VGPU:2", "VCPU:3"]
    assert listed("--tree", child) == ["VCPU:1", "VGPU:2", "VCPU:3"]
    assert listed("--tree", name, "--limit", "2") == ["VCPU:1", "VGPU:2"]
    assert listed("--provider", f"{name}-child") == ["VGPU:2"]
    assert listed("--tree", name, "--class", "VCPU") == ["VCPU:1", "VCPU:3"]
    assert listed("--tree", name, "--type", "MIGRATION") == ["VGPU:2"]
    assert listed("--tree", name, "--user", "bob") == []
    assert listed("--tree", name, "--older-than", "0s") == ["VCPU:1", "VGPU:2", "VCPU:3"]
    assert listed("--tree", name, "--older-than", "1h") == []
    shown = roost("allocation", "list", "--provider", f"{name}-child").splitlines()
    assert " ".join(shown[0].split()[1:]) in {f"MIGRATION {seconds} s old" for seconds in range(60)}
    assert shown[1:] == [f"  project project-{name}  user alice", f"  {name}-child  VGPU:2"]


def test_usages_of_projects_and_providers(roost: CommandLine, create: Create, name: str) -> None:
    tree = create(name, VCPU=8, MEMORY_MB=8192)
    owner = ("--project", f"project-{name}", "--user")
    place = ("place", "resources=VCPU:1,MEMORY_MB:2048", f"in_tree={tree}")
    roost(*place, *owner, "alice")
    roost(*place, *owner, "bob")
    assert rows(roost("usages", f"project-{name}")) == [
        ["type", "consumers", "class", "used"],
        ["INSTANCE", "2", "MEMORY_MB", "4,096"],
        ["VCPU", "2"],
    ]
    found = roost.json("usages", f"project-{name}", "--user", "bob", "--type", "INSTANCE")
    assert found == {"usages": {"INSTANCE": {"VCPU": 1, "MEMORY_MB": 2048, "consumer_count": 1}}}
    assert roost("usages", f"project-{name}", "--type", "MIGRATION") == "nothing is used\n"
    assert rows(roost("usages", "--provider", name))[2][:3] == ["VCPU", "2", "8"]
    assert roost.json("usages", "--provider", name)["usages"] == {"VCPU": 2, "MEMORY_MB": 4096}


def test_a_summary_adds_up(roost: CommandLine, create: Create, name: str, new_uuid: str) -> None:
    roost("class", "create", "CUSTOM_SUM")
    for number in range(2):
        create(f"{name}-{number}", CUSTOM_SUM=1_000_000)
    roost("aggregate", "set", f"{name}-0", new_uuid)
    roost("inventory", "set", f"{name}-0", "CUSTOM_SUM:reserved=500000")
    roost("place", "resources=CUSTOM_SUM:750000")
    lines = roost("summary", "--class", "CUSTOM_SUM", "--by", "aggregates").splitlines()
    assert lines[0].split()[1:] in (
        ["providers", "in", each, "trees"] for each in map(str, range(99))
    )
    assert lines[1].split() == ["class", "used", "of", "free", "reserved", "providers"]
    assert lines[2].split() == [
        *("CUSTOM_SUM", "█" * 8 + "░" * 8, "750,000", "1.5", "M", "750,000", "500,000", "2"),
    ]
    assert f"aggregate {new_uuid}: 1 provider in 1 tree" in lines
    found = roost.json("summary", "--class", "CUSTOM_SUM", "--by", "aggregates")
    assert list(found["resources"]) == ["CUSTOM_SUM"]
    assert found["resources"]["CUSTOM_SUM"]["free"] == 750_000
    assert found["aggregates"][new_uuid]["providers"] == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("allocation show x", "expected the UUID of a consumer, not 'x'"),
        ("allocation delete x", "expected the UUID of a consumer"),
        (f"allocation set {CONSUMER} HOST", "expected PROVIDER:CLASS=N,CLASS=N"),
        (f"allocation set {CONSUMER} HOST:VCPU", "expected PROVIDER:CLASS=N,CLASS=N"),
        (f"allocation set {CONSUMER} HOST:VCPU=-1", "expected PROVIDER:CLASS=N,CLASS=N"),
        (f"allocation set {CONSUMER} HOST:VCPU=1,VCPU=2", "VCPU of HOST is given twice"),
        (f"allocation set {CONSUMER} nobody:VCPU=1", "there is no provider nobody"),
        (f"allocation set {CONSUMER} HOST:VCPU=1", "give --project and --user"),
        (f"allocation unset {CONSUMER}", "name what to give back"),
        (f"allocation unset {CONSUMER} --class VCPU", "holds nothing of that"),
        (
            "allocation list --older-than soon",
            "expected an age such as 30m, 12h, 7d or 2w, not 'soon'",
        ),
        ("allocation list --provider nobody", "there is no provider nobody"),
        ("allocation list --class vcpu", "expected a resource class"),
        ("usages", "give the id of a project, or --provider"),
        ("usages p --provider HOST", "give the id of a project, or --provider"),
        ("usages --provider HOST --user u", "are for the usages of a project"),
        ("summary --class CUSTOM_NOBODY", "CUSTOM_NOBODY"),
    ],
)
def test_wrong_input_is_refused(
    roost: CommandLine, create: Create, name: str, arguments: str, expected: str
) -> None:
    create(name)
    refused = roost.refused(*arguments.replace("HOST", name).split())
    assert expected.replace("HOST", name) in refused
