"""`roost tree`, as a user runs it: what it reads, what it shows, and how it follows changes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import msgspec
import pytest
from click.testing import CliRunner

from roost import assembly
from roost.cli.output import BadInput
from roost.cli.tree import reading, watching
from roost.cli.tree.cloud import Cloud
from roost.cli.tree.command import tree
from roost.cli.tree.forest import Amounts, Selection, parents_first
from roost.cli.tree.printing import as_plain_data, print_trees_as_json
from roost.cli.tree.watching import Feed
from roost.client import Client, Consumer, Events, Inventory
from roost.settings import Settings
from tests.support.cli_runner import roost
from tests.support.headers import HEADERS
from tests.support.names import uid
from tests.support.roost_server import RoostServer, command
from tests.support.terminal import COLUMNS, ROWS, Terminal
from tests.support.world import World, build, load, provider, put_allocations

HOSTILE = "e\x1b[2J\x1b]0;owned\x07\u202e" + "計算機" * 25
WORLD = build(
    provider(
        "host1",
        {"DISK_GB": Inventory(total=100, reserved=20)},
        used={"DISK_GB": 40},
        traits=["COMPUTE_NODE", "CUSTOM_GOLD"],
        aggregates=["rack"],
    ),
    provider("numa0", {"VCPU": 4}, parent="host1", used={"VCPU": 3}),
    provider(HOSTILE, {"VCPU": 4}, used={"VCPU": 1}),
    provider("pool", {"DISK_GB": 9}, traits=["MISC_SHARES_VIA_AGGREGATE"], aggregates=["rack"]),
    # Created last, though it belongs to the first tree.
    provider("numa1", {"VCPU": 4}, parent="host1"),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder: Path = tmp_path_factory.mktemp("tree")
    with (
        RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server,
        httpx.Client(base_url=server.url, timeout=30) as client,
    ):
        load(WORLD, client)
        yield server


# ---------------------------------------------------------------------------------------------
# What is read


class Recording(httpx.WSGITransport):
    """The service in this process; remembers which paths were asked for."""

    def __init__(self, database: Path, *, extensions: bool = True) -> None:
        settings = Settings()
        super().__init__(
            app=assembly.build_application(
                settings=settings,
                database_url=f"sqlite:///{database}",
                auth_strategy="noauth2",
                sync=True,
            )
        )
        self.paths: list[str] = []
        self.has_extensions = extensions

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.paths.append(request.url.raw_path.decode())
        response = super().handle_request(request)
        if request.url.path == "/" and not self.has_extensions:
            # As any other Placement answers.
            found = msgspec.json.decode(response.read())
            del found["extensions"]
            return httpx.Response(200, json=found)
        return response

    @property
    def reads(self) -> list[str]:
        return [path for path in self.paths if path != "/"]


@pytest.fixture
def open_world(tmp_path: Path) -> Callable[[World], Recording]:
    def load_world(world: World) -> Recording:
        transport = Recording(tmp_path / "roost.db")
        with httpx.Client(transport=transport, base_url="http://roost") as client:
            load(world, client)
        return Recording(tmp_path / "roost.db")

    return load_world


def read(transport: Recording, tree_uuid: str | None = None) -> list[object]:
    with Client("http://roost", transport=transport) as client:
        cloud = Cloud(client, tree_uuid)
        cloud.read()
        return [as_plain_data(root) for root in cloud.trees(Selection())]


def test_hundreds_of_providers_take_one_request(
    open_world: Callable[[World], Recording],
) -> None:
    hosts = [provider(f"host{number}") for number in range(88)]
    parts = [provider(f"{one.name}-{n}", parent=one.name) for one in hosts for n in range(4)]
    transport = open_world(build(*hosts, *parts))
    assert len(read(transport)) == 88
    [one] = transport.reads
    assert "include=" in one


def test_a_tree_whose_providers_are_on_different_pages_is_whole(
    open_world: Callable[[World], Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = open_world(WORLD)
    at_once = read(transport)
    monkeypatch.setattr(reading, "PAGE_LENGTH", 2)
    transport.paths.clear()
    assert read(transport) == at_once
    assert len(transport.reads) == 3


def test_of_one_tree_no_other_is_read(open_world: Callable[[World], Recording]) -> None:
    transport = open_world(WORLD)
    [tree] = read(transport, uid("numa1"))
    # The tree, and who shares something with it.
    assert len(transport.reads) == 2
    assert tree in read(transport)
    assert isinstance(tree, dict)
    assert [each["name"] for each in tree["shared_by"]] == ["pool"]


def test_a_service_without_the_extension_is_read_provider_by_provider(
    open_world: Callable[[World], Recording],
) -> None:
    transport = open_world(WORLD)
    expected, expected_tree = read(transport), read(transport, uid("numa0"))
    transport.has_extensions = False
    transport.paths.clear()
    assert read(transport) == expected
    assert len(transport.reads) == 1 + 4 * len(WORLD.providers)
    assert read(transport, uid("numa0")) == expected_tree


def test_of_a_change_no_more_is_read_than_has_changed(
    open_world: Callable[[World], Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = open_world(WORLD)
    with Client("http://roost", transport=transport) as client:
        cloud = Cloud(client, None)
        feed = Feed(cloud)
        cloud.read()

        def follow() -> list[str]:
            """Where the rest is read after an event."""
            transport.paths.clear()
            assert feed.update(feed.wait())
            shown = {each.name for each in parents_first(cloud.trees(Selection()))}
            assert shown == {each.name for each in client.providers()}
            [_, *reads, _] = transport.reads
            return [httpx.URL(path).params.get("in_tree", "everywhere") for path in reads]

        claim = Consumer(uuid=uid("c"), project_id="p", user_id="u", consumer_type="INSTANCE")
        claims = {uid("numa1"): {"VCPU": 2}}
        client.set_consumer(msgspec.structs.replace(claim, allocations=claims))
        assert follow() == [uid("host1")]
        assert amounts(cloud, "numa1")["VCPU"].used == 2
        # A provider may leave a tree that its event does not name.
        client.update_provider(uid("numa1"), name="numa1", parent_uuid=uid("pool"))
        assert follow() == ["everywhere"]
        monkeypatch.setattr(watching, "TREES_MAX", 1)
        for name in ("host1", "pool"):
            client.set_provider_traits(uid(name), [], client.provider(uid(name)).generation)
        assert follow() == ["everywhere"]
        # Nobody shares anything any more, so other trees are drawn differently, too.
        assert all(not root.shared_by for root in cloud.trees(Selection()))
        assert not feed.update(Events(events=[], position="ignored"))


def test_a_service_that_does_not_know_what_has_changed_is_read_again(
    open_world: Callable[[World], Recording], tmp_path: Path
) -> None:
    transport = open_world(WORLD)
    with Client("http://roost", transport=transport) as client:
        cloud = Cloud(client, None)
        feed = Feed(cloud)
        cloud.read()
        # As after somebody has restored a backup.
        transport.app = Recording(tmp_path / "other.db").app
        client.create_provider("another")
        assert feed.update(feed.wait())
        assert [root.name for root in cloud.trees(Selection())] == ["another"]
        client.create_provider("and one more")
        assert feed.update(feed.wait())
        assert len(cloud.trees(Selection())) == 2


def amounts(cloud: Cloud, name: str) -> dict[str, Amounts]:
    [node] = [each for each in parents_first(cloud.trees(Selection())) if each.name == name]
    return node.amounts


# ---------------------------------------------------------------------------------------------
# What is shown


def shown(server: RoostServer, *arguments: str) -> str:
    """What the command prints, in this process."""
    done = CliRunner().invoke(tree, ["--url", server.url, *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def on_terminal(server: RoostServer, *arguments: str, **environment: str) -> Terminal:
    return Terminal(
        command("tree", *arguments), environment={"ROOST_URL": server.url, **environment}
    )


def test_what_a_pipe_gets(server: RoostServer) -> None:
    lines = roost("tree", url=server.url).splitlines()
    rack = uid("rack")[:8]
    assert lines[1].startswith(r"   VCPU ")
    assert lines[2:] == [
        f"host1  {uid('host1')}  2 traits, in aggregate {rack}",
        "│  DISK_GB  ███████▒▒▒░░░░░░   50%  40 used  20 reserved  40 free",
        f"│  can use pool through aggregate {rack}",
        f"├─ numa0  {uid('numa0')}",
        "│     VCPU  ████████████░░░░   75%  3 used  1 free",
        f"└─ numa1  {uid('numa1')}",
        "      VCPU  ░░░░░░░░░░░░░░░░    0%  0 used  4 free",
        f"pool  {uid('pool')}  1 trait, shares through aggregate {rack}",
        "   DISK_GB  ░░░░░░░░░░░░░░░░    0%  0 used  9 free",
    ]
    # The whole name, without what a terminal would act upon.
    assert lines[0].startswith(r"e\x1b[2J\x1b]0;owned\x07\u202e計算機")
    assert lines[0].endswith(f"計算機  {uid(HOSTILE)}")


def test_a_terminal_gets_lines_that_fit(server: RoostServer) -> None:
    with on_terminal(server) as terminal:
        assert terminal.wait() == 0
    assert "\x1b" not in terminal.shown
    # Wide characters take two columns.
    widths = [len(line) + sum(ord(one) > 0x3000 for one in line) for line in terminal.screen]
    assert max(widths) <= COLUMNS
    assert "█" in terminal.shown


def test_other_encodings_get_other_characters(server: RoostServer) -> None:
    with on_terminal(server, PYTHONIOENCODING="ascii") as terminal:
        assert terminal.wait() == 0
    assert "#######===......" in terminal.shown
    assert r"\u7b97" in terminal.shown
    assert terminal.shown.isascii()


def test_trees_that_a_terminal_does_not_get_are_counted(server: RoostServer) -> None:
    with on_terminal(server, "--limit", "1") as terminal:
        assert terminal.wait() == 0
    assert terminal.screen[-2].startswith("1 of 3 trees; --limit 0 shows all")
    assert len(json.loads(shown(server, "--limit", "2", "--json"))) == 2


def test_json_has_everything(server: RoostServer) -> None:
    found = json.loads(shown(server, "--json"))
    assert [each["name"] for each in found] == [HOSTILE, "host1", "pool"]
    host = found[1]
    assert host["traits"] == ["COMPUTE_NODE", "CUSTOM_GOLD"]
    assert host["aggregates"] == [uid("rack")]
    assert host["usages"] == {"DISK_GB": 40}
    assert host["shared_by"] == [{"name": "pool", "uuid": uid("pool"), "aggregate": uid("rack")}]
    assert [each["name"] for each in host["children"]] == ["numa0", "numa1"]
    assert json.loads(shown(server, "--class", "FPGA", "--json")) == []
    assert "\x1b" not in shown(server, "--json")


def test_options_select(server: RoostServer) -> None:
    printed = shown(server, "--class", "VCPU", "--depth", "1", "--sort", "used")
    assert "with 2 providers below" in printed
    assert "3 used" in printed
    assert "DISK_GB" not in printed
    printed = shown(server, "--aggregate", uid("rack")[:8], "--traits")
    assert "COMPUTE_NODE, CUSTOM_GOLD" in printed
    assert "計算機" not in printed
    printed = shown(server, "host1", "--required", "CUSTOM_GOLD", "--class", "VCPU")
    assert "pool" not in printed


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--class", "VCP"), "no provider has VCP; did you mean VCPU?\n"),
        (("--required", "CUSTOM_GOLDEN"), "no provider has the trait CUSTOM_GOLDEN; did you mean "
         "CUSTOM_GOLD?\n"),
        (("--aggregate", "0000"), "no provider matches\n"),
    ],
)  # fmt: skip
def test_an_empty_selection_says_why(
    server: RoostServer, arguments: tuple[str, ...], expected: str
) -> None:
    assert shown(server, *arguments) == expected


def test_an_empty_cloud_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Client("http://roost", transport=Recording(tmp_path / "roost.db")) as client:
        cloud = Cloud(client, None)
        cloud.read()
    assert cloud.why_nothing(Selection(classes=("VCPU",))) == "there are no providers"
    print_trees_as_json(cloud.trees(Selection()), limit=None)
    assert capsys.readouterr().out == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("hots1",), "there is no provider hots1; did you mean host1?"),
        (("nothing-like-it",), "there is no provider nothing-like-it"),
        ((uid("nobody"),), f"there is no provider {uid('nobody')}"),
        (("--aggregate", "rack"), "--aggregate: 'rack' is not the beginning of a UUID"),
        (("--aggregate", ""), "--aggregate: '' is not the beginning of a UUID"),
        (("--watch",), "--watch needs a terminal; programs can read GET /events"),
    ],
)
def test_bad_input_gets_one_line(
    server: RoostServer, arguments: tuple[str, ...], expected: str
) -> None:
    with pytest.raises(BadInput) as refusal:
        CliRunner().invoke(tree, ["--url", server.url, *arguments], catch_exceptions=False)
    assert str(refusal.value) == expected
    assert refusal.value.exit_code == 2


def test_a_suggested_name_does_not_control_the_terminal(server: RoostServer) -> None:
    with pytest.raises(BadInput) as refusal:
        CliRunner().invoke(tree, ["--url", server.url, HOSTILE[:-2]], catch_exceptions=False)
    assert "did you mean" in str(refusal.value)
    assert str(refusal.value).isprintable()


# ---------------------------------------------------------------------------------------------
# Watching

ALTERNATE_SCREEN, NORMAL_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
HOME, ERASE_TO_END = "\x1b[H", "\x1b[0K"


def test_changes_are_shown_until_ctrl_c(tmp_path: Path) -> None:
    """Also those that come after a restart of the service."""
    server = RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path)
    world = build(
        provider("host0", {"VCPU": 8}),
        *(provider(f"host{number}", {"DISK_GB": 1}) for number in range(1, 20)),
    )
    with httpx.Client(base_url=server.url, timeout=30, headers=HEADERS) as client, server:
        load(world, client)
        with on_terminal(server, "--watch") as terminal:
            terminal.wait_for("8 free")
            put_allocations(client, "first", {uid("host0"): {"VCPU": 3}})
            terminal.wait_for("3 used")
            server.stop()
            terminal.wait_for("no answer")
            with server:
                put_allocations(client, "second", {uid("host0"): {"VCPU": 4}})
                terminal.wait_for("7 used")
                created = {"name": "first of all", "uuid": uid("first of all")}
                client.post("/resource_providers", json=created).raise_for_status()
                terminal.wait_for("first of all")
                terminal.interrupt()
                assert terminal.wait() == 0
    assert terminal.shown.startswith(ALTERNATE_SCREEN)
    assert terminal.shown.endswith(NORMAL_SCREEN)
    frames = terminal.shown.removesuffix(NORMAL_SCREEN).split(HOME)[2:]
    assert 3 < len(frames) < 12
    # Ctrl-C may come in the middle of the last one, which is then written again.
    for frame in frames[:-2]:
        lines = frame.replace(ERASE_TO_END, "").replace("\r", "").split("\n")
        assert len(lines) == ROWS
        # The last column stays free.
        assert max(map(len, lines)) < COLUMNS
        assert lines[-1].startswith("as of ")
        assert "more trees do not fit" in lines[-1]


def test_an_empty_cloud_is_said_to_be_empty(tmp_path: Path) -> None:
    server = RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path)
    with (
        server,
        httpx.Client(base_url=server.url, timeout=30, headers=HEADERS) as client,
        on_terminal(server, "--watch", "--class", "VCPU") as terminal,
    ):
        terminal.wait_for("there are no providers, as of ")
        load(build(provider("host", {"DISK_GB": 1})), client)
        terminal.wait_for("no provider has VCPU, as of ")
        load(build(provider("other", {"VCPU": 8})), client)
        terminal.wait_for("8 free")
        terminal.interrupt()
        assert terminal.wait() == 0
