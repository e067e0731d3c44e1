"""The HTTP server behind `roost serve`."""

import _thread
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
from roost.assembly import LazyApplication, build_application
from roost.cli.output import BadInput, Failure
from roost.cli.tables import sync_tables
from roost.health.configuration import check_configuration, log_outcomes
from roost.health.outcome import Outcome
from roost.observe import exposition, logs
from roost.server.connections import CONNECTIONS_MAX, allow_open_files
from roost.server.front import Front, make_front
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
        interface=Interfaces.ASGINL,
        workers=workers,
        backpressure=CONNECTIONS_MAX,
        websockets=False,
        workers_kill_timeout=STOP_SECONDS_MAX,
        respawn_failed_workers=True,
        log_level=LogLevels.error,
    )
    server.serve(target_loader=functools.partial(load_worker, settings, threads), wrap_loader=False)


def load_worker(settings: Settings, threads: int) -> Front:
    """What each worker process serves. It inherits no connection: the parent has none open."""
    logs.configure(settings)
    allow_open_files()
    stopping = stopping_event()
    application = LazyApplication(
        functools.partial(build_application, settings=settings, sync=False, stopping=stopping)
    )
    return make_front(application, settings, threads=threads, stopping=stopping)


def stopping_event() -> threading.Event:
    """An event that the first SIGTERM sets. Must be called in the main thread, before others start.

    The HTTP server installs its own handler for the signal, which replaces all others. So the
    signal is blocked, a thread waits for it, and then runs that handler.
    """
    stopping = threading.Event()
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)

    def wait_for_signal() -> None:
        while signal.sigwait(_STOP_SIGNALS) is not signal.SIGTERM:
            # Ctrl-C in a terminal reaches the workers as well as the parent, which then stops them
            # with SIGTERM.
            pass
        stopping.set()
        _thread.interrupt_main(signal.SIGTERM)

    threading.Thread(target=wait_for_signal, name="stopping", daemon=True).start()
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
