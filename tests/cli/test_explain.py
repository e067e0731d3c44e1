"""`roost explain` and `roost capacity`, as a user runs them."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import httpx
import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console

from roost.cli.commands import explain_view
from roost.cli.commands.explain_view import print_capacity, print_explanation
from roost.client import Capacity, Explanation
from tests.support.cli_runner import roost
from tests.support.names import uid
from tests.support.roost_server import RoostServer
from tests.support.world import build, load, provider

WORLD = build(
    provider("host1", {"DISK_GB": 100}),
    provider("numa0", {"VCPU": 4, "MEMORY_MB": 4096}, parent="host1", used={"MEMORY_MB": 2048}),
    provider("numa1", {"VCPU": 4, "MEMORY_MB": 4096}, parent="host1", traits=["HW_NUMA_ROOT"]),
    provider("host2", {"VCPU": 2, "MEMORY_MB": 1024}),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder: Path = tmp_path_factory.mktemp("explain")
    with (
        RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server,
        httpx.Client(base_url=server.url, timeout=30) as client,
    ):
        load(WORLD, client)
        yield server


def test_a_request_that_does_not_fit_is_explained(server: RoostServer) -> None:
    lines = roost("explain", "resources=VCPU:2,MEMORY_MB:6144", url=server.url).splitlines()
    assert lines[0].split() == ["rule", "trees", "left", "lost", "providers", "of"]
    assert lines[1].split() == [
        "all",
        "2",
        "4",
    ]
    assert lines[2].split() == ["VCPU", "2", "2", "3", "4"]
    assert lines[3].split() == ["MEMORY_MB", "6144", "0", "2", "0", "4"]
    # Numbers are aligned.
    assert lines[2].index("3") == lines[3].rindex("0")
    [of_numa1] = [line.split() for line in lines if line.strip().startswith("numa1")]
    assert " ".join(of_numa1) == "numa1 MEMORY_MB 6144 asked, 4096 free of 4096 units ok"
    assert lines[-1] == (
        "No tree fits, and none would if all were empty: host1, the nearest, fails at MEMORY_MB "
        "6144 (numa1: MEMORY_MB 6144 asked, 4096 free of 4096; units ok); it would fit with 2 GB "
        "less memory (MEMORY_MB:4096)."
    )


def test_one_tree_is_explained(server: RoostServer) -> None:
    query = "resources=VCPU:2,MEMORY_MB:2048"
    shown = roost("explain", query, "--tree", "host2", url=server.url).splitlines()
    assert shown[-1].startswith("host2 does not fit, and would not if it were empty: it fails at")
    assert roost("explain", query, "--tree", uid("numa0"), url=server.url).splitlines()[-1] == (
        "host1 fits."
    )


def test_a_request_that_fits_is_counted(server: RoostServer) -> None:
    assert roost("explain", "resources=VCPU:1", url=server.url).splitlines()[-1] == "2 trees fit."


def test_explain_as_json(server: RoostServer) -> None:
    found = json.loads(roost("explain", "resources=VCPU:5", "--json", url=server.url))
    assert found["verdict"] == "never"
    assert [each["amount"] for each in found["relaxations"]] == [4]


def test_capacity_counts_claims(server: RoostServer) -> None:
    lines = roost("capacity", "resources=VCPU:1,MEMORY_MB:1024", url=server.url).splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [["6", "host1"], ["1", "host2"]]
    assert lines[-1] == "7 more of this request fit in 2 trees."
    found = json.loads(roost("capacity", "resources=VCPU:1&limit=2", "--json", url=server.url))
    assert (found["count"], found["complete"]) == (2, False)
    assert "At least 2 more" in roost("capacity", "resources=VCPU:1&limit=2", url=server.url)
    assert roost("capacity", "resources=VCPU:9", url=server.url) == "0 more of this request fit.\n"


def show(answer: dict[str, Any]) -> None:
    print_explanation(msgspec.convert(answer, Explanation))


def test_an_explanation_is_rendered_from_its_fields(capsys: pytest.CaptureFixture[str]) -> None:
    """Every text of an answer is shown unchanged or not at all; no part of it is parsed."""

    def provider(name: str, broken: list[str], **more: int) -> dict[str, Any]:
        inventory = {"asked": 7, "free": 8, "used": 0, "capacity": 8}
        inventory |= {"min_unit": 8, "max_unit": 6, "step_size": 4}
        shown = {"uuid": "u", "name": name, "broken": broken, "text": "; nonsense"}
        return {**shown, "inventory": inventory, **more}

    rule = {"kind": "resources", "group": "", "names": ["VCPU"], "amount": 7}
    tree = {"uuid": "u", "stage": 0, "rule": rule, "providers": [], "providers_more": 0}
    providers = [
        provider("small", ["min_unit", "step_size"]),
        provider("large", ["max_unit"]),
        provider("full", ["capacity"]),
        provider("split", ["capacity"], gives=4),
    ]
    named = "the rack fails at noon"
    show(
        {
            "verdict": "never",
            "summary": "Nothing fits.",
            "trees": 2,
            "providers": 5,
            "stages": [],
            "tree": None,
            "nearest": [
                tree
                | {
                    "name": "host",
                    "text": "nonsense",
                    "reason": "nonsense",
                    "providers": providers,
                },
                tree | {"name": named, "text": "nonsense", "reason": "VCPU 7: nobody has VCPU"},
            ],
            "relaxations": [],
            "complete": True,
        }
    )
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "nonsense" not in " ".join(shown)
    asked = "VCPU 7 asked, 8 free of 8"
    assert f"small {asked} less than min_unit 8, no multiple of step_size 4" in shown
    assert f"large {asked} more than max_unit 6" in shown
    assert f"full {asked} units ok" in shown
    assert f"split {asked} gives 4" in shown
    assert "VCPU 7: nobody has VCPU" in shown


@pytest.mark.parametrize(
    "name", ["n" * 200, "計算機" * 60, "[/bold]", "e\x1b[2J\x1b]0;owned\x07\u202e"]
)
@pytest.mark.parametrize("amount", [7, 2**31 - 1])
def test_whatever_names_there_are_nothing_is_lost_and_lines_fit(
    monkeypatch: pytest.MonkeyPatch, name: str, amount: int
) -> None:
    output = io.StringIO()
    console = Console(file=output, width=80, highlight=False)
    monkeypatch.setattr(explain_view, "wrapping_console", lambda: console)
    resource_class = "CUSTOM_" + "X" * 80
    limits = {"min_unit": amount + 1, "max_unit": amount, "step_size": 4}
    inventory = {"asked": amount, "free": amount, "used": 0, "capacity": amount, **limits}
    one = {"uuid": uid("a"), "name": name, "text": name, "broken": ["min_unit", "step_size"]}
    rule = {"kind": "resources", "names": [resource_class], "amount": amount}
    tree = {"uuid": uid("a"), "name": name, "text": name, "reason": name, "rule": rule, "stage": 0}
    counts = {"in": 84_000, "out": 12_345}
    stage = {"rule": rule, "text": f"{resource_class} {name}", "trees": counts, "providers": counts}
    show(
        {
            "verdict": "never",
            "summary": f"{name} fails.",
            "trees": 84_000,
            "providers": 84_000,
            "stages": [stage],
            "tree": {**tree, "providers": [one | {"inventory": inventory}], "providers_more": 0},
            "nearest": [
                {**tree, "providers": [], "providers_more": 0},
                {**tree, "providers": [one], "providers_more": 0},
            ],
            "relaxations": [{"rule": rule, "amount": 1, "text": name}],
            "complete": False,
        }
    )
    trees = [{"uuid": uid("a"), "name": name, "count": amount}]
    print_capacity(msgspec.convert({"count": amount, "trees": trees, "complete": False}, Capacity))
    lines = output.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert all(line.isprintable() for line in lines)
    words = output.getvalue().split()
    # The unit of each is beside it: once for what was asked, free and there in all.
    assert words.count(str(amount)) >= 3
    assert f"{amount:,}" in words
    assert words.count(uid("a")) == 4
    assert "…" not in output.getvalue()


@pytest.mark.parametrize(("verdict", "is_complete"), [("fits", True), ("unknown", False)])
def test_a_tree_that_no_stage_lost_fits_only_if_the_verdict_says_so(
    capsys: pytest.CaptureFixture[str], verdict: Literal["fits", "unknown"], is_complete: bool
) -> None:
    tree = {"uuid": "u", "name": "host", "stage": None, "rule": None, "reason": None}
    show(
        {
            "verdict": verdict,
            "summary": "In one sentence.",
            "trees": 1,
            "providers": 1,
            "stages": [],
            "tree": tree | {"text": "nonsense", "providers": [], "providers_more": 0},
            "nearest": [],
            "relaxations": [],
            "complete": is_complete,
        }
    )
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert verdict in shown
    assert ("fits" in shown) is is_complete


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("explain", "VCPU"), "not a query like"),
        (("explain", "resources=VCPU"), "Badly formed resources"),
        (("explain", "resources=VCPU:1", "--tree", "nobody"), "there is no provider nobody"),
        (("explain", "resources=CUSTOM_X:1"), "No such resource class CUSTOM_X"),
        (("capacity", "resources=VCPU:1&required=CUSTOM_X"), "No such trait(s): CUSTOM_X"),
        (("capacity", "resources=VCPU:1&tree=x"), "unknown parameter 'tree'"),
    ],
)
def test_a_bad_query_is_a_usage_error(
    server: RoostServer, arguments: tuple[str, ...], expected: str
) -> None:
    assert expected in roost(*arguments, status=2, url=server.url)
