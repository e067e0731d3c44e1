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

from roost.cli.main import roost
from roost.cli.output import Failure
from roost.health.check import check, read_tables
from roost.health.findings import Finding, FindingKind
from roost.health.index_check import TableContents, compare_index
from roost.health.repair import REPAIRS, repair
from roost.search.index.index import Index
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.adoption.adopt import IncompleteIds
from roost.store.store import Store
from tests.health.broken import BREAKS, DANGLING, REPAIRED, make_cloud, write
from tests.support.recorded_progress import RecordedProgress
from tests.support.roost_server import command

SECONDS_MAX = 60
INCOMPLETE = IncompleteIds(project="somebody", user="nobody")
# About tables and not about their rows: see test_definitions.py.
DEFINITION_KINDS = {
    FindingKind.MISSING_INDEX,
    FindingKind.MISSING_KEY,
    FindingKind.EXTRA_KEY,
    FindingKind.NULL_IN_KEY,
}


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    store = make_cloud(database_url)
    yield store
    store.dispose()


def findings_of(store: Store) -> list[Finding]:
    return check(store)


def by_kind(findings: Sequence[Finding]) -> dict[FindingKind, set[str]]:
    found: dict[FindingKind, set[str]] = {}
    for each in findings:
        found.setdefault(each.kind, set()).add(each.subject)
    return found


def contents(store: Store) -> dict[str, Any]:
    return Index.build(store.load()[1]).contents()


def test_every_kind_is_broken_here_and_repaired_where_that_is_safe() -> None:
    elsewhere = {*DEFINITION_KINDS, FindingKind.INDEX, FindingKind.SAME_CONSUMER}
    assert {*BREAKS, *elsewhere} == set(FindingKind)
    assert set(REPAIRS) == REPAIRED == {kind for kind in FindingKind if kind.repair}


def test_all_kinds_are_found_and_repaired_together(store: Store, database_url: str) -> None:
    """Everything is broken and repaired on each kind of database, while a service runs."""
    assert findings_of(store) == []
    write(store.engine, *(statement for statement, _ in BREAKS.values()), *DANGLING)
    running = Roost(Store.open(database_url), Settings())
    running.current_index()
    found = by_kind(findings_of(store))
    expected = {kind: subjects for kind, (_, subjects) in BREAKS.items()}
    expected[FindingKind.DANGLING] = {*expected[FindingKind.DANGLING], *DANGLING.values()}
    assert found == expected

    for kind in REPAIRS:
        unaffected = kind is FindingKind.WRONG_ROOT or kind in DEFINITION_KINDS
        assert repair(store, kind, INCOMPLETE) > 0 or unaffected
    left = by_kind(findings_of(store))
    assert left == {kind: each for kind, each in expected.items() if kind not in REPAIRED}
    # A second repair writes nothing.
    assert [repair(store, kind, INCOMPLETE) for kind in REPAIRS] == [0] * len(REPAIRS)
    index = running.current_index()
    assert index.contents() == contents(store)
    running.close()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("kind", BREAKS)
def test_each_kind_is_found_alone(store: Store, kind: FindingKind) -> None:
    statement, subjects = BREAKS[kind]
    write(store.engine, statement)
    assert by_kind(findings_of(store)) == {kind: subjects}
    if kind in REPAIRS:
        assert repair(store, kind, INCOMPLETE) > 0
        assert findings_of(store) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
class TestRepairs:
    """The tables after a repair."""

    def query(self, store: Store, statement: str) -> list[Any]:
        return store.read_snapshot(lambda connection: connection.execute(sa.text(statement)).all())

    def test_roots_are_set(self, store: Store) -> None:
        write(store.engine, BREAKS[FindingKind.WRONG_ROOT][0])
        repair(store, FindingKind.WRONG_ROOT, INCOMPLETE)
        roots = "SELECT id, root_provider_id FROM resource_providers ORDER BY id"
        assert self.query(store, roots) == [(1, 1), (2, 1), (3, 1), (4, 4)]

    def test_missing_parents_are_removed(self, store: Store) -> None:
        write(store.engine, BREAKS[FindingKind.MISSING_PARENT][0])
        repair(store, FindingKind.MISSING_PARENT, INCOMPLETE)
        lost = "SELECT root_provider_id, parent_provider_id FROM resource_providers WHERE id = 21"
        assert self.query(store, lost) == [(21, None)]

    def test_unknown_consumers_are_added(self, store: Store) -> None:
        write(store.engine, BREAKS[FindingKind.UNKNOWN_CONSUMER][0])
        assert repair(store, FindingKind.UNKNOWN_CONSUMER, INCOMPLETE) == 1
        added = store.reads.consumer(["stranger"])
        assert added is not None
        assert (added.project_id, added.user_id, added.generation) == ("somebody", "nobody", 0)

    def test_missing_owners_are_set(self, store: Store) -> None:
        write(store.engine, BREAKS[FindingKind.NO_OWNER][0])
        assert store.reads.consumer(["second"]) is None
        repair(store, FindingKind.NO_OWNER, INCOMPLETE)
        found = store.reads.consumer(["second"])
        assert found is not None
        assert (found.project_id, found.user_id, found.generation) == ("somebody", "nobody", 2)

    def test_only_consumers_that_hold_nothing_are_removed(self, store: Store) -> None:
        write(store.engine, BREAKS[FindingKind.ORPHANED_CONSUMER][0])
        assert repair(store, FindingKind.ORPHANED_CONSUMER, INCOMPLETE) == 1
        assert self.query(store, "SELECT uuid FROM consumers ORDER BY id") == [
            ("first",),
            ("second",),
        ]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
class TestIndex:
    """An index that differs from the tables."""

    @pytest.fixture
    def index_and_tables(self, store: Store) -> tuple[Index, TableContents]:
        found = read_tables(store)
        return Index.build(found.rows), found.contents

    def differences(self, index: Index, tables: TableContents, **changes: Any) -> list[str]:
        changed = msgspec.structs.replace(tables, **changes)
        return [f"{each.subject}: {each.detail}" for each in compare_index(index, changed, set())]

    def test_an_equal_index_has_no_findings(
        self, index_and_tables: tuple[Index, TableContents]
    ) -> None:
        assert self.differences(*index_and_tables) == []

    def test_another_provider(self, index_and_tables: tuple[Index, TableContents]) -> None:
        index, tables = index_and_tables
        moved = {**tables.providers, "card": ("card", 9, "host")}
        assert self.differences(index, tables, providers=moved) == [
            "card: provider: served card 1 numa, in the tables card 9 host"
        ]

    def test_another_usage(self, index_and_tables: tuple[Index, TableContents]) -> None:
        index, tables = index_and_tables
        more = {**tables.inventories, ("host", "VCPU"): (8, 0, 1, 8, 1, 2.0, 5)}
        assert self.differences(index, tables, inventories=more) == [
            "host: inventory VCPU: served 8 0 1 8 1 2.0 4, in the tables 8 0 1 8 1 2.0 5"
        ]

    def test_a_missing_inventory(self, index_and_tables: tuple[Index, TableContents]) -> None:
        index, tables = index_and_tables
        more = {**tables.inventories, ("card", "VCPU"): (8, 0, 1, 8, 1, 2.0, 0)}
        [text] = self.differences(index, tables, inventories=more)
        assert text == "card: inventory VCPU: served nothing, in the tables 8 0 1 8 1 2.0 0"

    def test_other_traits_and_aggregates(
        self, index_and_tables: tuple[Index, TableContents]
    ) -> None:
        index, tables = index_and_tables
        sets = {"traits": frozenset([("numa", "CUSTOM_A"), *tables.traits])}
        assert self.differences(index, tables, **sets) == [
            "numa: trait CUSTOM_A is only in the tables"
        ]
        sets = {"aggregates": tables.aggregates - {("pool", "rack")}}
        assert self.differences(index, tables, **sets) == ["pool: aggregate rack is only served"]

    def test_aggregates_are_compared_as_searches_see_them(self, store: Store) -> None:
        rack = "a1b2c3d4-e5f6-4a7b-8c9d-e0f1a2b3c4d5"
        write(store.engine, f"UPDATE placement_aggregates SET uuid = '{rack.upper()}'")
        found = read_tables(store)
        index = Index.build(found.rows)
        assert self.differences(index, found.contents) == []
        # An index that compares what is stored with what clients send.
        index.aggregate_sets.members = list(index.aggregate_sets.stored)
        assert set(self.differences(index, found.contents)) == {
            f"{uuid}: aggregate in searches {text} is only {where}"
            for uuid in ("host", "pool")
            for text, where in ((rack.upper(), "served"), (rack, "in the tables"))
        }


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_number_of_statements_does_not_depend_on_the_cloud(store: Store) -> None:
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
        progress = RecordedProgress()
        findings = check(store, progress)
        assert len(findings) == size
        # The cloud of these tests has some providers already.
        assert progress.counted["reading providers"] == 4 + size
        counts.append(len(statements))
    assert counts[0] == counts[1]


class TestProgram:
    """The command as an operator runs it."""

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        url = f"sqlite:///{tmp_path / 'roost.db'}"
        make_cloud(url).dispose()
        return url

    def run(self, url: str, *arguments: str) -> Result:
        """Run the command in this process, which takes a tenth of the time."""
        return CliRunner().invoke(roost, ["db", "check", "--database", url, *arguments])

    def break_cloud(self, url: str, *kinds: FindingKind) -> None:
        store = Store.open(url)
        write(store.engine, *(BREAKS[kind][0] for kind in kinds))
        store.dispose()

    def test_nothing_found(self, url: str) -> None:
        done = self.run(url)
        assert (done.exit_code, done.stderr) == (0, "")
        assert "nothing found" in done.stdout

    def test_something_found(self, url: str) -> None:
        self.break_cloud(url, FindingKind.OVER_CAPACITY, FindingKind.ORPHANED_CONSUMER)
        done = self.run(url)
        assert (done.exit_code, done.stderr) == (1, "")
        assert "VCPU: 17 used of 16" in done.stdout
        assert "empty" in done.stdout
        assert "2 findings, 1 of them can be repaired" in done.stdout
        assert "\x1b" not in done.stdout

    def test_what_cannot_be_repaired_is_not_offered(self, url: str) -> None:
        store = Store.open(url)
        name = "allocations_consumer_id_idx"
        unique = f"CREATE UNIQUE INDEX {name} ON allocations (id, used)"
        write(store.engine, f"DROP INDEX {name}", unique)
        store.dispose()
        done = self.run(url, "--fix", "--yes")
        assert (done.exit_code, done.stderr) == (1, "")
        assert f"DROP INDEX {name}; then CREATE INDEX {name}" in " ".join(
            done.stdout.replace("│", " ").split()
        )
        assert "--fix can" not in done.stdout
        assert "1 findings, 0 of them can be repaired" in done.stdout

    def test_json_and_fix(self, url: str) -> None:
        self.break_cloud(url, FindingKind.OVER_CAPACITY, FindingKind.ORPHANED_CONSUMER)
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
        self.break_cloud(url, FindingKind.ORPHANED_CONSUMER)
        done = self.run(url, "--fix", "--yes")
        assert done.exit_code == 0
        assert "repaired: remove the records (1)" in done.stdout
        assert done.stdout.strip().endswith("nothing found")

    @pytest.mark.parametrize(("answer", "exit_code"), [("n", 1), ("y", 0)])
    @pytest.mark.process
    def test_asks_for_confirmation_on_a_terminal(
        self, url: str, answer: str, exit_code: int
    ) -> None:
        self.break_cloud(url, FindingKind.ORPHANED_CONSUMER)
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

    def test_needs_yes_without_a_terminal(self, url: str) -> None:
        self.break_cloud(url, FindingKind.ORPHANED_CONSUMER)
        done = self.run(url, "--fix")
        assert isinstance(done.exception, Failure)
        assert "say --yes" in str(done.exception)
        assert self.run(url).exit_code == 1

    @pytest.mark.parametrize("arguments", [["--yes"], ["--json", "--fix"], ["--nonsense"]])
    def test_bad_arguments_are_a_usage_error(self, url: str, arguments: list[str]) -> None:
        done = self.run(url, *arguments)
        assert done.exit_code == 2
        assert done.stdout == ""

    @pytest.mark.process
    def test_a_database_without_tables_is_refused(self, tmp_path: Path) -> None:
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
