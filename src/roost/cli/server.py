"""The HTTP server behind `roost serve`."""

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console

from roost.api.access.authentication import is_loopback
from roost.cli.output import BadInput, Failure
from roost.cli.tables import sync_tables
from roost.health.configuration import check_configuration, log_outcomes
from roost.health.outcome import Outcome
from roost.observe import exposition, logs
from roost.server.listening import Address
from roost.server.signals import ending_when_interrupted
from roost.server.supervisor import INTERRUPT_SECONDS_MAX, Supervisor
from roost.server.worker import run_worker
from roost.settings import Settings, SettingsError
from roost.store.connection.shown_url import database_name


def run_server(settings: Settings, *, host: str, port: int, workers: int, threads: int) -> None:
    """Serve until a signal: SIGTERM lets requests in flight finish, Ctrl-C hardly waits."""
    with ending_when_interrupted(INTERRUPT_SECONDS_MAX):
        _refuse_remote_noauth2(host, settings)
        remarks = _check_settings(settings)
        with _refused_address(host, port):
            address = Address(host, port)
        # Here, because otherwise all workers would migrate the tables at once.
        if settings.database.sync_on_startup is not False:
            sync_tables(settings)
        with _refused_address(host, port):
            address.claim()
        _print_banner(host, port, settings)
        try:
            logs.configure(settings)
        except SettingsError as error:
            # The check before has opened no file.
            raise BadInput(str(error)) from error
        log_outcomes(remarks)
        exposition.drop_own_gauges()
    work = functools.partial(run_worker, settings=settings, threads=threads)
    Supervisor(work, address, workers, after_end=exposition.add_up_ended).run()


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


@contextmanager
def _refused_address(host: str, port: int) -> Iterator[None]:
    try:
        yield
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
