"""The parent of the worker processes: starts them, replaces those that die, and stops them all.

It has one thread, and waits in one place for signals and for workers that end. So no signal
interrupts it while it holds a lock, and workers can be forked at any time.
"""

import gc
import logging
import multiprocessing
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from roost.progress import View
from roost.server import service_manager
from roost.server.listening import Address
from roost.server.progress_reports import Report, ReportedProgress
from roost.server.signals import STOP_SIGNALS, arriving_signals

LOG = logging.getLogger(__name__)

# How long after SIGTERM a worker may go on to finish its requests.
STOP_SECONDS_MAX = 30
# How long after Ctrl-C. Somebody sits at the terminal and waits.
INTERRUPT_SECONDS_MAX = 0.5

# How long a worker's place stays empty after it died: longer each time, until one lives on.
PAUSE_SECONDS_MIN = 0.1
PAUSE_SECONDS_MAX = 30.0
LIFE_SECONDS_MIN = 10.0

# A fork takes milliseconds, and is safe because this process has one thread. Elsewhere the system's
# own libraries may have threads.
START_METHOD = "fork" if sys.platform == "linux" else "spawn"

STOP = b"stop"

# Runs in a worker, until the service stops. It gets the socket to listen on, and the connection on
# which STOP arrives, and which ends with the parent.
Work = Callable[[socket.socket, Connection], None]


class Supervisor:
    """Keeps a number of workers running until a signal stops the service."""

    def __init__(
        self,
        work: Work,
        address: Address,
        count: int,
        *,
        start_method: str | None = None,
        after_end: Callable[[], None] = lambda: None,
        view: View | None = None,
    ) -> None:
        """`after_end` is called whenever a worker has ended and will be replaced.

        `view` shows the progress that workers report.
        """
        self._context = multiprocessing.get_context(start_method or START_METHOD)
        self._work = work
        self._after_end = after_end
        self._address = address
        self._places = [_Place(number + 1) for number in range(count)]
        self._progress = ReportedProgress(view)
        self._stop_until: float | None = None
        self._interrupted = False

    def run(self) -> None:
        """Return when every worker has ended after one of `STOP_SIGNALS`."""
        # What has been imported stays. The garbage collector would touch all of it in each worker,
        # which shares the memory until then, and in each process that ends, for 0.2 seconds.
        gc.freeze()
        with arriving_signals() as signals:
            signals.setblocking(False)
            _note_signals()
            try:
                self._start_due_workers()
                # Clients that connect from now on wait at most for a worker to accept them.
                service_manager.notify(service_manager.READY)
                while self._stop_until is None or self._alive():
                    self._start_due_workers()
                    wait([signals, *self._sentinels(), *self._talking()], self._seconds_to_wait())
                    self._show_progress()
                    with suppress(BlockingIOError):
                        for number in signals.recv(64):
                            self._stop(signal.Signals(number))
                    self._note_ended_workers()
                    self._kill_late_workers()
            finally:
                self._progress.clear()
                self._kill(self._alive())
                # One more Ctrl-C must not interrupt how this process ends.
                for number in STOP_SIGNALS:
                    signal.signal(number, signal.SIG_IGN)

    # -----------------------------------------------------------------------------------------
    # Starting, and starting again

    def _start_due_workers(self) -> None:
        if self._stop_until is not None:
            return
        for place in self._places:
            if place.process is None and place.start_at <= time.monotonic():
                try:
                    self._start(place)
                except OSError as error:
                    # The system has no memory or no process ids left at the moment.
                    pause = place.pause()
                    LOG.error(
                        "worker %d cannot be started, next try in %.1f s: %s",
                        *(place.number, pause, error.strerror),
                    )

    def _start(self, place: "_Place") -> None:
        with self._address.listen() as listener:
            receiver, sender = self._context.Pipe()
            try:
                with receiver:
                    process = self._start_process(place, listener, receiver, sender)
            except BaseException:
                sender.close()
                raise
        place.occupy(process, sender)
        LOG.info("worker %d started with process id %d", place.number, process.pid)

    def _start_process(
        self, place: "_Place", listener: socket.socket, receiver: Connection, sender: Connection
    ) -> BaseProcess:
        # A connection ends when nobody holds its other end. A fork copies those of all workers.
        senders = [each.sender for each in self._places if each.sender is not None]
        forked = self._context.get_start_method() == "fork"
        inherited = [self._address, sender, *senders] if forked else []
        process: BaseProcess = self._context.Process(  # type: ignore[attr-defined]
            target=_enter_worker,
            args=(self._work, listener, receiver, inherited),
            name=f"worker-{place.number}",
        )
        # Blocked signals stay blocked in the worker: it waits for them in a thread.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        return process

    def _note_ended_workers(self) -> None:
        for place in self._places:
            if place.process is None or place.process.exitcode is None:
                continue
            process_id, code = place.process.pid, place.process.exitcode
            place.leave()
            self._progress.take(place.number, None)
            if self._stop_until is not None:
                continue
            pause = place.pause()
            LOG.error(
                "worker %d with process id %d %s, replaced in %.1f s",
                *(place.number, process_id, _ending(code), pause),
            )
            self._after_end()

    # -----------------------------------------------------------------------------------------
    # Stopping

    def _stop(self, received: signal.Signals) -> None:
        if received not in STOP_SIGNALS:
            return
        now = time.monotonic()
        seconds = INTERRUPT_SECONDS_MAX if received is signal.SIGINT else STOP_SECONDS_MAX
        if received is signal.SIGINT and self._interrupted:
            seconds = 0
        self._interrupted = self._interrupted or received is signal.SIGINT
        self._progress.clear()
        LOG.info("%s: stopping, workers have %g s to finish", received.name, seconds)
        if self._stop_until is None:
            service_manager.notify(service_manager.STOPPING)
            self._address.close()
            for place in self._alive():
                # A worker that has just died has closed its end.
                with suppress(OSError):
                    assert place.sender is not None
                    place.sender.send_bytes(STOP)
        self._stop_until = min(self._stop_until or now + seconds, now + seconds)

    def _kill_late_workers(self) -> None:
        if self._stop_until is not None and time.monotonic() >= self._stop_until:
            late = self._alive()
            for place in late:
                LOG.warning("worker %d did not finish in time and is killed", place.number)
            self._kill(late)

    def _kill(self, places: Sequence["_Place"]) -> None:
        for place in places:
            assert place.process is not None
            place.process.kill()
        for place in places:
            assert place.process is not None
            place.process.join()
            place.leave()

    # -----------------------------------------------------------------------------------------
    # Progress

    def _show_progress(self) -> None:
        for place in self._alive():
            for report in place.reports():
                if self._stop_until is None:
                    self._progress.take(place.number, report)

    def _talking(self) -> list[Connection]:
        return [
            place.sender for place in self._places if place.sender is not None and place.is_talking
        ]

    # -----------------------------------------------------------------------------------------
    # Waiting

    def _alive(self) -> list["_Place"]:
        return [place for place in self._places if place.process is not None]

    def _sentinels(self) -> list[int]:
        return [place.process.sentinel for place in self._places if place.process is not None]

    def _seconds_to_wait(self) -> float | None:
        due = [place.start_at for place in self._places if place.process is None]
        if self._stop_until is not None:
            due = [self._stop_until]
        return max(0.0, min(due) - time.monotonic()) if due else None


class _Place:
    """Where one worker runs after the other."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.process: BaseProcess | None = None
        self.sender: Connection | None = None
        self.is_talking = False  # whether the worker has the other end open
        self.start_at = 0.0
        self._started_at = 0.0
        self._pause_seconds = PAUSE_SECONDS_MIN

    def occupy(self, process: BaseProcess, sender: Connection) -> None:
        self.process, self.sender = process, sender
        self.is_talking = True
        self._started_at = time.monotonic()

    def reports(self) -> Iterator[Report | None]:
        """What the worker has sent."""
        assert self.sender is not None
        try:
            while self.is_talking and self.sender.poll():
                yield self.sender.recv()
        except (EOFError, OSError):
            # It is about to end.
            self.is_talking = False

    def leave(self) -> None:
        assert self.process is not None
        assert self.sender is not None
        self.sender.close()
        self.process.close()
        self.process = self.sender = None

    def pause(self) -> float:
        """Stay empty for a while; returns for how many seconds."""
        now = time.monotonic()
        if now - self._started_at >= LIFE_SECONDS_MIN:
            self._pause_seconds = PAUSE_SECONDS_MIN
        pause = self._pause_seconds
        self.start_at = now + pause
        self._pause_seconds = min(2 * pause, PAUSE_SECONDS_MAX)
        return pause


def _note_signals() -> None:
    """Install handlers that do nothing, so that numbers arrive and nothing is interrupted."""
    for number in STOP_SIGNALS:
        # nohup ignores SIGHUP, and means it. Scripts ignore SIGINT for what they run in the
        # background, and whoever sends it to the service means it.
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def _enter_worker(
    work: Work,
    listener: socket.socket,
    receiver: Connection,
    inherited: Sequence[Address | Connection],
) -> None:
    signal.set_wakeup_fd(-1)
    # Starting a process other than by a fork may have unblocked them.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    for each in inherited:
        each.close()
    work(listener, receiver)


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
