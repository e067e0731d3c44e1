"""The benchmark runs end to end on a tiny cloud and reports every row. No times are asserted.

CI runs the part that compares the services, and the report; the long form runs all parts.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.contention import CLIENTS
from benchmarks.extensions import CASES as EXTENSION_CASES
from tests.support.console import chromium
from tests.support.hostile.neighbour import KINDS
from tests.support.long_form import choose

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 300

SEARCHES = {"limit-10", "limit-1000", "no-limit", "rare", "wide"}
READS = {"get-provider", "get-inventories", "get-traits", "get-usages"}
WRITES = {"put-allocations", "put-inventories", "put-traits", "put-aggregates", "reshaper"}
ALL = SEARCHES | READS | WRITES
# In CI one of each kind, and those that are compared.
MEASURED = choose(
    short={"limit-10", "rare", "wide", "get-provider", "put-traits", "reshaper"}, long=ALL
)


def benchmark(folder: Path, *arguments: str) -> tuple[str, Any]:
    """Run the benchmark; what it printed and what it saved."""
    path = folder / "results.json"
    short = ("--quick", "--seconds", "0.3", "--give-up", "5")
    command = [sys.executable, "-m", "benchmarks", *short, "--json", str(path), *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, msgspec.json.decode(path.read_bytes())


def failures(timings: dict[str, Any]) -> dict[str, str]:
    """The reasons for missing numbers, by case."""
    return {key: timing["failure"] for key, timing in timings.items() if timing.get("failure")}


class TestOneDataset:
    def test_both_services_have_every_row_and_find_the_same(self, tmp_path: Path) -> None:
        chosen = [word for name in sorted(MEASURED) for word in ("--requests", name)]
        # Without a choice everything is measured, also what several clients do at once.
        options = () if MEASURED == ALL else (*chosen, "--requests", "place")
        printed, saved = benchmark(tmp_path, "--world", "flat-50", "--database", "sqlite", *options)
        [dataset] = saved["worlds"]
        assert set(dataset["timings"]) == {"reference", "roost"}
        for service, timings in dataset["timings"].items():
            assert set(timings) == MEASURED
            assert service in dataset["placing"]
        # Cases that the reference cannot do (eight devices by eight groups, and sometimes writes by
        # several processes to one SQLite file) have a row as well.
        assert failures(dataset["timings"]["roost"]) == {}
        assert "wide" in failures(dataset["timings"]["reference"])
        # Cases that differ only in their limit are compared together.
        assert {one["key"]: one["same"] for one in dataset["comparisons"]} == dict.fromkeys(
            ("limit-10", "rare", "wide"), True
        )
        for title in ("VCPU+MEMORY+DISK, limit=10", "POST /reshaper of one tree", "ten clients"):
            assert title in printed


@pytest.mark.long
class TestGrowth:
    def test_has_a_point_for_each_size(self, tmp_path: Path) -> None:
        sizes = ("--growth", "--hosts", "5", "--hosts", "20")
        chosen = ("--world", "flat-5", "--database", "sqlite", "--requests", "get-provider")
        _, saved = benchmark(tmp_path, *chosen, "--only", "roost", *sizes)
        assert [point["hosts"] for point in saved["growth"]] == [5, 20]
        assert all(point["memory_resident"] > 0 for point in saved["growth"])


@pytest.mark.long
class TestContention:
    def test_has_a_point_for_each_number_of_clients(self, tmp_path: Path) -> None:
        printed, saved = benchmark(tmp_path, "--no-worlds", "--no-growth", "--database", "sqlite")
        [crowd] = saved["crowds"]
        for service in ("reference", "roost"):
            points = {(point["case"], point["clients"]) for point in crowd["points"][service]}
            assert points == {(case, n) for case in ("hot", "spread") for n in CLIENTS}
        ours = crowd["points"]["roost"]
        assert all(point["claims"] > 0 and not point["failures"] for point in ours)
        assert "as clients are added" in printed


@pytest.mark.long
class TestExtensions:
    def test_has_a_row_for_each_case(self, tmp_path: Path) -> None:
        nothing_else = ("--no-worlds", "--no-growth", "--no-crowd", "--database", "sqlite")
        printed, saved = benchmark(tmp_path, *nothing_else, "--beyond", "--hosts", "100")
        [beyond] = saved["beyond"]
        assert set(beyond["timings"]) == {case.key for case, _ in EXTENSION_CASES}
        assert failures(beyond["timings"]) == {}
        assert "Beyond the API" in printed


@pytest.mark.long
class TestBulkReads:
    def test_both_services_are_read_as_a_whole_and_say_the_same(self, tmp_path: Path) -> None:
        nothing_else = ("--no-worlds", "--no-growth", "--no-crowd", "--database", "sqlite")
        printed, saved = benchmark(tmp_path, *nothing_else, "--bulk", "--hosts", "20")
        [bulk] = saved["bulk_reads"]
        assert bulk["difference"] == ""
        assert bulk["reads"]["providers"]["entries"] == bulk["providers"]
        assert bulk["reads"]["consumers"]["entries"] > 0
        assert bulk["memory_peak"] >= bulk["memory_before"] > 0
        for timings in (bulk["neighbour_alone"], bulk["neighbour_beside"]):
            assert set(timings) <= {"search, limit=10", "claim"}
        assert bulk["neighbour_alone"]["claim"]["count"] > 0
        consumers = bulk["reference"]["GET /allocations/{consumer}"]
        assert consumers["count"] == bulk["reads"]["consumers"]["entries"]
        assert "reference: everything" in printed


@pytest.mark.long
class TestConsole:
    def test_says_how_evenly_the_heat_map_moves(self, tmp_path: Path) -> None:
        chromium.find()
        printed, saved = benchmark(tmp_path, "--console", "--hosts", "200")
        [console] = saved["console"]
        assert console["load_seconds"] > 0
        for frames in console["moves"].values():
            assert 0 < frames["p50_ms"] <= frames["p95_ms"] <= frames["max_ms"]
            assert frames["longest_task_ms"] > 0
        assert "The console, 200 hosts" in printed


@pytest.mark.long
class TestHostile:
    def test_says_what_the_sender_and_the_neighbour_saw(self, tmp_path: Path) -> None:
        path = tmp_path / "hostile.json"
        command = [sys.executable, "-m", "benchmarks.hostile", "--small", "--json", str(path)]
        done = subprocess.run(
            [*command, "--only", "large-groups"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=True,
        )
        [one] = msgspec.json.decode(path.read_bytes())["measurements"]
        assert one["answers"] == {"200": 1}
        assert one["memory_peak"] > 0
        for delays in (one["alone"], one["beside"]):
            assert set(delays) == set(KINDS)
            assert all(delay["served"] > 0 for delay in delays.values())
        assert one["title"] in done.stdout


class TestReport:
    def test_saved_results_are_shown_without_measuring(self, tmp_path: Path) -> None:
        chosen = ("--world", "flat-5", "--database", "sqlite", "--requests", "get-provider")
        benchmark(tmp_path, *chosen, "--only", "roost")
        saved = tmp_path / "results.json"
        kept = saved.rename(tmp_path / "kept.json")
        command = [sys.executable, "-m", "benchmarks", "--report-only", "--with", str(kept)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert "GET one provider" in done.stdout
        assert "Measured in" not in done.stdout
