"""A fork of the preloaded program is what the command is: output, status, variables and signals."""

import os
import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.support.forked_process import ForkedProcess, can_fork, run
from tests.support.roost_server import RoostServer, command

SECONDS_MAX = 30


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["nonsense"], ["tree", "--url", "http://127.0.0.1:9"], ["db", "--help"]],
    ids=" ".join,
)
def test_it_prints_the_same_and_ends_the_same(arguments: list[str]) -> None:
    alone = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    forked = run(*arguments, timeout=SECONDS_MAX)
    assert forked.returncode == alone.returncode
    assert (forked.stdout, forked.stderr) == (alone.stdout, alone.stderr)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/one", "http://127.0.0.1:9/other"])
def test_it_has_variables_of_its_own(url: str) -> None:
    done = run("tree", environment={"ROOST_URL": url}, timeout=SECONDS_MAX)
    assert done.returncode == 1
    assert url in done.stderr


@pytest.mark.parametrize("name", ["PYTHONWARNINGS", "LC_ALL", "PROMETHEUS_MULTIPROC_DIR"])
def test_what_an_interpreter_reads_at_its_start_needs_another_one(name: str) -> None:
    assert can_fork(os.environ)
    assert can_fork({**os.environ, "ROOST_URL": "other"})
    assert not can_fork({**os.environ, name: "other"})


def test_signals_reach_it(tmp_path: Path) -> None:
    for number, status in ((signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)):
        with RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path) as server:
            assert isinstance(server.process, ForkedProcess)
            assert server.process.poll() is None
            assert os.getpgid(server.process.pid) == server.process.pid
            assert httpx.get(server.url).status_code == 200
            with pytest.raises(subprocess.TimeoutExpired):
                server.process.wait(0.1)
            server.process.send_signal(number)
            assert server.process.wait(SECONDS_MAX) == status
            assert server.process.poll() == status
