"""Commands against OpenStack Placement: what it has works, and the rest says that it has not."""

import uuid
from pathlib import Path

from tests.property.reference import Reference
from tests.support.cli_runner import CommandLine, rows

# Commands, and what they need.
EXTENSIONS = [
    ("summary", "summary"),
    ("aggregate list", "summary"),
    ("events", "events"),
    ("allocation list", "list_allocations"),
    ("place resources=VCPU:1", "placements"),
    ("explain resources=VCPU:1", "explain"),
    ("capacity resources=VCPU:1", "capacity"),
    ("candidates resources=VCPU:1 --order pack", "order"),
]


def test_commands_work_with_placement(tmp_path: Path) -> None:
    with Reference(tmp_path) as reference:
        roost = CommandLine(str(reference.client.base_url))
        use_everything(roost)
        for words, extension in EXTENSIONS:
            refused = roost.refused(*words.split(), status=1)
            assert f"does not have the extension `{extension}`" in refused


def use_everything(roost: CommandLine) -> None:
    rack, consumer = str(uuid.uuid4()), str(uuid.uuid4())
    roost("provider", "create", "host")
    roost("provider", "create", "numa", "--parent", "host")
    roost("inventory", "set", "numa", "VCPU=16:allocation_ratio=4", "MEMORY_MB=1024")
    roost("inventory", "delete", "numa", "MEMORY_MB")
    roost("trait", "set", "numa", "HW_CPU_X86_AVX2", "HW_CPU_X86_AVX")
    roost("trait", "unset", "numa", "HW_CPU_X86_AVX")
    roost("aggregate", "set", "host", rack)
    assert [line[-1] for line in rows(roost("provider", "list"))] == ["name", "host", "numa"]
    assert len(roost.json("provider", "list", "--limit", "1")["resource_providers"]) == 1
    assert [line[-1] for line in rows(roost("aggregate", "members", rack))] == ["name", "host"]
    assert ["traits", "HW_CPU_X86_AVX2"] in rows(roost("provider", "show", "numa"))
    assert rows(roost("candidates", "resources=VCPU:2"))[1:] == [["host", "numa", "VCPU:2"]]
    owner = ("--project", "demo", "--user", "alice")
    roost("allocation", "set", consumer, "numa:VCPU=2", *owner)
    assert rows(roost("usages", "demo"))[1:] == [["INSTANCE", "1", "VCPU", "2"]]
    assert rows(roost("inventory", "list", "numa"))[1][:3] == ["VCPU", "2", "64"]
    roost("allocation", "delete", consumer)
    roost("class", "create", "CUSTOM_LICENCE")
    assert roost("class", "list", "--prefix", "CUSTOM") == "CUSTOM_LICENCE\n"
    roost("provider", "set", "numa", "--name", "numa0")
    roost("provider", "delete", "host", "--tree", "--yes")
    assert roost("provider", "list") == "there are no providers\n"
