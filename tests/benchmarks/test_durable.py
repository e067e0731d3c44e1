"""Durable claims: servers, clients, and the checks, which must fail if something is wrong."""

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy

from benchmarks.databases import PostgreSQL, SQLite, is_in_memory, start_database
from benchmarks.durable.cases import CASES, measure_case
from benchmarks.durable.checks import compare_usages, find_over_allocated, run_db_check
from benchmarks.durable.clients import Client, content_length
from benchmarks.durable.cloud import Cloud, build_hosts, running_cloud
from benchmarks.durable.holdings import compare_holdings, read_holdings
from benchmarks.durable.jobs import JobPlan, decode_answers
from benchmarks.durable.million import check_everything, measure_million, place_jobs
from benchmarks.durable.pgbench import PgBench
from benchmarks.durable.results import CloudRates, DurableResult
from benchmarks.durable.work import Claims, Placements
from benchmarks.report import documentation
from benchmarks.results import Results, read_results

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 300
PLAN = JobPlan(jobs=6, consumers=5)
HOSTS = 10
CONSUMER = "a0000000-0000-4000-8000-000000000001"
PROVIDER = "b0000000-0000-4000-8000-000000000002"


def quiet(text: str) -> None:
    """Shows nothing."""


@contextlib.contextmanager
def cloud_with_room(consumers: int, folder: Path) -> Iterator[Cloud]:
    dataset = build_hosts(HOSTS, consumers)
    with running_cloud(dataset, SQLite(folder), workers=1, threads=2, show_progress=quiet) as cloud:
        yield cloud


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    with cloud_with_room(PLAN.jobs * PLAN.consumers, tmp_path) as cloud:
        yield cloud


@contextlib.contextmanager
def changed_tables(cloud: Cloud, statement: str) -> Iterator[sqlalchemy.Engine]:
    """The tables, after a change of which the service knows nothing."""
    engine = sqlalchemy.create_engine(cloud.service.database_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    yield engine
    engine.dispose()


class TestServers:
    def test_a_durable_postgresql_waits_for_the_disk(self) -> None:
        with start_database("postgresql", durable=True) as database:
            assert isinstance(database, PostgreSQL)
            engine = sqlalchemy.create_engine(database.create_database())
            with engine.connect() as connection:
                for name in ("fsync", "full_page_writes", "synchronous_commit"):
                    assert connection.exec_driver_sql(f"SHOW {name}").scalar() == "on"
            engine.dispose()
            pgbench = PgBench(database)
            pgbench.measure(1)
            pgbench.measure(1)
            assert min(pgbench.samples) <= pgbench.median <= max(pgbench.samples)

    def test_a_durable_mariadb_waits_for_the_disk(self) -> None:
        with start_database("mariadb", durable=True) as database:
            engine = sqlalchemy.create_engine(database.create_database())
            with engine.connect() as connection:
                found = connection.exec_driver_sql("SELECT @@innodb_flush_log_at_trx_commit")
                assert found.scalar() == 1
            engine.dispose()

    def test_a_folder_in_memory_is_not_taken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        memory = Path("/dev/shm")
        if not is_in_memory(memory):
            pytest.skip("this machine has no such folder")
        monkeypatch.setenv("ROOST_BENCHMARK_FOLDER", str(memory))
        with pytest.raises(RuntimeError), start_database("postgresql", durable=True):
            pass


class TestClients:
    def test_bytes_of_a_claim_are_those_of_a_request(self) -> None:
        messages = Claims([PROVIDER]).messages(0, nobody())
        first, second = split(next(messages)), split(next(messages))
        assert first.target != second.target
        assert re.fullmatch(r"/allocations/[0-9a-f-]{36}", first.target)
        assert first.body["allocations"] == {PROVIDER: {"resources": {"VCPU": 1, "MEMORY_MB": 256}}}

    def test_each_placement_has_new_consumers(self) -> None:
        messages = Placements(3, "pack").messages(0, nobody())
        first, second = (split(next(messages)).body for _ in range(2))
        assert len(first["consumers"]) == 3
        assert not first["consumers"].keys() & second["consumers"].keys()
        assert first["order"] == "pack"

    def test_an_answer_says_its_length(self) -> None:
        assert content_length(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n") == 12
        assert content_length(b"HTTP/1.1 204 No Content\r\n\r\n") == 0
        with pytest.raises(RuntimeError):
            content_length(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")

    def test_claims_are_counted_and_held(self, tmp_path: Path) -> None:
        with cloud_with_room(100_000, tmp_path) as cloud:
            rate = measure_case(CASES["put-1"], cloud, 0.5)
            engine = sqlalchemy.create_engine(cloud.service.database_url)
            held = len(read_holdings(engine))
            engine.dispose()
        assert rate.claims > 0
        assert (rate.refused, rate.failed) == (0, 0)
        # Those before and after the time that counts are held as well.
        assert held >= 2 * rate.claims

    def test_refusals_are_not_claims(self, cloud: Cloud) -> None:
        # The hosts are full long before the end.
        rate = measure_case(CASES["put-10"], cloud, 1.0)
        assert rate.refused > 0
        assert rate.failed == 0
        assert rate.claims <= 2 * PLAN.jobs * PLAN.consumers
        assert "exceed the capacity" in rate.example


class TestHoldings:
    def said(self, *amounts: int) -> Any:
        placed = {
            f"{CONSUMER[:-1]}{number}": {
                "allocations": {PROVIDER: {"resources": {"VCPU": amount}}},
                "mappings": {"": [PROVIDER]},
            }
            for number, amount in enumerate(amounts)
        }
        return decode_answers([json.dumps({"placements": placed}).encode()])

    def test_the_order_of_rows_does_not_matter(self) -> None:
        said = self.said(1, 2, 3)
        assert compare_holdings(said, said[::-1]) == []

    def test_what_differs_is_named(self) -> None:
        [missing] = compare_holdings(self.said(1, 2), self.said(1))
        assert "answered but not held" in missing
        [more] = compare_holdings(self.said(1), self.said(1, 2))
        assert "held but not answered" in more
        both = compare_holdings(self.said(1, 2), self.said(1, 3))
        assert len(both) == 2
        assert "VCPU:3" in both[1]

    def test_a_row_that_is_there_twice_is_found(self) -> None:
        said = self.said(1, 2)
        assert compare_holdings(said, np.concatenate([said, said[:1]])) != []


class TestMillion:
    def test_everything_is_as_the_answers_said(self, cloud: Cloud) -> None:
        result = measure_million(cloud, PLAN, 2, quiet)
        assert result.findings == []
        assert (result.placed, result.failed) == (PLAN.jobs * PLAN.consumers, 0)
        assert 0 < result.p50_ms <= result.p99_ms

    def test_an_amount_that_was_changed_is_found(self, cloud: Cloud) -> None:
        said = place_jobs(cloud, PLAN, 2, quiet).said
        assert check_everything(cloud, said, quiet) == []
        with changed_tables(cloud, "UPDATE allocations SET used = used + 1 WHERE id = 1"):
            findings = check_everything(cloud, said, quiet)
        assert any("held but not answered" in finding for finding in findings)
        assert any("usages differ" in finding for finding in findings)

    @pytest.mark.long
    def test_a_consumer_that_was_lost_is_found(self, cloud: Cloud) -> None:
        said = place_jobs(cloud, PLAN, 2, quiet).said
        with changed_tables(
            cloud, "DELETE FROM allocations WHERE consumer_id = (SELECT min(uuid) FROM consumers)"
        ) as engine:
            [finding] = compare_holdings(said, read_holdings(engine))
        assert "2 amounts answered but not held" in finding
        assert run_db_check(cloud.service.database_url, cloud.folder) != []

    @pytest.mark.long
    def test_an_over_allocation_is_found(self, cloud: Cloud) -> None:
        place_jobs(cloud, PLAN, 2, quiet)
        with changed_tables(cloud, "UPDATE inventories SET total = 0, reserved = 0") as engine:
            [finding] = find_over_allocated(engine)
        assert finding.startswith(f"{2 * HOSTS} over-allocated")

    @pytest.mark.long
    def test_a_service_that_serves_something_else_is_found(self, cloud: Cloud) -> None:
        place_jobs(cloud, PLAN, 2, quiet)
        with changed_tables(cloud, "DELETE FROM allocations WHERE id = 1") as engine:
            [finding] = compare_usages(cloud.service, engine)
        assert finding.startswith("1 usages differ")

    @pytest.mark.long
    def test_jobs_that_do_not_fit_are_reported(self, cloud: Cloud) -> None:
        result = measure_million(cloud, JobPlan(jobs=1, consumers=200), 1, quiet)
        assert result.failed == 1
        assert "1 jobs were not placed" in result.findings[0]

    @pytest.mark.long
    def test_the_command_prints_one_line(self, tmp_path: Path) -> None:
        path = tmp_path / "million.json"
        small = ("--hosts", "10", "--jobs", "4", "--consumers", "5", "--workers", "1", "--quick")
        printed = run("--million", *small, "--database", "sqlite", "--json", str(path))
        assert re.fullmatch(
            r"20 placements in 4 jobs on 10 hosts, SQLite, .* P; .*; all checks passed\n", printed
        )
        [million] = read_results(path).durable.millions
        assert len(million.transactions) == 2


class TestDurable:
    @pytest.mark.long
    def test_has_a_row_for_each_case_and_documents_it(self, tmp_path: Path) -> None:
        path = tmp_path / "durable.json"
        small = ("--hosts", "10", "--jobs", "2", "--consumers", "5", "--seconds", "0.3")
        printed = run(
            "--durable", "--quick", *small, "--database", "postgresql", "--json", str(path)
        )
        assert "Claims on disk: 10 hosts, PostgreSQL" in printed
        results = read_results(path)
        [cloud] = results.durable.clouds
        assert cloud.million_on_disk is not None
        assert all(rate.claims and not rate.failed for rate in cloud.on_disk.values())
        page = "\n".join(documentation(results))
        for key in cloud.on_disk:
            assert f"| {CASES[key].title} |" in page

    def test_a_later_run_replaces_an_earlier_one(self) -> None:
        def result(hosts: int, sample: float) -> DurableResult:
            rates = CloudRates(database="PostgreSQL", hosts=hosts, workers=1, threads=1)
            rates.transactions = [sample]
            return DurableResult(clouds=[rates])

        kept = result(5, 1.0)
        kept.add(result(6, 2.0))
        kept.add(result(5, 3.0))
        assert {one.hosts: one.transactions for one in kept.clouds} == {6: [2.0], 5: [3.0]}

    def test_without_results_nothing_is_said(self) -> None:
        results = Results(machine="", versions={})
        assert "Durable claims" not in "\n".join(documentation(results))


class Sent:
    """A request, as a server would read it."""

    def __init__(self, message: bytes) -> None:
        head, _, body = message.partition(b"\r\n\r\n")
        self.target = head.split()[1].decode()
        assert content_length(head + b"\r\n\r\n") == len(body)
        self.body = json.loads(body)


def split(message: bytes) -> Sent:
    return Sent(message)


def nobody() -> Client:
    """A client without a connection: these messages do not depend on answers."""
    return Client.__new__(Client)


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
