"""`roost audit`, as an operator runs it."""

import contextlib
import json
import os
import resource
import shlex
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta, tzinfo
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import pytest
from click.testing import CliRunner

from roost.cli.audit import looking, sources
from roost.cli.main import roost
from roost.cli.output import Failure
from roost.client import Client, Consumer, Inventory
from tests.audit.nova_stand_in import Nova
from tests.keystone.stand_in import PASSWORD, Keystone, token
from tests.support.names import uid
from tests.support.roost_server import RoostServer, command
from tests.support.terminal import Terminal

ALLOCATED = {"host1": {"VCPU": 2}}


class Cloud:
    """A service, what it holds, and `roost audit` in a folder of its own."""

    def __init__(self, server: RoostServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.environment: dict[str, str] = {}
        self.client = Client(server.url)

    def add_host(self, name: str, total: int = 10, aggregates: tuple[str, ...] = ()) -> None:
        host = self.client.create_provider(name, uuid=uid(name))
        inventories = {"VCPU": Inventory(total=total)}
        found = self.client.set_inventories(host.uuid, inventories, host.generation)
        if aggregates:
            self.client.set_provider_aggregates(host.uuid, map(uid, aggregates), found.generation)

    def add(
        self,
        name: str,
        held: Mapping[str, Mapping[str, int]] = ALLOCATED,
        *,
        kind: str | None = "INSTANCE",
        days: int = 10,
        project: str = "project",
    ) -> None:
        """A consumer that was written so long ago."""
        self.client.set_consumer(
            Consumer(
                uuid=uid(name),
                allocations={uid(host): resources for host, resources in held.items()},
                project_id=project,
                user_id="user",
                consumer_type=kind,
            )
        )
        self.make_old([name], days)

    def make_old(self, names: Iterable[str], days: int) -> None:
        with sqlite3.connect(self.folder / "roost.db") as database:
            database.executemany(
                "UPDATE consumers SET created_at = datetime('now', ?), updated_at = NULL "
                "WHERE uuid = ?",
                [(f"-{days} days", uid(name)) for name in names],
            )
        database.close()

    def holds(self, name: str) -> bool:
        return bool(self.client.consumer(uid(name)).allocations)

    def known(self, *names: str) -> Path:
        path = self.folder / "known.txt"
        path.write_text("".join(f"{uid(name)}\n" for name in names))
        return path

    def run(self, *arguments: str, status: int, input: str = "") -> str:
        """What it prints, in this process; if it fails, the message."""
        with contextlib.chdir(self.folder):
            done = CliRunner().invoke(
                roost, ["audit", *arguments], env=self.variables, input=input, prog_name="roost"
            )
        if isinstance(done.exception, Failure):
            assert done.exception.exit_code == status, done.exception
            return str(done.exception)
        assert done.exit_code == status, done.output
        return done.stderr if status == 2 else done.stdout

    def said(self, *arguments: str, status: int) -> str:
        """What a process of its own says on stderr."""
        done = subprocess.run(
            command("audit", *arguments),
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done.stderr

    def report(self, *arguments: str, status: int = 3) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run(*arguments, "--json", status=status))
        return found

    def records(self) -> list[Path]:
        return sorted(self.folder.glob("roost-audit-*.jsonl"))

    @property
    def variables(self) -> dict[str, str]:
        return {
            **os.environ,
            "ROOST_URL": self.server.url,
            "ROOST_TOKEN": "admin",
            **self.environment,
        }


@contextlib.contextmanager
def files_limited(size: int) -> Iterator[None]:
    """No file may become larger in the processes that are started: a write fails half-way."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoostServer]:
    folder = tmp_path_factory.mktemp("audit")
    with RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server:
        server.folder = folder  # type: ignore[attr-defined]
        yield server


@pytest.fixture
def cloud(server: RoostServer) -> Iterator[Cloud]:
    folder: Path = server.folder  # type: ignore[attr-defined]
    cloud = Cloud(server, folder)
    cloud.add_host("host1", aggregates=("az1",))
    cloud.add_host("host2")
    yield cloud
    for each in list(cloud.client.consumers()):
        cloud.client.delete_consumer(each.consumer.uuid)
    for provider in cloud.client.providers():
        cloud.client.delete_provider(provider.uuid)
    for path in (*cloud.records(), folder / "known.txt"):
        path.unlink(missing_ok=True)
    cloud.client.close()


# ---------------------------------------------------------------------------------------------
# Reports


def test_a_cloud_that_agrees(cloud: Cloud) -> None:
    cloud.add("one")
    shown = cloud.run("--known", str(cloud.known("one")), status=0)
    assert shown.splitlines()[-1] == "Nothing found."


def test_findings_in_words(cloud: Cloud) -> None:
    cloud.add("one", {"host1": {"VCPU": 4}})
    cloud.add("two", {"host2": {"VCPU": 6}}, days=40)
    cloud.add("[red]", {"host2": {"VCPU": 2}}, days=3, project="[bold]other")
    cloud.add("young", {"host2": {"VCPU": 1}}, days=0)
    inventories = cloud.client.inventories(uid("host2"))
    cloud.client.set_inventories(uid("host2"), {"VCPU": Inventory(total=7)}, inventories.generation)
    known = cloud.known("one", "empty")
    shown = cloud.run("--known", str(known), "--aggregate", uid("az1"), status=3)
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines[:8] == [
        "2 providers",
        "4 consumers",
        "2 known to the cloud",
        "1 unknown, but too young to be judged",
        "2 orphans, which hold VCPU 8",
        "1 servers without allocations",
        "1 providers outside of the aggregates that consumers hold",
        "1 over-committed inventories",
    ]
    assert "type INSTANCE, project project: 1 orphan with VCPU 6" in lines
    assert "type INSTANCE, project [bold]other: 1 orphan with VCPU 2" in lines
    assert f"40 d {uid('two')} host2: VCPU 6" in lines
    assert uid("empty") in lines
    assert "host2: 3 consumers with VCPU 9" in lines
    assert "host2 VCPU: 9 used of 7, 2 too many" in lines
    assert f"{uid('two')} 6" in lines


def test_findings_for_programs(cloud: Cloud) -> None:
    cloud.add("two", {"host1": {"VCPU": 2}, "host2": {"VCPU": 1}})
    found = cloud.report("--known", str(cloud.known("empty")), "--aggregate", uid("az1"))
    assert found["totals"] == {
        "providers": 2,
        "consumers": 1,
        "known": 1,
        "young": 0,
        "orphans": 1,
        "servers": 1,
        "outside": 1,
        "over_committed": 0,
        "held_by_orphans": {"VCPU": 3},
    }
    [orphan] = found["orphans"]
    assert orphan["uuid"] == uid("two")
    assert orphan["consumer_type"] == "INSTANCE"
    assert orphan["project_id"] == "project"
    assert orphan["allocations"] == {uid("host1"): {"VCPU": 2}, uid("host2"): {"VCPU": 1}}
    assert 10 * 86_400 <= orphan["age_seconds"] < 11 * 86_400
    assert found["servers"] == [uid("empty")]
    [outside] = found["outside"]
    assert (outside["name"], outside["consumers"]) == ("host2", {uid("two"): {"VCPU": 1}})
    assert found["names"] == {uid("host1"): "host1", uid("host2"): "host2"}


def test_types(cloud: Cloud) -> None:
    for kind in ("INSTANCE", "MIGRATION", "CONTAINER", None):
        cloud.add(str(kind), kind=kind)
    known = str(cloud.known("other"))

    def orphans(*arguments: str) -> set[str]:
        found = cloud.report("--known", known, *arguments)
        return {each["consumer_type"] for each in found["orphans"]}

    assert orphans() == {"INSTANCE", "unknown"}
    assert orphans("--type", "MIGRATION", "--type", "container") == {"MIGRATION", "CONTAINER"}


def test_ages_count_from_when_the_list_was_made(cloud: Cloud) -> None:
    """A server that was created after a list cannot be in it, however old it is by now."""
    cloud.add("one", days=3)
    known = cloud.known("other")
    assert len(cloud.report("--known", str(known))["orphans"]) == 1
    assert len(cloud.report("--known", str(known), "--older-than", "4d")["orphans"]) == 0
    five_days_ago = known.stat().st_mtime - 5 * 86_400
    os.utime(known, (five_days_ago, five_days_ago))
    found = cloud.report("--known", str(known))
    assert (found["totals"]["orphans"], found["totals"]["young"]) == (0, 1)


def test_ages_are_those_of_the_services_clock(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + timedelta(days=30)

    cloud.add("one", days=3)
    for module in (looking, sources):
        monkeypatch.setattr(module, "datetime", Ahead)

    def orphans(older_than: str) -> int:
        arguments = ("--known", "-", "--allow-empty", "--older-than", older_than, "--json")
        found = json.loads(cloud.run(*arguments, status=3 if older_than == "2d" else 0))
        return len(found["orphans"])

    assert (orphans("2d"), orphans("4d")) == (1, 0)


def test_a_whole_cloud_takes_at_most_ten_requests(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With pages that stand in the same proportion to this cloud as the real ones to a large one.

    84,000 providers are two pages of 50,000, and 300,000 consumers three pages of 100,000.
    """
    for number in range(6):
        cloud.add_host(f"more{number}", total=100)
    for number in range(30):
        cloud.add(
            f"server{number}", {"host1": {"VCPU": 1}} if number < 5 else {"more1": {"VCPU": 1}}
        )
    log = next(cloud.folder.glob("roost-*.log"))
    before = log.read_text().count('"GET ')
    monkeypatch.setattr(looking, "PROVIDERS_PAGE", 5)
    monkeypatch.setattr(looking, "CONSUMERS_PAGE", 10)
    shown = cloud.run("--known", str(cloud.known("other")), status=3)
    assert shown.split()[:4] == ["8", "providers", "30", "consumers"]
    # The version; two pages of providers; and three of consumers, twice because there are orphans.
    assert log.read_text().count('"GET ') - before == 1 + 2 + 2 * 3


# ---------------------------------------------------------------------------------------------
# Giving back


def test_give_back_and_put_back(cloud: Cloud) -> None:
    cloud.add("one")
    cloud.add("two")
    cloud.add("young", days=0)
    known = str(cloud.known("one"))
    shown = cloud.run("--known", known, "--release", "--yes", status=0)
    assert "To be given back: VCPU 2, of 1 orphan." in shown
    assert "1 consumer given back" in shown
    assert [cloud.holds(name) for name in ("one", "two", "young")] == [True, False, True]
    [record] = cloud.records()
    assert f"roost audit --restore {record.name}" in shown

    shown = cloud.run("--restore", str(record), status=0)
    assert "1 consumer put back" in shown
    assert cloud.holds("two")
    assert "1 consumer there already" in cloud.run("--restore", str(record), status=0)


def test_give_back_for_programs(cloud: Cloud) -> None:
    cloud.add("two")
    record = cloud.folder / "record.jsonl"
    arguments = ("--known", str(cloud.known("one")), "--release", "--yes", "--record", str(record))
    found = cloud.report(*arguments)
    # A server without allocations is left.
    assert found["servers"] == [uid("one")]
    assert found["outcomes"] == [{"uuid": uid("two"), "result": "released", "reason": ""}]
    assert found["record"] == str(record)
    # A record is never overwritten, and nothing is done without one.
    cloud.add("three")
    assert f"{record} exists" in cloud.run(*arguments, status=2)
    assert cloud.holds("three")
    restored = cloud.report("--restore", str(record), status=0)
    assert [each["result"] for each in restored["outcomes"]] == ["restored"]
    record.unlink()


def test_consumers_of_unknown_type_are_given_back_on_demand_only(cloud: Cloud) -> None:
    cloud.add("two", kind=None)
    arguments = ("--known", str(cloud.known("one")), "--release", "--yes")
    shown = cloud.run(*arguments, status=3)
    assert "1 orphan of unknown type will be left alone" in shown
    assert cloud.holds("two")
    assert cloud.records() == []
    # Programs have the findings on standard output, and their users the reason on the other one.
    assert cloud.report(*arguments)["outcomes"] == []
    assert "say --type unknown" in cloud.said(*arguments, "--json", status=3)
    cloud.run(*arguments, "--type", "unknown", status=3)
    assert not cloud.holds("two")


def test_many_orphans_are_more_likely_a_list_that_was_cut_off(cloud: Cloud) -> None:
    cloud.add_host("large", total=1000)
    names = [f"many{number}" for number in range(101)]
    consumers = [
        Consumer(
            uuid=uid(name),
            allocations={uid("large"): {"VCPU": 1}},
            project_id="project",
            user_id="user",
            consumer_type="INSTANCE",
        )
        for name in names
    ]
    cloud.client.set_consumers(consumers)
    cloud.make_old(names, days=1)
    arguments = ("--known", str(cloud.known("one")), "--release", "--yes")
    shown = cloud.run(*arguments, status=2)
    assert "101 of 101 consumers are orphans" in shown
    assert cloud.holds("many0")
    cloud.run(*arguments, "--allow-many", status=3)
    assert not cloud.holds("many0")


@pytest.mark.parametrize("file_bytes_max", [20, 200])
def test_a_record_that_cannot_be_written_keeps_everything(
    cloud: Cloud, file_bytes_max: int
) -> None:
    """A full disk: there is room for the first line at most, and then it is not a record."""
    cloud.add("two")
    arguments = ("--known", str(cloud.known("one")), "--release", "--yes")
    with files_limited(file_bytes_max):
        said = cloud.said(*arguments, status=1)
    assert said.startswith("roost: nothing was given back"), said
    assert said.endswith(": File too large\n"), said
    assert cloud.holds("two")
    assert cloud.records() == []


def test_a_person_is_asked(cloud: Cloud) -> None:
    cloud.add("two")
    arguments = command("audit", "--known", str(cloud.known("one")), "--release")
    for answer, is_given_back in (("n", False), ("y", True)):
        in_folder = ["sh", "-c", f"cd {cloud.folder} && {shlex.join(arguments)}"]
        with Terminal(in_folder, environment=cloud.variables) as terminal:
            terminal.wait_for("Give it back? [y/N]:")
            terminal.type(f"{answer}\n")
            assert terminal.wait() == 3
        assert cloud.holds("two") is not is_given_back


def test_without_a_terminal_nobody_can_be_asked(cloud: Cloud) -> None:
    cloud.add("two")
    done = subprocess.run(
        command("audit", "--known", "-", "--release"),
        env=cloud.variables,
        input=uid("one"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 2
    assert done.stderr == "roost: cannot ask for confirmation without a terminal: say --yes\n"


# ---------------------------------------------------------------------------------------------
# The cloud itself


@pytest.fixture
def nova(cloud: Cloud) -> Iterator[Nova]:
    tokens = {"operator": token("operator", project="admin", roles=("admin",))}
    with (
        Nova(page=2, token="operator") as nova,
        Keystone(tokens, passwords={"operator": PASSWORD}) as keystone,
    ):
        keystone.services = {"compute": nova.url, "placement": cloud.server.url}
        cloud.environment = {
            "OS_AUTH_URL": f"{keystone.url}/v3",
            "OS_USERNAME": "operator",
            "OS_PASSWORD": PASSWORD,
            "OS_PROJECT_NAME": "admin",
            "OS_USER_DOMAIN_NAME": "Default",
            "OS_PROJECT_DOMAIN_NAME": "Default",
        }
        yield nova


def test_the_list_of_the_openstack_command_comes_through_a_pipe(cloud: Cloud, nova: Nova) -> None:
    for name in ("one", "two", "three"):
        cloud.add(name)
        nova.add(uid(name))
    cloud.add("gone", days=2)
    openstack = shutil.which("openstack", path=str(Path(sys.executable).parent))
    assert openstack is not None
    list_servers = f"{openstack} server list --all-projects --no-name-lookup -f value -c ID"
    audit = shlex.join(command("audit", "--known", "-", "--json"))
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {list_servers} | {audit}"],
        env=cloud.variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    found = json.loads(done.stdout)
    assert found["totals"]["known"] == 3
    assert [each["uuid"] for each in found["orphans"]] == [uid("gone")]
    assert found["servers"] == []


def test_nova_is_asked(cloud: Cloud, nova: Nova) -> None:
    """With a server that is resized, one that can be restored, and one that was deleted."""
    for name in ("one", "resized", "restorable"):
        cloud.add(name, {"host1": {"VCPU": 1}}, kind=None)
    cloud.add("migration", {"host1": {"VCPU": 1}}, kind=None)
    cloud.add("ended", {"host2": {"VCPU": 1}}, kind=None)
    cloud.add("deleted", {"host2": {"VCPU": 1}}, kind=None)
    nova.add(uid("one"))
    nova.add(uid("resized"), status="VERIFY_RESIZE")
    nova.add(uid("shelved"), host=None, status="SHELVED_OFFLOADED")
    nova.add(uid("lost"))
    nova.add_soft_deleted(uid("restorable"))
    nova.add_migration(uid("migration"), "finished")
    nova.add_migration(uid("ended"), "confirmed")
    found = cloud.report("--nova")
    assert {each["uuid"] for each in found["orphans"]} == {uid("ended"), uid("deleted")}
    assert found["servers"] == [uid("lost")]

    found = cloud.report("--nova", "--type", "unknown", "--release", "--yes")
    assert {each["result"] for each in found["outcomes"]} == {"released"}
    assert len(found["outcomes"]) == 2
    held = [name for name in ("one", "resized", "restorable", "migration") if cloud.holds(name)]
    assert held == ["one", "resized", "restorable", "migration"]


def test_nova_has_the_last_word(cloud: Cloud, nova: Nova) -> None:
    """A server that is missing from the list, but not from nova, is left alone."""

    class Forgetful(Nova):
        def answer(self, path: str, *arguments: Any) -> tuple[int, dict[str, Any]]:
            status, body = super().answer(path, *arguments)
            if path == "/servers/detail":
                body["servers"] = [each for each in body["servers"] if each["id"] != uid("two")]
            return status, body

    for name in ("one", "two"):
        cloud.add(name)
        nova.add(uid(name))
    nova.__class__ = Forgetful
    found = cloud.report("--nova", "--release", "--yes")
    assert found["outcomes"] == [{"uuid": uid("two"), "result": "known", "reason": ""}]
    assert cloud.holds("two")


def test_a_cell_that_does_not_answer_ends_the_audit(cloud: Cloud, nova: Nova) -> None:
    nova.lost = [uid("one")]
    assert "a cell of nova does not answer" in cloud.run("--nova", status=1)


# ---------------------------------------------------------------------------------------------
# Bad input


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "who is known? Say --known FILE"),
        (("--known", "-"), "no consumer is known, so that all would be orphans"),
        (("--known", "missing.txt"), "missing.txt: No such file or directory"),
        (("--known", "/"), "/: Is a directory"),
        (("--known", "-", "--also-known", "-"), "standard input can be one list only"),
        (("--known", "roost.db"), "roost.db is not text in UTF-8"),
        (("--nova",), "OS_AUTH_URL is not set"),
        (
            ("--known", "-", "--older-than", "soon"),
            "expected an age such as 30m, 12h, 7d or 2w, not 'soon'",
        ),
        (("--known", "-", "--older-than", "-1h"), "expected an age such as"),
        (("--known", "-", "--aggregate", "az1"), "--aggregate 'az1': not a UUID"),
        (("--known", "-", "--yes"), "--yes, --record and --allow-many go with --release"),
        (("--restore", "missing.jsonl"), "File 'missing.jsonl' does not exist"),
        (("--restore", "roost.db"), "roost.db is not a record of roost audit"),
        (("--restore", "roost.db", "--nova"), "--restore goes with"),
        (("--restore", "roost.db", "--allow-many"), "--restore goes with"),
    ],
)
def test_bad_input(cloud: Cloud, arguments: tuple[str, ...], expected: str) -> None:
    assert expected in cloud.run(*arguments, status=2)


class OtherPlacement(BaseHTTPRequestHandler):
    """A service of another kind: it knows the version, and none of the extensions."""

    def do_GET(self) -> None:
        is_root = self.path == "/"
        body = {"versions": [{"max_version": "1.39"}]} if is_root else {"errors": []}
        content = json.dumps(body).encode()
        self.send_response(200 if is_root else 400)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""


def test_a_service_without_the_extensions_is_named(cloud: Cloud) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), OtherPlacement) as other:
        threading.Thread(target=other.serve_forever, args=[0.01], daemon=True).start()
        cloud.environment = {"ROOST_URL": f"http://127.0.0.1:{other.server_address[1]}"}
        shown = cloud.run("--known", str(cloud.known("one")), status=1)
        other.shutdown()
    assert "an audit needs roost, with the extensions include and list_allocations" in shown


def test_an_aggregate_without_providers_is_a_mistake(cloud: Cloud) -> None:
    arguments = ("--known", str(cloud.known("one")), "--aggregate", uid("az9"))
    assert f"no provider is in the aggregate {uid('az9')}" in cloud.run(*arguments, status=2)


def test_an_empty_list_can_be_meant(cloud: Cloud) -> None:
    cloud.add("one")
    found = cloud.report("--known", "-", "--allow-empty")
    assert found["totals"]["orphans"] == 1


def test_a_bad_line_is_named(cloud: Cloud) -> None:
    shown = cloud.run("--known", "-", input=f"{uid('one')}\nweb-1\n", status=2)
    assert "standard input, line 2: 'web-1' is not a UUID" in shown
