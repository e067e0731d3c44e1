"""`roost db check`: every kind of finding, and each repair."""

import json
import os
import pty
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from health.broken import BREAKS, DANGLING, REPAIRED, make_cloud, write
from roost.cli.failure import Failure
from roost.cli.main import roost
from roost.health.check import STEPS, check, compare
from roost.health.facts import Facts
from roost.health.findings import KINDS, Finding
from roost.health.repair import UNITS, repair
from roost.health.survey import survey
from roost.search.index.index import Index
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.adoption.adopt import IncompleteIds
from roost.store.store import Store
from roost_server import command

SECONDS_MAX = 60
INCOMPLETE = IncompleteIds(project="somebody", user="nobody")


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    store = make_cloud(database_url)
    yield store
    store.dispose()


def look(store: Store) -> list[Finding]:
    return check(store, lambda step: None)


def by_kind(findings: Sequence[Finding]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in findings:
        found.setdefault(each.kind, set()).add(each.subject)
    return found


def contents(store: Store) -> dict[str, Any]:
    return Index.build(store.load()[1]).contents()


def test_every_kind_is_broken_here_and_repaired_where_that_is_safe() -> None:
    assert {*BREAKS, "index"} == set(KINDS)
    assert set(UNITS) == REPAIRED == {name for name, kind in KINDS.items() if kind.repair}


def test_everything_at_once(store: Store, database_url: str) -> None:
    """On each kind of database, with a service that runs meanwhile."""
    assert look(store) == []
    write(store.engine, *(statement for statement, _ in BREAKS.values()), *DANGLING)
    running = Roost(Store.open(database_url), Settings())
    with running.view():
        pass
    found = by_kind(look(store))
    expected = {kind: subjects for kind, (_, subjects) in BREAKS.items()}
    expected["dangling"] = {*expected["dangling"], *DANGLING.values()}
    assert found == expected

    for kind in UNITS:
        assert repair(store, kind, INCOMPLETE) > 0 or kind == "wrong_root"
    left = by_kind(look(store))
    assert left == {kind: each for kind, each in expected.items() if kind not in REPAIRED}
    # Nothing else is written by a second time.
    assert [repair(store, kind, INCOMPLETE) for kind in UNITS] == [0] * len(UNITS)
    with running.view() as index:
        assert index.contents() == contents(store)
    running.close()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("kind", BREAKS)
def test_one_kind(store: Store, kind: str) -> None:
    statement, subjects = BREAKS[kind]
    write(store.engine, statement)
    assert by_kind(look(store)) == {kind: subjects}
    if kind in UNITS:
        assert repair(store, kind, INCOMPLETE) > 0
        assert look(store) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
class TestRepairs:
    """What the tables say afterwards."""

    def ask(self, store: Store, statement: str) -> list[Any]:
        return store.look(lambda connection: connection.execute(sa.text(statement)).all())

    def test_roots(self, store: Store) -> None:
        write(store.engine, BREAKS["wrong_root"][0])
        repair(store, "wrong_root", INCOMPLETE)
        roots = "SELECT id, root_provider_id FROM resource_providers ORDER BY id"
        assert self.ask(store, roots) == [(1, 1), (2, 1), (3, 1), (4, 4)]

    def test_parents(self, store: Store) -> None:
        write(store.engine, BREAKS["missing_parent"][0])
        repair(store, "missing_parent", INCOMPLETE)
        lost = "SELECT root_provider_id, parent_provider_id FROM resource_providers WHERE id = 21"
        assert self.ask(store, lost) == [(21, None)]

    def test_consumers(self, store: Store) -> None:
        write(store.engine, BREAKS["unknown_consumer"][0])
        assert repair(store, "unknown_consumer", INCOMPLETE) == 1
        added = store.reads.consumer("stranger")
        assert added is not None
        assert (added.project_id, added.user_id, added.generation) == ("somebody", "nobody", 0)

    def test_owners(self, store: Store) -> None:
        write(store.engine, BREAKS["no_owner"][0])
        assert store.reads.consumer("second") is None
        repair(store, "no_owner", INCOMPLETE)
        found = store.reads.consumer("second")
        assert found is not None
        assert (found.project_id, found.user_id, found.generation) == ("somebody", "nobody", 2)

    def test_only_consumers_that_hold_nothing_are_removed(self, store: Store) -> None:
        write(store.engine, BREAKS["orphaned_consumer"][0])
        assert repair(store, "orphaned_consumer", INCOMPLETE) == 1
        assert self.ask(store, "SELECT uuid FROM consumers ORDER BY id") == [
            ("first",),
            ("second",),
        ]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
class TestIndex:
    """An index that serves something else than the tables say."""

    @pytest.fixture
    def index_and_facts(self, store: Store) -> tuple[Index, Facts]:
        found = survey(store, lambda step: None)
        return Index.build(found.rows), found.facts

    def differences(self, index: Index, facts: Facts, **changes: Any) -> list[str]:
        changed = msgspec.structs.replace(facts, **changes)
        return [f"{each.subject}: {each.detail}" for each in compare(index, changed, set())]

    def test_equal(self, index_and_facts: tuple[Index, Facts]) -> None:
        assert self.differences(*index_and_facts) == []

    def test_provider(self, index_and_facts: tuple[Index, Facts]) -> None:
        index, facts = index_and_facts
        moved = {**facts.providers, "card": ("card", 9, "host")}
        assert self.differences(index, facts, providers=moved) == [
            "card: provider: served card 1 numa, in the tables card 9 host"
        ]

    def test_usage(self, index_and_facts: tuple[Index, Facts]) -> None:
        index, facts = index_and_facts
        more = {**facts.inventories, ("host", "VCPU"): (8, 0, 1, 8, 1, 2.0, 5)}
        assert self.differences(index, facts, inventories=more) == [
            "host: inventory VCPU: served 8 0 1 8 1 2.0 4, in the tables 8 0 1 8 1 2.0 5"
        ]

    def test_inventory_that_is_not_served(self, index_and_facts: tuple[Index, Facts]) -> None:
        index, facts = index_and_facts
        more = {**facts.inventories, ("card", "VCPU"): (8, 0, 1, 8, 1, 2.0, 0)}
        [text] = self.differences(index, facts, inventories=more)
        assert text == "card: inventory VCPU: served nothing, in the tables 8 0 1 8 1 2.0 0"

    def test_traits_and_aggregates(self, index_and_facts: tuple[Index, Facts]) -> None:
        index, facts = index_and_facts
        sets = {"traits": frozenset([("numa", "CUSTOM_A"), *facts.traits])}
        assert self.differences(index, facts, **sets) == [
            "numa: trait CUSTOM_A is only in the tables"
        ]
        sets = {"aggregates": facts.aggregates - {("pool", "rack")}}
        assert self.differences(index, facts, **sets) == ["pool: aggregate rack is only served"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_number_of_statements_does_not_follow_the_cloud(store: Store) -> None:
    counts = []
    for size in (0, 300):
        rows = ", ".join(f"({id}, 'x{id}', 'x{id}', 0)" for id in range(1000, 1000 + size))
        if rows:
            columns = "(id, uuid, name, generation)"
            write(store.engine, f"INSERT INTO resource_providers {columns} VALUES {rows}")
        statements: list[str] = []
        sa.event.listen(
            store._database.reader,
            "before_cursor_execute",
            lambda *arguments, seen=statements: seen.append(arguments[2]),
        )
        steps: list[str] = []
        findings = check(store, steps.append)
        assert len(findings) == size
        assert tuple(steps) == STEPS
        counts.append(len(statements))
    assert counts[0] == counts[1]


class TestProgram:
    """As an operator runs it."""

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        url = f"sqlite:///{tmp_path / 'roost.db'}"
        make_cloud(url).dispose()
        return url

    def run(self, url: str, *arguments: str) -> Result:
        """In this process, which takes a tenth of the time."""
        return CliRunner().invoke(roost, ["db", "check", "--database", url, *arguments])

    def break_it(self, url: str, *kinds: str) -> None:
        store = Store.open(url)
        write(store.engine, *(BREAKS[kind][0] for kind in kinds))
        store.dispose()

    def test_nothing_found(self, url: str) -> None:
        done = self.run(url)
        assert (done.exit_code, done.stderr) == (0, "")
        assert "nothing found" in done.stdout

    def test_something_found(self, url: str) -> None:
        self.break_it(url, "over_capacity", "orphaned_consumer")
        done = self.run(url)
        assert (done.exit_code, done.stderr) == (1, "")
        assert "VCPU: 17 used of 16" in done.stdout
        assert "empty" in done.stdout
        assert "2 findings, 1 of them can be repaired" in done.stdout
        assert "\x1b" not in done.stdout

    def test_json_and_fix(self, url: str) -> None:
        self.break_it(url, "over_capacity", "orphaned_consumer")
        found = json.loads(self.run(url, "--json").stdout)
        assert {each["kind"] for each in found["findings"]} == {
            "over_capacity",
            "orphaned_consumer",
        }
        done = self.run(url, "--json", "--fix", "--yes")
        assert done.exit_code == 1
        found = json.loads(done.stdout)
        assert found["repaired"] == {"orphaned_consumer": 1}
        assert [each["kind"] for each in found["findings"]] == ["over_capacity"]
        assert found["findings"][0]["repair"] is None

    def test_everything_repaired(self, url: str) -> None:
        self.break_it(url, "orphaned_consumer")
        done = self.run(url, "--fix", "--yes")
        assert done.exit_code == 0
        assert "repaired: remove the records (1 rows)" in done.stdout
        assert done.stdout.strip().endswith("nothing found")

    @pytest.mark.parametrize(("answer", "exit_code"), [("n", 1), ("y", 0)])
    @pytest.mark.process
    def test_asks_on_a_terminal(self, url: str, answer: str, exit_code: int) -> None:
        self.break_it(url, "orphaned_consumer")
        terminal, end = pty.openpty()
        os.write(terminal, f"{answer}\n".encode())
        done = subprocess.run(
            command("db", "check", "--database", url, "--fix"),
            stdin=end,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        os.close(terminal)
        os.close(end)
        assert done.returncode == exit_code
        assert "--fix would remove the records (1 findings)" in done.stdout

    def test_asks_nobody_without_a_terminal(self, url: str) -> None:
        self.break_it(url, "orphaned_consumer")
        done = self.run(url, "--fix")
        assert isinstance(done.exception, Failure)
        assert "say --yes" in str(done.exception)
        assert self.run(url).exit_code == 1

    @pytest.mark.parametrize("arguments", [["--yes"], ["--json", "--fix"], ["--nonsense"]])
    def test_wrong_usage(self, url: str, arguments: list[str]) -> None:
        done = self.run(url, *arguments)
        assert done.exit_code == 2
        assert done.stdout == ""

    @pytest.mark.process
    def test_a_database_without_tables(self, tmp_path: Path) -> None:
        done = subprocess.run(
            command("db", "check", "--database", f"sqlite:///{tmp_path / 'empty.db'}"),
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        assert (done.returncode, done.stdout) == (1, "")
        [line] = done.stderr.strip().splitlines()
        assert "roost db sync" in line
