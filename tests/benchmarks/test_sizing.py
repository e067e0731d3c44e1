"""The measurement of sizes on a tiny cloud, and the page that shows those of large ones."""

from pathlib import Path

import msgspec
from click.testing import CliRunner

from benchmarks.sizing import SIZES, main
from benchmarks.sizing_page import PAGE, tables
from benchmarks.sizing_results import Sizes


def test_a_tiny_cloud_is_measured(tmp_path: Path) -> None:
    output = tmp_path / "sizes.json"
    arguments = ["--hosts", "20", "--database", "sqlite", "--seconds", "0.3", "--json", str(output)]
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    found = msgspec.json.decode(output.read_bytes(), type=Sizes)
    [size] = found.sizes
    assert (size.hosts, size.database) == (20, "SQLite")
    assert size.highest_bytes >= size.started_bytes > 50e6
    assert size.disk_bytes > 0
    assert size.search.roost_ms > 0
    assert size.claim.roost_ms > 0
    assert "| 20 | 167 | 1,869 | SQLite |" in tables(found)


def test_the_page_has_every_size() -> None:
    text = PAGE.read_text()
    for hosts in SIZES:
        for database in ("PostgreSQL", "MariaDB"):
            assert text.count(f"| {hosts:,} |") >= 2
            assert f"| {database} |" in text
