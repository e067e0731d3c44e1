"""The HTTP server behind `roost serve`."""

import functools
import signal
import socket
import threading
from collections.abc import Sequence

from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import Server
from rich.console import Console

from roost.api.access.authentication import is_loopback
from roost.api.http.messages import Application
from roost.assembly import LazyApplication, build_application
from roost.cli.output import BadInput, Failure
from roost.cli.tables import sync_tables
from roost.health.configuration import check_configuration, log_outcomes
from roost.health.outcome import Outcome
from roost.observe import exposition, logs
from roost.settings import Settings, SettingsError
from roost.store.connection.shown_url import database_name

# How long after SIGTERM a worker may go on to finish its requests.
STOP_SECONDS_MAX = 30

_STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})


def run_server(settings: Settings, *, host: str, port: int, workers: int, threads: int) -> None:
    """Serve until SIGTERM or Ctrl-C, then finish the requests that are in flight."""
    _refuse_remote_noauth2(host, settings)
    remarks = _check_settings(settings)
    _refuse_taken_port(host, port)
    # Here, because otherwise all workers would migrate the tables at once.
    if settings.database.sync_on_startup is not False:
        sync_tables(settings)
    _print_banner(host, port, settings)
    try:
        logs.configure(settings)
    except SettingsError as error:
        # The check before has opened no file.
        raise BadInput(str(error)) from error
    log_outcomes(remarks)
    exposition.drop_own_gauges()
    server = Server(
        "roost.wsgi:application",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=workers,
        blocking_threads=threads,
        websockets=False,
        workers_kill_timeout=STOP_SECONDS_MAX,
        respawn_failed_workers=True,
        log_level=LogLevels.error,
    )
    server.serve(target_loader=functools.partial(load_worker, settings), wrap_loader=False)


def load_worker(settings: Settings) -> Application:
    """What each worker process serves. It inherits no connection: the parent has none open."""
    # Ctrl-C in a terminal reaches the workers as well as the parent, which then stops them with
    # SIGTERM. A worker of granian that gets both may hang until it is killed.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    logs.configure(settings)
    stopping = stopping_event()
    return LazyApplication(
        functools.partial(build_application, settings=settings, sync=False, stopping=stopping)
    )


def stopping_event() -> threading.Event:
    """An event that the first SIGTERM or SIGINT sets. Must be called in the main thread.

    The HTTP server installs its own handlers for these signals, which replace all others. But
    Python also writes the number of each handled signal to the wakeup socket, if there is one.
    """
    stopping = threading.Event()
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)

    def wait_for_signals() -> None:
        # Runs as long as the process: the sockets must stay open for later signals.
        with reader, writer:
            while numbers := reader.recv(64):
                if _STOP_SIGNALS.intersection(numbers):
                    stopping.set()

    threading.Thread(target=wait_for_signals, name="stopping", daemon=True).start()
    return stopping


# ---------------------------------------------------------------------------------------------
# Before it starts


def _refuse_remote_noauth2(host: str, settings: Settings) -> None:
    loopback_only = settings.auth_strategy == "noauth2" and not settings.allow_remote_noauth2
    if loopback_only and not is_loopback(host):
        raise BadInput(
            f"noauth2 accepts every token, so it listens on this machine only and not on "
            f"{host}; [roost]allow_remote_noauth2 allows it"
        )


def _check_settings(settings: Settings) -> Sequence[Outcome]:
    """Refuse settings that would make every worker fail, before anything starts."""
    try:
        return check_configuration(settings)
    except SettingsError as error:
        raise BadInput(str(error)) from error


def _refuse_taken_port(host: str, port: int) -> None:
    # The server would share the port with another server of the same user, and each would get some
    # of the requests.
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise Failure(f"cannot listen on {_address(host, port)}: {error.strerror}") from error


def _print_banner(host: str, port: int, settings: Settings) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"[bold]roost[/bold] listens on [bold]http://{_address(host, port)}[/bold]")
    console.print(f"  database        {database_name(settings.database_url)}", markup=False)
    if is_loopback(host):
        console.print("  network         this machine only (loopback)")
    if settings.auth_strategy == "noauth2":
        console.print("  authentication  none: noauth2 accepts every token (development)")
        if not is_loopback(host):
            console.print(
                "  [bold red]Everybody who reaches this address can change everything.[/bold red]"
            )


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
