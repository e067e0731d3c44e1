"""`roost events`: what it prints, how it follows a service, and how it ends."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from roost.api.parsing.tokens import encode_position
from roost.client import Client
from tests.support.cli_runner import CommandLine, rows
from tests.support.roost_server import RoostServer, command
from tests.support.terminal import Terminal

Create = Callable[..., str]


def position(roost: CommandLine) -> str:
    word, found = roost("events").split()
    assert word == "position"
    return found


def test_events_are_printed_with_names_and_the_position_to_continue_from(
    roost: CommandLine, client: Client, create: Create, name: str
) -> None:
    start = position(roost)
    uuid = create(name, VCPU=8)
    roost("trait", "create", "CUSTOM_EVENT")
    roost("place", "resources=VCPU:2", f"in_tree={uuid}")
    roost("provider", "set", name, "--name", f"{name}-new")
    roost("provider", "create", f"{name}-gone")
    roost("provider", "delete", f"{name}-gone")
    *lines, last = rows(roost("events", "--after", start))
    assert [line[0] for line in lines] == [
        *("provider", "inventories", "catalog", "allocations", "provider", "provider", "provider"),
    ]
    generation = str(client.inventories(uuid).generation)
    # Names are those of now.
    assert lines[3] == ["allocations", f"{name}-new", "VCPU", "+2,", "generation", generation]
    assert lines[6][2] == "deleted"
    assert last == ["position", position(roost)]
    assert rows(roost("events", "--after", last[1])) == [last]


def test_events_are_selected_by_kind_and_tree(
    roost: CommandLine, create: Create, name: str
) -> None:
    start = position(roost)
    uuid = create(name, VCPU=8)
    child = create(f"{name}-child", parent_uuid=uuid)
    create(f"{name}-other", VCPU=8)
    after = ("events", "--after", start)
    kinds = rows(roost(*after, "--kind", "inventories"))[:-1]
    assert [line[:2] for line in kinds] == [["inventories", name], ["inventories", f"{name}-other"]]
    tree = rows(roost(*after, "--tree", child))[:-1]
    assert [line[:2] for line in tree] == [
        ["provider", name],
        ["inventories", name],
        ["provider", f"{name}-child"],
    ]


def test_json_is_a_document_for_each_line(roost: CommandLine, create: Create, name: str) -> None:
    start = position(roost)
    uuid = create(name)
    documents = [json.loads(line) for line in roost("events", "--after", start, "--json").split()]
    assert documents == [
        {"kind": "provider", "resource_provider": uuid, "tree": uuid},
        {"position": position(roost)},
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (("--after", "x"), 2, "'after' is no position"),
        (("--tree", "nobody"), 2, "there is no provider nobody"),
        (("--after", encode_position({12345: 7})), 1, "are no longer stored"),
    ],
)
def test_a_wrong_position_is_refused(
    roost: CommandLine, arguments: tuple[str, ...], status: int, expected: str
) -> None:
    assert expected in roost.refused("events", *arguments, status=status)


@contextmanager
def follow(url: str, *options: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        command("events", "--follow", "--url", url, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_following_survives_a_restart_of_the_service(tmp_path: Path) -> None:
    server = RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path)
    with ExitStack() as stack:
        with server:
            process = stack.enter_context(follow(server.url, "--json"))
            lines = documents(process)
            assert set(next(lines)) == {"position"}
            with Client(server.url) as client:
                before = client.create_provider("before").uuid
            assert next(lines)["resource_provider"] == before
            assert set(next(lines)) == {"position"}
        # At the same port.
        with server, Client(server.url) as client:
            after = [client.create_provider(name).uuid for name in ("one", "two")]
            found = [line["resource_provider"] for line in lines_with_events(lines, 2)]
        assert found == after


def documents(process: "subprocess.Popen[str]") -> Iterator[Any]:
    assert process.stdout is not None
    return map(json.loads, process.stdout)


def lines_with_events(lines: Iterator[Any], count: int) -> Iterator[Any]:
    return islice((line for line in lines if "kind" in line), count)


def test_ctrl_c_ends_following_without_a_word(
    roost: CommandLine, server: RoostServer, client: Client, name: str
) -> None:
    after = ("--after", position(roost))
    client.create_provider(name)
    with Terminal(command("events", "--follow", "--url", server.url, *after)) as terminal:
        terminal.wait_for(name)
        client.create_provider(f"{name}-second")
        terminal.wait_for(f"{name}-second")
        terminal.interrupt()
        assert terminal.wait() == 130
    assert "Traceback" not in terminal.shown
    assert "Aborted" not in terminal.shown


def test_a_terminal_says_that_it_waits(server: RoostServer) -> None:
    with Terminal(command("events", "--follow", "--url", server.url)) as terminal:
        terminal.wait_for("waiting for events, until Ctrl-C")
        terminal.interrupt()
        assert terminal.wait() == 130


def test_a_closed_pipe_ends_following_quietly(
    server: RoostServer, client: Client, name: str
) -> None:
    with follow(server.url, "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        client.create_provider(name)
        assert process.wait(30) in (1, -signal.SIGPIPE)
        assert process.stderr.read() == ""
