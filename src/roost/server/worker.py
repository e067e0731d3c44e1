"""A worker process: one server on a socket of its own."""

import ctypes
import functools
import os
import signal
import socket
import sys
import threading
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from typing import NamedTuple

from roost.assembly import LazyApplication, build_application
from roost.observe import logs
from roost.progress import Progress, drawn
from roost.server.connections import allow_open_files, connections_max
from roost.server.front import Front
from roost.server.http.server import HttpServer
from roost.server.progress_reports import ReportingView
from roost.server.shared_connections import SharedConnections
from roost.server.signals import STOP_SIGNALS
from roost.service.service import ShowProgress
from roost.settings import Settings
from roost.store.feed.shared_positions import SharedPositions

# How long a worker that ends waits for the database, which may be gone.
LEAVE_SECONDS_MAX = 0.3

# See prctl(2).
_PR_SET_PDEATHSIG = 1
# See mallopt(3): how much that is free stays with the process, how large a block is that is always
# returned, and how many heaps threads have.
_M_TRIM_THRESHOLD, _TRIM_BYTES = -1, 16 * 1024 * 1024
_M_MMAP_THRESHOLD, _MMAP_BYTES = -3, 8 * 1024 * 1024
_M_ARENA_MAX, _ARENAS = -8, 2


class Cadence(NamedTuple):
    """When progress is shown first, and how often then."""

    after_seconds: float
    every_seconds: float


def run_worker(
    listener: socket.socket,
    connection: Connection,
    *,
    settings: Settings,
    threads: int,
    cadence: Cadence,
    shared: SharedPositions | None = None,
    shared_connections: SharedConnections | None = None,
) -> None:
    """Serve the API until the parent says so on the connection, or dies."""
    stopping = threading.Event()
    obey(connection, stopping)
    allow_open_files()
    keep_free_memory()

    def show_progress() -> AbstractContextManager[Progress]:
        return drawn(ReportingView(connection, **cadence._asdict()))

    front = load_worker(settings, threads, stopping, show_progress, shared)
    sharing = None if shared_connections is None else shared_connections.join()
    server = HttpServer(front, listener, connections_max=connections_max(), sharing=sharing)
    server.run(stopping)
    if shared is not None:
        _leave(shared)


def _leave(shared: SharedPositions) -> None:
    """Say that this process writes no more; without that the next one finds out by itself."""
    thread = threading.Thread(target=shared.leave, name="leave", daemon=True)
    thread.start()
    thread.join(LEAVE_SECONDS_MAX)


def load_worker(
    settings: Settings,
    threads: int,
    stopping: threading.Event,
    show_progress: ShowProgress,
    shared: SharedPositions | None,
) -> Front:
    """What each worker process serves. It inherits no connection: the parent has none open."""
    logs.configure(settings)
    application = LazyApplication(
        functools.partial(
            build_application,
            settings=settings,
            sync=False,
            stopping=stopping,
            show_progress=show_progress,
            load_at_start=True,
            shared=shared,
        )
    )
    threading.Thread(target=application.build_now, name="build", daemon=True).start()
    return Front(application, settings, threads=threads, stopping=stopping)


# ---------------------------------------------------------------------------------------------
# Stopping


def obey(connection: Connection, stopping: threading.Event) -> None:
    """Set `stopping` when the parent says so or on SIGTERM, and end at once when it is dead.

    `STOP_SIGNALS` must be blocked. Ctrl-C in a terminal reaches workers, too, but it is the parent
    that decides.
    """
    _die_with_parent()

    def wait_for_parent() -> None:
        # It may still die after it has said so.
        while True:
            try:
                connection.recv_bytes()
            except (EOFError, OSError):
                os._exit(1)
            stopping.set()

    def wait_for_signals() -> None:
        while signal.sigwait(STOP_SIGNALS) is not signal.SIGTERM:
            pass
        stopping.set()

    for wait in (wait_for_parent, wait_for_signals):
        threading.Thread(target=wait, name=wait.__name__, daemon=True).start()


def _die_with_parent() -> None:
    """Let the kernel kill this process when its parent dies, even if it hangs or is stopped.

    Only Linux does. Elsewhere, and if the parent is dead already, the connection ends.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


# ---------------------------------------------------------------------------------------------
# Memory


def keep_free_memory() -> None:
    """Use the memory of one answer for the next.

    glibc returns it to the system when an answer of a megabyte has been sent. To get it back page
    by page takes longer than to write the answer. What is kept is kept in each heap, and threads
    that take turns at the interpreter need few heaps. Other C libraries have no such function.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_ARENA_MAX, _ARENAS)
        set_option(_M_MMAP_THRESHOLD, _MMAP_BYTES)
        set_option(_M_TRIM_THRESHOLD, _TRIM_BYTES)
