"""Tables on a terminal of 80 columns, and names that a shell completes."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from click.shell_completion import BashComplete

from roost.cli import arguments, columns
from roost.cli.columns import Column, fold, print_table
from roost.cli.commands.amounts import age_text, bar, short_amount
from roost.cli.main import roost as program
from roost.client import Client
from tests.support.cli_runner import CommandLine
from tests.support.roost_server import RoostServer
from tests.support.terminal import COLUMNS, Terminal

Create = Callable[..., str]

# One process for many commands, because starting one takes longer than what it does.
PROGRAM = """
import sys, json
from roost.cli.main import roost
for words in json.loads(sys.argv[1]):
    roost.main(words, prog_name="roost", standalone_mode=False)
"""


def shown_on_terminal(url: str, commands: list[list[str]], **environment: str) -> str:
    command = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    variables = {"ROOST_URL": url, "ROOST_TOKEN": "admin", **environment}
    with Terminal(command, environment=variables) as terminal:
        assert terminal.wait() == 0, terminal.shown
    return terminal.shown


def test_tables_fit_80_columns_whatever_names_there_are(
    roost: CommandLine, server: RoostServer, client: Client, create: Create, new_uuid: str
) -> None:
    name = "n" * 150 + " 計算ノード " + "\x1b[31mred" + "m" * 25
    long_class = "CUSTOM_" + "C" * 200
    long_trait = "CUSTOM_" + "T" * 200
    roost("class", "create", long_class)
    roost("trait", "create", long_trait)
    tree = create(name, **{long_class: 1_000_000_000, "VCPU": 100_000, "MEMORY_MB": 200_000_000})
    roost("inventory", "set", name, "VCPU:reserved=99999,allocation_ratio=16.25,step_size=3")
    roost("trait", "set", name, long_trait, "HW_CPU_X86_AVX2", "HW_CPU_X86_AVX512F")
    roost("aggregate", "set", name, new_uuid)
    query = [f"resources={long_class}:123456789,MEMORY_MB:100000", f"in_tree={tree}"]
    owner = ["--project", "p" * 200, "--user", "u" * 200, "--consumer", new_uuid]
    shown = shown_on_terminal(
        server.url,
        [
            ["place", *query, *owner],
            ["candidates", *query],
            ["candidates", f"resources_{'G' * 60}=VCPU:3", f"in_tree_{'G' * 60}={tree}"],
            ["provider", "list", "--tree", tree],
            ["provider", "show", name],
            ["inventory", "list", name],
            ["inventory", "set", name, "VCPU:reserved=1"],
            ["inventory", "show", name, "VCPU"],
            ["allocation", "show", new_uuid],
            ["allocation", "list", "--tree", tree],
            ["aggregate", "list"],
            ["aggregate", "members", new_uuid],
            ["usages", "p" * 200],
            ["usages", "--provider", name],
            ["summary", "--by", "aggregates", "--by", "traits"],
        ],
    )
    too_wide = [line for line in shown.splitlines() if columns.cell_len(line) > COLUMNS]
    assert too_wide == []
    assert "計算ノード" in shown
    # It would color everything after it.
    assert "\\x1b[31mred" in shown
    assert "\x1b[31mred" not in shown


def test_colors_are_for_terminals(
    roost: CommandLine, server: RoostServer, create: Create, name: str
) -> None:
    create(name, VCPU=1)
    words = ["provider", "show", name]
    assert "\x1b[" not in roost(*words)
    for variables, has_colors in (({}, True), ({"NO_COLOR": "1"}, False)):
        command = [sys.executable, "-m", "roost", *words, "--url", server.url]
        with Terminal(command, environment=variables) as terminal:
            assert terminal.wait() == 0
        assert (b"\x1b[" in terminal.written) is has_colors


def test_cells_fold_between_words_and_within_long_ones() -> None:
    assert fold("VCPU:2, MEMORY_MB:4096", 40) == ["VCPU:2, MEMORY_MB:4096"]
    assert fold("VCPU:2, MEMORY_MB:4096", 15) == ["VCPU:2,", "MEMORY_MB:4096"]
    assert fold("abc abcdefghij", 4) == ["abc", "abcd", "efgh", "ij"]
    # A wide character takes two columns.
    assert fold("計算ノード", 4) == ["計算", "ノー", "ド"]
    assert fold("", 4) == [""]


def test_rows_are_printed_while_others_are_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "ROWS_AT_ONCE", 2)
    printed_before = []

    def read() -> Iterator[tuple[int, str]]:
        for number in (1, 20, 300, 4000):
            printed_before.append(len(capsys.readouterr().out.splitlines()))
            yield (number, "x")

    assert print_table((Column("n", right=True), Column("x")), read()) == 4
    # The title and two rows, then the others: wider, if they have to be.
    assert printed_before == [0, 0, 3, 0]
    assert capsys.readouterr().out == "  300  x\n4,000  x\n"
    assert print_table((Column("n"),), []) == 0
    assert capsys.readouterr().out == ""


def test_amounts_are_short() -> None:
    assert short_amount("VCPU", 999_999) == "999,999"
    assert short_amount("VCPU", 1_234_567) == "1.2 M"
    assert short_amount("MEMORY_MB", 512) == "512 MB"
    assert short_amount("MEMORY_MB", 3_145_728) == "3 TB"
    assert short_amount("DISK_GB", 200_000) == "195 TB"
    assert short_amount("DISK_GB", 0) == "0 GB"


@pytest.mark.parametrize(
    ("used", "capacity", "expected"),
    [(0, 10, "...."), (1, 1000, "#..."), (5, 10, "##.."), (99, 100, "###."), (11, 10, "####")],
)
def test_a_bar_shows_what_is_used(
    used: int, capacity: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(os.devnull, "w", encoding="ascii") as plain:
        monkeypatch.setattr(sys, "stdout", plain)
        assert bar(used, capacity, 4) == expected
        assert bar(used, 0, 4) == ("####" if used else "....")


def test_ages_have_one_unit() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    elapsed = [timedelta(seconds=seconds) for seconds in (-5, 119, 120, 7200, 9e5)]
    texts = [age_text(now - each, now) for each in elapsed]
    assert texts == ["0 s", "119 s", "2 min", "2 h", "10 d"]


# ---------------------------------------------------------------------------------------------
# Completion


def completed(url: str, line: str) -> list[str]:
    """What bash offers at the end of a line."""
    words = line.split(" ")
    done = subprocess.run(
        [sys.executable, "-m", "roost"],
        env={
            **os.environ,
            "ROOST_URL": url,
            "_ROOST_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return [each.partition(",")[2] for each in done.stdout.split()]


def test_a_shell_completes_names(
    roost: CommandLine,
    server: RoostServer,
    create: Create,
    name: str,
    new_uuid: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create(f"{name}-completed")
    create(f"{name}-completed\x1b[31m")
    roost("aggregate", "set", f"{name}-completed", new_uuid)
    roost("trait", "create", "CUSTOM_COMPLETED")
    roost("class", "create", "CUSTOM_COMPLETED_CLASS")
    monkeypatch.setenv("ROOST_URL", server.url)
    # This machine may be busy.
    monkeypatch.setattr(arguments, "COMPLETION_SECONDS_MAX", 60)
    shell = BashComplete(program, {}, "roost", "_ROOST_COMPLETE")

    def names(line: str) -> list[str]:
        *words, incomplete = line.split()
        return [each.value for each in shell.get_completions(words, incomplete)]

    assert names(f"provider show {name}-com") == [f"{name}-completed"]
    assert names(f"trait set {name}-com") == [f"{name}-completed"]
    assert names(f"allocation list --tree {name}-com") == [f"{name}-completed"]
    assert names(f"tree {name}-com") == [f"{name}-completed"]
    assert names("trait delete CUSTOM_COMPL") == ["CUSTOM_COMPLETED"]
    assert names(f"trait set {name} CUSTOM_COMPL") == ["CUSTOM_COMPLETED"]
    assert names("summary --class CUSTOM_COMPL") == ["CUSTOM_COMPLETED_CLASS"]
    assert names(f"aggregate members {new_uuid[:20]}") == [new_uuid]
    monkeypatch.setattr(arguments, "COMPLETIONS_MAX", 3)
    assert len(names("trait show HW_")) == 3


def test_a_shell_completes_commands() -> None:
    assert completed("http://127.0.0.1:1", "roost provider sh") == ["show"]


def test_completion_is_quick_and_silent_without_a_service() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        # Nothing listens at the first port, and nobody answers at the second.
        for port in (1, silent.getsockname()[1]):
            started = time.monotonic()
            assert completed(f"http://127.0.0.1:{port}", "roost provider show x") == []
            # Otherwise it would wait a minute. Starting the program takes long on a busy machine.
            assert time.monotonic() - started < 25
