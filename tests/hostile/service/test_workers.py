"""Workers that die are replaced, and none outlives its parent."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import httpx
import pytest

from roost.server import supervisor
from roost.server.listening import Address
from tests.hostile.service.small_service import OUT_OF_MEMORY
from tests.support.database_servers import free_port
from tests.support.forked_process import start_service
from tests.support.roost_server import RoostServer, command
from tests.support.service_process import Process, ServiceProcess

MODULE = "tests.hostile.service.small_service"
SECONDS_MAX = 30
# How soon a worker follows its parent.
ORPHAN_SECONDS_MAX = 2.0


class SmallService(ServiceProcess):
    def __init__(self, folder: Path, workers: int, start_method: str, *more: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._arguments = [str(self.port), str(workers), start_method, *more]
        # The interpreter is started anew for those workers, with the same command line.
        self._is_forked = start_method == "fork"
        super().__init__(
            [sys.executable, "-m", MODULE, *self._arguments],
            environment=os.environ,
            output_path=folder / "small.log",
            is_ready=lambda: httpx.get(self.url).status_code == 200,
        )

    def _start(self, output: BinaryIO) -> Process:
        if not self._is_forked:
            return super()._start(output)
        return start_service(
            self._arguments, environment=self._environment, output=output, module=MODULE
        )


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallService]:
    with SmallService(tmp_path, 1, "fork") as service:
        yield service


def started(output: str) -> list[int]:
    """The process ids of all workers so far."""
    return [int(each) for each in re.findall(r"started with process id (\d+)", output)]


def eventually(condition: Callable[[], bool], seconds: float = SECONDS_MAX) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def is_gone(process_id: int) -> bool:
    # A process that has ended is there until its parent, or init, has asked for its status. It
    # listens until the last of its threads has ended.
    process = Path(f"/proc/{process_id}")
    try:
        state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        return state == "Z" and len(list((process / "task").iterdir())) == 1
    except (FileNotFoundError, ProcessLookupError):
        return True


def in_background(url: str) -> threading.Thread:
    """Send a request whose answer does not matter."""

    def send() -> None:
        with contextlib.suppress(httpx.TransportError):
            httpx.get(url, timeout=SECONDS_MAX)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


class TestReplacement:
    def test_siblings_serve_on_and_the_log_file_says_what_happened(self, tmp_path: Path) -> None:
        log = tmp_path / "roost.log"
        environment = {"OS_DEFAULT__LOG_FILE": str(log)}
        with RoostServer(
            f"sqlite:///{tmp_path}/roost.db",
            tmp_path,
            arguments=["--workers", "2"],
            environment=environment,
        ) as server:
            victims = []
            for count in range(3, 7):
                victims.append(started(log.read_text())[-1])
                os.kill(victims[-1], signal.SIGKILL)
                eventually(lambda: is_gone(victims[-1]))
                # Whether or not it has been replaced yet.
                for _ in range(5):
                    answer = httpx.get(f"{server.url}/livez", timeout=SECONDS_MAX)
                    assert answer.status_code == 200
                eventually(lambda count=count: len(started(log.read_text())) == count)
            lines = log.read_text()
            assert server.process.poll() is None
        pauses = re.findall(
            r"ERROR roost.server.supervisor \[-\] worker \d with process id (\d+) "
            r"was killed by SIGKILL, replaced in ([\d.]+) s\n",
            lines,
        )
        assert [int(process_id) for process_id, _ in pauses] == victims
        # Of the two places, one was hit more often.
        assert max(float(pause) for _, pause in pauses) >= 0.2
        assert "SIGTERM: stopping" in log.read_text()

    def test_one_that_dies_with_each_request_is_replaced_each_time(
        self, small: SmallService
    ) -> None:
        for count in range(1, 5):
            eventually(lambda count=count: len(started(small.output)) == count)
            with pytest.raises(httpx.TransportError):
                httpx.get(f"{small.url}/die", timeout=SECONDS_MAX)
            eventually(lambda count=count: small.output.count("replaced in") == count)
        ends = re.findall(r"exit status (\d+), replaced in ([\d.]+) s", small.output)
        assert ends == [(str(OUT_OF_MEMORY), pause) for pause in ("0.1", "0.2", "0.4", "0.8")]
        assert small.process.poll() is None

    def test_sigterm_to_a_worker_alone_replaces_it(self, small: SmallService) -> None:
        os.kill(started(small.output)[0], signal.SIGTERM)
        eventually(lambda: "ended with exit status 0, replaced" in small.output)
        eventually(lambda: len(started(small.output)) == 2)

    def test_pauses_grow_to_a_limit_and_start_again_after_a_long_life(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = supervisor._Place(1)
        place._started_at = time.monotonic()
        pauses = [place.pause() for _ in range(11)]
        assert pauses[:3] == [0.1, 0.2, 0.4]
        assert pauses[-2:] == [supervisor.PAUSE_SECONDS_MAX] * 2
        monkeypatch.setattr(supervisor, "LIFE_SECONDS_MIN", 0.0)
        assert place.pause() == supervisor.PAUSE_SECONDS_MIN


class TestStopping:
    @pytest.mark.parametrize(
        ("path", "start_method"), [("/slow", "fork"), ("/loop/slow", "fork"), ("/slow", "spawn")]
    )
    def test_sigterm_lets_a_request_finish(
        self, tmp_path: Path, path: str, start_method: str
    ) -> None:
        """In a thread of the server, and on its event loop."""
        answers: list[httpx.Response] = []
        with SmallService(tmp_path, 1, start_method) as small:
            thread = threading.Thread(
                target=lambda: answers.append(httpx.get(f"{small.url}{path}", timeout=SECONDS_MAX))
            )
            thread.start()
            time.sleep(0.3)
            small.process.send_signal(signal.SIGTERM)
            assert small.process.wait(SECONDS_MAX) == 0
            thread.join()
        assert [each.status_code for each in answers] == [200]

    def test_streams_end_when_the_service_stops(self, tmp_path: Path) -> None:
        with (
            SmallService(tmp_path, 2, "fork") as small,
            httpx.stream("GET", f"{small.url}/loop/stream") as stream,
        ):
            lines = stream.iter_lines()
            assert next(lines) == "more"
            small.process.send_signal(signal.SIGTERM)
            assert list(lines)[-1] == "end"
            assert small.process.wait(SECONDS_MAX) == 0

    @pytest.mark.parametrize("path", ["/hang", "/loop/hang", "/loop/spin"])
    def test_nothing_holds_up_an_interrupt(self, tmp_path: Path, path: str) -> None:
        """Not even an event loop that spins."""
        with SmallService(tmp_path, 2, "fork") as small:
            thread = in_background(small.url + path)
            time.sleep(0.3)
            begun = time.monotonic()
            small.process.send_signal(signal.SIGINT)
            assert small.process.wait(SECONDS_MAX) == 0
            assert time.monotonic() - begun < 2
            thread.join()
            assert "did not finish in time and is killed" in small.output


class TestKilledParent:
    @pytest.mark.parametrize("more", [(), ("LIKE_ELSEWHERE",)], ids=["linux", "elsewhere"])
    def test_its_workers_follow(self, tmp_path: Path, more: tuple[str, ...]) -> None:
        with SmallService(tmp_path, 3, "fork", *more) as small:
            workers = started(small.output)
            thread = in_background(f"{small.url}/hang")
            time.sleep(0.2)
            small.process.kill()
            eventually(lambda: all(map(is_gone, workers)), ORPHAN_SECONDS_MAX)
            thread.join()
            eventually(lambda: can_listen(small.port), ORPHAN_SECONDS_MAX)

    def test_even_one_that_is_stopped(self, tmp_path: Path) -> None:
        with SmallService(tmp_path, 1, "fork") as small:
            [worker] = started(small.output)
            os.kill(worker, signal.SIGSTOP)
            small.process.kill()
            eventually(lambda: is_gone(worker), ORPHAN_SECONDS_MAX)

    def test_even_those_that_have_just_been_started(self, tmp_path: Path) -> None:
        """One that is killed with them cannot be told from one that was never started."""
        service = SmallService(tmp_path, 4, "fork")
        service._is_ready = lambda: len(started(service.output)) >= 1
        with service:
            service.process.kill()
            service.process.wait()
            eventually(
                lambda: all(map(is_gone, started(service.output))) and not is_used(service.port),
                ORPHAN_SECONDS_MAX,
            )


def can_listen(port: int) -> bool:
    try:
        address = Address("127.0.0.1", port)
    except OSError:
        return False
    with contextlib.closing(address):
        address.claim()
    return True


def is_used(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


class TestAddress:
    def test_two_that_start_at_once_do_not_share_it(self) -> None:
        """Both find the port free, until one of them listens."""
        port = free_port()
        first, second = Address("127.0.0.1", port), Address("127.0.0.1", port)
        first.claim()
        with contextlib.closing(first), contextlib.closing(second), first.listen(), first.listen():
            with pytest.raises(OSError, match="in use"):
                second.claim()
            with pytest.raises(OSError, match="in use"):
                Address("127.0.0.1", port)

    def test_it_is_refused_while_no_worker_listens(self) -> None:
        address = Address("127.0.0.1", free_port())
        address.claim()
        listener = address.listen()
        port = listener.getsockname()[1]
        assert is_used(port)
        listener.close()
        assert not is_used(port)
        assert not can_listen(port)
        with address.listen():
            assert is_used(port)
        address.close()
        assert can_listen(port)

    @pytest.mark.parametrize(
        ("host", "reason"),
        [("192.0.2.1", "Cannot assign requested address"), ("no-such-host.invalid", "")],
    )
    def test_one_that_cannot_be_bound_is_one_line(
        self, tmp_path: Path, host: str, reason: str
    ) -> None:
        done = subprocess.run(
            command(
                "serve",
                *("--host", host, "--allow-remote-noauth2"),
                *("--database", f"sqlite:///{tmp_path}/roost.db"),
            ),
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        assert done.returncode == 1
        [line] = done.stderr.splitlines()
        assert line.startswith(f"roost: cannot listen on {host}:8778: {reason}")

    def test_one_that_is_taken_is_one_line_that_says_what_to_do(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            database = f"sqlite:///{tmp_path}/roost.db"
            done = subprocess.run(
                command("serve", "--port", str(port), "--database", database),
                capture_output=True,
                text=True,
                timeout=SECONDS_MAX,
                check=False,
            )
        assert done.returncode == 1
        assert done.stderr.splitlines() == [
            f"roost: cannot listen on 127.0.0.1:{port}: Address already in use; "
            "choose another port with --port"
        ]
