"""`roost candidates`, `roost explain`, `roost capacity` and `roost place`."""

import uuid
from collections.abc import Callable

import pytest

from roost.client import Client
from tests.support.cli_runner import CommandLine, rows

Create = Callable[..., str]


@pytest.fixture
def tree(create: Create, name: str) -> str:
    """A root with a disk, and two NUMA nodes; its UUID."""
    root = create(name, DISK_GB=100)
    for number, vcpus in enumerate((4, 8)):
        create(f"{name}-numa{number}", parent_uuid=root, VCPU=vcpus, MEMORY_MB=100_000)
    return root


def test_candidates_are_shown_with_the_names_of_their_providers(
    roost: CommandLine, tree: str, name: str
) -> None:
    shown = roost(
        *("candidates", f"in_tree={tree}", f"in_tree_A={tree}", f"in_tree_B={tree}"),
        *("resources=DISK_GB:10", "resources_A=VCPU:6,MEMORY_MB:2048", "resources_B=VCPU:1"),
        *("group_policy=isolate",),
    )
    assert rows(shown) == [
        ["root", "provider", "group", "gives"],
        [name, name, "DISK_GB:10"],
        [f"{name}-numa1", "_A", "MEMORY_MB:2048,", "VCPU:6"],
        [f"{name}-numa0", "_B", "VCPU:1"],
    ]


def test_the_root_of_a_candidate_is_that_of_the_host_and_not_of_shared_storage(
    roost: CommandLine, create: Create, name: str, new_uuid: str
) -> None:
    create(f"{name}-pool", DISK_GB=1000)
    create(name, VCPU=8)
    roost("trait", "set", f"{name}-pool", "MISC_SHARES_VIA_AGGREGATE")
    for each in (f"{name}-pool", name):
        roost("aggregate", "set", each, new_uuid)
    shown = rows(roost("candidates", "resources=DISK_GB:10,VCPU:1", f"member_of={new_uuid}"))
    assert {line[0] for line in shown if len(line) == 3} == {"root", name}
    assert sorted(line[-2:] for line in shown[1:]) == [
        [name, "VCPU:1"],
        [f"{name}-pool", "DISK_GB:10"],
    ]


def test_a_query_is_one_word_or_several(roost: CommandLine, tree: str, name: str) -> None:
    words = ["resources=VCPU:6", f"in_tree={tree}"]
    expected = [["root", "provider", "gives"], [name, f"{name}-numa1", "VCPU:6"]]
    for query in (words, ["&".join(words)], ["?" + "&".join(words)]):
        assert rows(roost("candidates", *query)) == expected
        assert roost("capacity", *query).endswith("1 more of this request fits in 1 tree.\n")
        assert "fit" in roost("explain", *query)


def test_a_query_names_the_provider_of_a_tree_or_a_subtree(
    roost: CommandLine, tree: str, name: str
) -> None:
    expected = [["root", "provider", "gives"], [name, f"{name}-numa1", "VCPU:1"]]
    assert rows(roost("candidates", "resources=VCPU:1", f"in_subtree={name}-numa1")) == expected
    words = ("resources_A=VCPU:6", f"in_tree_A={name}-numa0")
    assert roost("capacity", *words) == roost("capacity", words[0], f"in_tree_A={tree}")
    for verb in ("candidates", "explain", "capacity", "place"):
        assert (
            roost.refused(verb, "resources=VCPU:1", f"in_tree={name}-numa7")
            == f"there is no provider {name}-numa7; did you mean {name}-numa0?"
        )


def test_json_is_the_answer_of_the_api(roost: CommandLine, tree: str) -> None:
    found = roost.json("candidates", "resources=VCPU:1", f"in_tree={tree}", "--limit", "1")
    [request] = found["allocation_requests"]
    assert [each["resources"] for each in request["allocations"].values()] == [{"VCPU": 1}]
    assert set(request["mappings"]) == {""}
    assert len(found["provider_summaries"]) == 3


def test_candidates_come_in_an_order(roost: CommandLine, tree: str, name: str) -> None:
    roost("place", "resources=VCPU:8", f"in_tree={tree}")
    query = ("candidates", "resources=VCPU:1", f"in_tree={tree}", "--order", "pack")
    assert rows(roost(*query))[1:] == [[name, f"{name}-numa0", "VCPU:1"]]


def test_a_table_says_that_there_may_be_more(roost: CommandLine, create: Create, name: str) -> None:
    root = create(name)
    for number in range(21):
        create(f"{name}-{number}", parent_uuid=root, VGPU=1)
    query = ("candidates", "resources=VGPU:1", f"in_tree={root}")
    shown = roost(*query).splitlines()
    assert len(shown) == 22
    assert shown[-1] == "There may be more than 20: see --limit."
    assert len(roost(*query, "limit=5").splitlines()) == 6
    assert len(roost(*query, "--limit", "30").splitlines()) == 22
    assert len(roost.json(*query)["allocation_requests"]) == 21


def test_the_exit_code_says_whether_a_request_fits(roost: CommandLine, tree: str) -> None:
    fits = ("resources=VCPU:8", f"in_tree={tree}")
    not_now = ("resources=VCPU:9", f"in_tree={tree}")
    for command in ("candidates", "explain"):
        roost(command, *fits, "--exit-code")
        roost(command, *fits, "--exit-code", "--json")
        roost(command, *not_now)
        roost(command, *not_now, "--exit-code", status=3)
        roost(command, *not_now, "--exit-code", "--json", status=3)
    assert roost("candidates", *not_now) == "There are no candidates.\n"


def test_consumers_are_placed_and_shown_where_they_are(
    roost: CommandLine, client: Client, tree: str, name: str, new_uuid: str
) -> None:
    query = ("resources=VCPU:6", f"in_tree={tree}")
    options = ("--consumer", new_uuid, "--project", "demo", "--user", "alice")
    shown = rows(roost("place", *query, *options))
    assert shown == [["consumer", "provider", "holds"], [new_uuid, f"{name}-numa1", "VCPU:6"]]
    placed = client.consumer(new_uuid)
    assert (placed.project_id, placed.user_id) == ("demo", "alice")
    assert placed.consumer_type == "INSTANCE"
    found = roost.json("place", "resources=VCPU:1", f"in_tree={tree}", "--count", "2")
    assert len(found["placements"]) == 2
    for each in found["placements"]:
        assert client.consumer(each).project_id == str(uuid.UUID(int=0))


def test_consumers_are_spread_over_roots(
    roost: CommandLine, create: Create, name: str, new_uuid: str
) -> None:
    for number in range(2):
        create(f"{name}-{number}", VCPU=8)
        roost("aggregate", "set", f"{name}-{number}", new_uuid)
    query = ("place", "resources=VCPU:1", f"member_of={new_uuid}", "--spread", "--count")
    shown = rows(roost(*query, "2"))
    assert {line[1] for line in shown[1:]} == {f"{name}-0", f"{name}-1"}
    assert "Unable to place 3 consumer(s)" in roost.refused(*query, "3", status=3)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("candidates", "VCPU"), "not a query like resources=VCPU:1"),
        (
            ("candidates", "resource=VCPU:1"),
            "unknown parameter 'resource'; did you mean 'resources'?",
        ),
        (("candidates", "resources=VCPU:x"), "VCPU"),
        (("candidates", "resources=VCPU:1", "limit=3", "--limit", "4"), "limit is given twice"),
        (("candidates", "resources=VCPU:1", "order=pack", "--order", "root"), "given twice"),
        (("candidates", "resources=CUSTOM_NOBODY:1"), "CUSTOM_NOBODY"),
        (("explain", "resources=VCPU:1", "--tree", "nobody"), "there is no provider nobody"),
        (("place", "resources=VCPU:1", "--consumer", "x"), "expected the UUID of a consumer"),
        (
            ("place", "resources=VCPU:1", "--count", "2", "--consumer", str(uuid.UUID(int=1))),
            "exclude each other",
        ),
        (("place", "resources=VCPU:1", *["--consumer", str(uuid.UUID(int=1))] * 2), "given twice"),
    ],
)
def test_wrong_input_is_refused(
    roost: CommandLine, arguments: tuple[str, ...], expected: str
) -> None:
    assert expected in roost.refused(*arguments)


def test_a_consumer_that_holds_something_is_not_placed(
    roost: CommandLine, tree: str, new_uuid: str
) -> None:
    query = ("place", "resources=VCPU:1", f"in_tree={tree}", "--consumer", new_uuid)
    roost(*query)
    assert f"{new_uuid} has a place already" in roost.refused(*query, status=1)
