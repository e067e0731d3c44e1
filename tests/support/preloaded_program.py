"""The `roost` command, in forks of one process that has imported it already.

A page has many commands, and importing the program takes longer than what most of them do. So
`PreloadedProgram` puts a small `roost` into a folder. It hands its arguments, its folder, its
variables and its files to the process, which forks a child for them, and exits with the status of
that child. What a command prints goes straight to its terminal. A command that stays needs the keys
of the terminal as well, so it runs in a process of its own.
"""

import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

from tests.support.service_process import ServiceProcess

_LENGTH = 4  # the bytes of the length of a request
_FILES = 3  # stdin, stdout, stderr

# Without the site's packages it starts in 20 ms.
_COMMAND = """\
#!{python} -SE
import json, os, socket, sys
arguments = sys.argv[1:]
if {{"serve", "--follow", "--watch"}} & {{*arguments}}:
    os.execv({python!r}, [{python!r}, "-m", "roost", *arguments])
request = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [len(request).to_bytes({length})], [*range({files})])
    server.sendall(request)
    sys.exit(int(server.recv(16) or b"1"))
"""


class PreloadedProgram(ServiceProcess):
    """`bin` is the folder with the command."""

    def __init__(self, folder: Path) -> None:
        address = folder / "socket"
        self.bin = folder / "bin"
        self.bin.mkdir()
        command = self.bin / "roost"
        command.write_text(
            _COMMAND.format(
                python=sys.executable, address=str(address), length=_LENGTH, files=_FILES
            )
        )
        command.chmod(0o755)
        super().__init__(
            [sys.executable, "-m", "tests.support.preloaded_program", str(address)],
            environment=os.environ,
            output_path=folder / "preloaded.log",
            is_ready=address.exists,
        )


def serve(address: str) -> NoReturn:
    _import_the_program()
    # Nobody waits for the children.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        while True:
            connection, _ = server.accept()
            with connection:
                if os.fork() == 0:
                    server.close()
                    _run(connection)


def _import_the_program() -> None:
    """With what its commands import later, such as the client."""
    for name in ("roost.cli", "roost.client"):
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)
    importlib.import_module("httpcore")


def _run(connection: socket.socket) -> NoReturn:
    """In a child: become the command, tell its status, and end."""
    from roost.cli.main import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, files, _, _ = socket.recv_fds(connection, _LENGTH, _FILES)
    with connection.makefile("rb") as request:
        arguments, folder, variables = json.loads(request.read(int.from_bytes(length)))
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = ["roost", *arguments]
    # Those of this process know nothing of the terminal.
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", 1)
    status = 0
    try:
        main()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(str(status).encode())
        os._exit(status)


if __name__ == "__main__":
    serve(sys.argv[1])
