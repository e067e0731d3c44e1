"""The HTTP server behind `roost serve`."""

import functools
import socket

from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import Server
from rich.console import Console

from roost.api.access.authentication import is_loopback
from roost.api.http.messages import Application
from roost.api.pipeline import check_pipeline
from roost.assembly import LazyApplication, build_application
from roost.cli.failure import BadInput, Failure
from roost.cli.show import database_shown
from roost.cli.stopping import stopping_event
from roost.cli.tables import sync_tables
from roost.observe import exposition, logs
from roost.settings import Settings, SettingsError

# How long a worker may finish what it has begun, after SIGTERM.
STOP_SECONDS_MAX = 30


def run_server(settings: Settings, *, host: str, port: int, workers: int, threads: int) -> None:
    """Serve until SIGTERM or Ctrl-C, and finish what is in flight then."""
    _refuse_open_door(host, settings)
    _refuse_unusable(settings)
    _refuse_taken_port(host, port)
    # Once, before there are several workers that would all want to.
    if settings.database.sync_on_startup is not False:
        sync_tables(settings)
    _greet(host, port, settings)
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
    """What each worker process serves. The parent has opened nothing that it could inherit."""
    logs.configure(settings)
    stopping = stopping_event()
    return LazyApplication(
        functools.partial(build_application, settings=settings, sync=False, stopping=stopping)
    )


def _refuse_open_door(host: str, settings: Settings) -> None:
    believes = settings.auth_strategy == "noauth2" and not settings.allow_remote_noauth2
    if believes and not is_loopback(host):
        raise BadInput(
            f"noauth2 believes every token, so it listens on this machine alone and not on "
            f"{host}; --allow-remote-noauth2 allows it"
        )


def _refuse_unusable(settings: Settings) -> None:
    """What each worker would stumble over; better said once, and before anything starts."""
    try:
        check_pipeline(settings)
        logs.handler_of(settings).close()
        logs.levels_of(settings)
    except SettingsError as error:
        raise BadInput(str(error)) from error


def _refuse_taken_port(host: str, port: int) -> None:
    # The server would share the port with another one of the same user, and each would get some
    # of the requests.
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise Failure(f"cannot listen on {_address(host, port)}: {error.strerror}") from error


def _greet(host: str, port: int, settings: Settings) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"[bold]roost[/bold] listens on [bold]http://{_address(host, port)}[/bold]")
    console.print(f"  database        {database_shown(settings.database_url)}", markup=False)
    if is_loopback(host):
        console.print("  network         this machine only (loopback)")
    if settings.auth_strategy == "noauth2":
        console.print("  authentication  none: noauth2 believes every token (development)")
        if not is_loopback(host):
            console.print(
                "  [bold red]Everybody who reaches this address can change everything.[/bold red]"
            )


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
