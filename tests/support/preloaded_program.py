"""The `roost` command, in forks of one process that has imported it already.

Importing the program takes longer than what most commands do, and longer than most tests of a
service. So one process imports it, and forks a child for each request: its arguments, its folder,
its variables and its files. The child is the command. The process answers with the id of the child,
and with its status when it ends.

`PreloadedProgram` puts a small `roost` into a folder, for shells. It hands over what it was called
with, and exits with the status of the child. What a command prints goes straight to its terminal. A
command that stays needs the keys of the terminal as well, so it runs in a process of its own.
`forked_process` is for tests, which need more of a process than its status. They may also name
another module than that of the command; the child then runs its function `main`.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import selectors
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

import httpx

from tests.support import certificate_authorities
from tests.support.service_process import ServiceProcess

LENGTH = 4  # the bytes of the length of a request
FILES = 3  # stdin, stdout, stderr
ANSWER = 16  # the bytes of an answer: a number, and spaces
PROGRAM = "roost.cli.main"  # the module of the command

# See prctl(2).
_PR_SET_PDEATHSIG = 1

# Without the site's packages it starts in 20 ms.
_COMMAND = """\
#!{python} -SE
import json, os, socket, sys
arguments = sys.argv[1:]
if {{"serve", "--follow", "--watch"}} & {{*arguments}}:
    os.execv({python!r}, [{python!r}, "-m", "roost", *arguments])
request = {{
    "arguments": ["roost", *arguments],
    "folder": os.getcwd(),
    "variables": dict(os.environ),
}}
request = json.dumps(request).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [len(request).to_bytes({length})], [*range({files})])
    server.sendall(request)
    server.recv({answer}, socket.MSG_WAITALL)
    status = int(server.recv({answer}, socket.MSG_WAITALL) or b"1")
    sys.exit(status if status >= 0 else 128 - status)
"""


class PreloadedProgram(ServiceProcess):
    """`bin` is the folder with the command, and `address` the socket that takes requests."""

    def __init__(self, folder: Path) -> None:
        self.address = folder / "socket"
        self.bin = folder / "bin"
        self.bin.mkdir()
        command = self.bin / "roost"
        command.write_text(
            _COMMAND.format(
                python=sys.executable,
                address=str(self.address),
                length=LENGTH,
                files=FILES,
                answer=ANSWER,
            )
        )
        command.chmod(0o755)
        super().__init__(
            [sys.executable, "-m", "tests.support.preloaded_program", str(self.address)],
            environment=os.environ,
            output_path=folder / "preloaded.log",
            is_ready=self.address.exists,
        )


class _Parent:
    """Forks a child for each connection, and tells how it ended."""

    def __init__(self, address: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._connections: dict[int, socket.socket] = {}  # by the child's process id
        self._ended, ended = socket.socketpair()
        self._ended.setblocking(False)
        ended.setblocking(False)
        self._noticing = ended
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(ended.fileno())
        # Under another name first: whoever sees the name may connect.
        self._listener.bind(f"{address}-")
        self._listener.listen()
        os.rename(f"{address}-", address)

    def serve(self) -> NoReturn:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._ended, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._ended:
                        self._note_ended_children()
                        continue
                    connection, _ = self._listener.accept()
                    process_id = os.fork()
                    if process_id == 0:
                        selector.close()
                        self._leave()
                        _run(connection)
                    self._connections[process_id] = connection
                    _answer(connection, process_id)

    def _note_ended_children(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._ended.recv(1024)
        while self._connections:
            process_id, status = os.waitpid(-1, os.WNOHANG)
            if process_id == 0:
                return
            with self._connections.pop(process_id) as connection:
                _answer(connection, os.waitstatus_to_exitcode(status))

    def _leave(self) -> None:
        """In a child: forget what is the parent's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in (self._listener, self._ended, self._noticing, *self._connections.values()):
            each.close()


def _answer(connection: socket.socket, number: int) -> None:
    # Who asked may have been killed in the meantime.
    with contextlib.suppress(OSError):
        connection.sendall(str(number).encode().ljust(ANSWER))


def serve(address: str) -> NoReturn:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _import_the_program()
    # The garbage collector would touch, and so copy, all of it in each child.
    gc.collect()
    gc.freeze()
    _Parent(address).serve()


def _import_the_program() -> None:
    """With what its commands import later, such as the client and the server."""
    for name in ("roost.cli", "roost.client", "roost.server"):
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)
    for name in ("httpcore", "psycopg", "pymysql", "sqlite3"):
        importlib.import_module(name)
    certificate_authorities.read_once()
    # Its context is the one that the clients of commands share.
    httpx.Client().close()


def _run(connection: socket.socket) -> NoReturn:
    """In a child: become the command, and end."""
    length, files, _, _ = socket.recv_fds(connection, LENGTH, FILES)
    with connection, connection.makefile("rb") as stream:
        request = json.loads(stream.read(int.from_bytes(length)))
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    _become(request)
    status = 1
    try:
        importlib.import_module(request.get("module", PROGRAM)).main()
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        traceback.print_exc()
    finally:
        # As the interpreter does.
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(status)


def _become(request: dict[str, Any]) -> None:
    if request.get("new_session"):
        os.setsid()
    for name, limits in request.get("limits", {}).items():
        resource.setrlimit(int(name), tuple(limits))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["variables"])
    sys.argv = request["arguments"]
    # Those of this process know nothing of the terminal.
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", 1)


if __name__ == "__main__":
    serve(sys.argv[1])
