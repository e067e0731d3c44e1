"""deploy/roost.logrotate, run by logrotate itself while clients are served: no line is lost."""

import getpass
import grp
import gzip
import os
import shutil
import subprocess
import threading
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.support.database_servers import missing
from tests.support.headers import HEADERS
from tests.support.roost_server import RoostServer

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "roost.logrotate"
FOLDER = "/var/log/roost"
ROTATIONS = 6
CLIENTS = 3


@pytest.fixture
def logrotate(tmp_path: Path) -> list[str]:
    """The command that rotates now, with the documented file for this folder and this user."""
    program = shutil.which("logrotate", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        missing("logrotate", "logrotate")
    assert program is not None
    text = CONFIGURATION.read_text()
    assert text.count(f"{FOLDER}/") == 1
    user, group = getpass.getuser(), grp.getgrgid(os.getgid()).gr_name
    text = text.replace(FOLDER, str(tmp_path / "log")).replace(
        "su roost roost", f"su {user} {group}"
    )
    (tmp_path / "logrotate.conf").write_text(text)
    state = tmp_path / "logrotate.state"
    return [program, "--force", f"--state={state}", str(tmp_path / "logrotate.conf")]


def ask(url: str, name: str, stop: threading.Event, asked: list[str]) -> None:
    """Send requests that can be told apart in the log, until told to stop."""
    with httpx.Client(base_url=url, headers=HEADERS, timeout=30) as http:
        while not stop.is_set():
            path = f"/resource_providers?name={name}-{len(asked)}"
            assert http.get(path).status_code == 200
            asked.append(path)


def lines(folder: Path) -> list[str]:
    """What is in the log and in everything that was rotated away."""
    found: list[str] = []
    for path in folder.iterdir():
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        assert text.endswith("\n")
        found += text.splitlines()
    return found


def test_no_line_is_lost(logrotate: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir(mode=0o750)
    configuration = tmp_path / "placement.conf"
    configuration.write_text(f"[DEFAULT]\nlog_file = {folder / 'roost.log'}\n")
    stop = threading.Event()
    asked: list[list[str]] = [[] for _ in range(CLIENTS)]
    with RoostServer(
        f"sqlite:///{tmp_path / 'roost.db'}",
        tmp_path,
        config_file=configuration,
        arguments=["--workers", "2"],
    ) as server:
        threads = [
            threading.Thread(target=ask, args=[server.url, f"client{number}", stop, paths])
            for number, paths in enumerate(asked)
        ]
        for thread in threads:
            thread.start()
        try:
            for count in range(1, ROTATIONS + 1):
                wait_for_lines(asked)
                subprocess.run(logrotate, check=True)
                # The newest is not compressed, because a process may still write a line to it.
                assert len(list(folder.glob("*.1"))) == 1
                assert len(list(folder.glob("*.gz"))) == count - 1
            wait_for_lines(asked)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    # A line for each answer, and not a second one.
    logged = Counter(line.partition('"GET ')[2].partition('"')[0] for line in lines(folder))
    expected = [path for paths in asked for path in paths]
    assert [path for path in expected if logged[path] != 1] == []
    # What the parent says at the end is in the newest file.
    assert "SIGTERM: stopping" in (folder / "roost.log").read_text()


def wait_for_lines(asked: list[list[str]]) -> None:
    """Wait until each client has had a few more answers."""
    before = [len(paths) for paths in asked]
    pause = threading.Event()
    while any(len(paths) < count + 5 for paths, count in zip(asked, before, strict=True)):
        pause.wait(0.01)
