"""A supervisor with workers that load for a while: python -m tests.support.slow_workers PORT COUNT.

Like `roost serve`, but without a database that would have to be large.
"""

import logging
import socket
import sys
import threading
import time
from multiprocessing.connection import Connection

from roost.cli.progress_view import bar_view
from roost.observe import logs
from roost.progress import LineView, drawn, track
from roost.server import worker
from roost.server.listening import Address
from roost.server.progress_reports import ReportingView
from roost.server.supervisor import Supervisor
from roost.settings import Settings

LOG = logging.getLogger("roost.service.service")

STEPS = 8
STEP_SECONDS = 0.15


def load(listener: socket.socket, connection: Connection) -> None:
    worker.obey(connection, threading.Event())
    with drawn(ReportingView(connection, after_seconds=0.3, every_seconds=0.1)) as progress:
        for _ in track(progress, "reading providers", range(STEPS)):
            time.sleep(STEP_SECONDS)
    LOG.info("index loaded: %d providers", STEPS)
    threading.Event().wait()


def main() -> None:
    # Lines as long as those of the service: they cover a bar that is still there.
    logs.configure(Settings())
    port, workers = map(int, sys.argv[1:])
    address = Address("127.0.0.1", port)
    address.claim()
    Supervisor(load, address, workers, view=bar_view() or LineView(LOG.info)).run()


if __name__ == "__main__":
    main()
