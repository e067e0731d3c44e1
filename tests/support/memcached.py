"""A throw-away memcached."""

import contextlib
import shutil
import socket
import subprocess
import time
from types import TracebackType
from typing import Self

from tests.support.database_servers import missing
from tests.support.service_process import free_port

START_SECONDS_MAX = 20


class Memcached:
    """Listens on a free loopback port until the block ends, and writes no file."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        program = shutil.which("memcached")
        if program is None:
            missing("memcached", "memcached")
        self._process = subprocess.Popen(
            [str(program), "-u", "nobody", "-l", "127.0.0.1", "-p", str(self.port)],
            stdin=subprocess.DEVNULL,
            # A Ctrl-C in the terminal is for pytest, which then stops the server itself.
            start_new_session=True,
        )
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError):
                self.command("version")
                return self
            time.sleep(0.05)
        self.stop()
        raise RuntimeError("memcached did not start")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def command(self, text: str) -> str:
        """The first packet of the answer to a command of memcached's protocol."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(f"{text}\r\n".encode())
            return connection.recv(65536).decode()

    def count_items(self) -> int:
        lines = self.command("stats").splitlines()
        [count] = [line.split()[2] for line in lines if line.startswith("STAT curr_items ")]
        return int(count)
