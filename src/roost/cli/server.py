"""The HTTP server behind `roost serve`."""

import errno
import functools
import logging
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from roost.api.access.authentication import is_loopback
from roost.cli.options import URL_DEFAULT
from roost.cli.output import BadInput, Failure
from roost.cli.progress_view import bar_view, shown_progress
from roost.cli.tables import sync_tables
from roost.console import paths as console_paths
from roost.health.configuration import check_configuration, log_outcomes
from roost.health.outcome import Outcome
from roost.observe import exposition, logs
from roost.progress import LineView, View
from roost.server.listening import Address
from roost.server.shared_connections import SharedConnections
from roost.server.signals import ending_when_interrupted
from roost.server.supervisor import INTERRUPT_SECONDS_MAX, START_METHOD, Supervisor
from roost.server.worker import Cadence, run_worker
from roost.settings import Settings, SettingsError
from roost.store.connection.shown_url import database_name
from roost.store.feed.shared_positions import SharedPositions

LOG = logging.getLogger(__name__)


def run_server(settings: Settings, *, host: str, port: int, workers: int, threads: int) -> None:
    """Serve until a signal: SIGTERM lets requests in flight finish, Ctrl-C hardly waits."""
    with ending_when_interrupted(INTERRUPT_SECONDS_MAX):
        _refuse_remote_noauth2(host, settings)
        remarks = _check_settings(settings)
        with _refused_address(host, port):
            address = Address(host, port)
        # Here, because otherwise all workers would migrate the tables at once.
        if settings.database.sync_on_startup is not False:
            with shown_progress() as progress:
                sync_tables(settings, progress)
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
    view: View = bar_view() or LineView(LOG.info)
    cadence = Cadence(view.after_seconds, view.every_seconds)
    work = functools.partial(
        run_worker,
        settings=settings,
        threads=threads,
        cadence=cadence,
        # Only a fork shares them.
        shared=SharedPositions(workers) if START_METHOD == "fork" else None,
        shared_connections=(
            SharedConnections(workers) if START_METHOD == "fork" and workers > 1 else None
        ),
    )
    Supervisor(work, address, workers, after_end=exposition.add_up_ended, view=view).run()


# ---------------------------------------------------------------------------------------------
# Before it starts


def _refuse_remote_noauth2(host: str, settings: Settings) -> None:
    loopback_only = settings.auth_strategy == "noauth2" and not settings.allow_remote_noauth2
    if loopback_only and not is_loopback(host):
        raise BadInput(
            f"noauth2 accepts every token, so it listens on this machine only and not on "
            f"{host}; --allow-remote-noauth2 or [roost]allow_remote_noauth2 allows it"
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
        taken = error.errno == errno.EADDRINUSE
        hint = "; choose another port with --port" if taken else ""
        raise Failure(f"cannot listen on {_address(host, port)}: {error.strerror}{hint}") from error


def _print_banner(host: str, port: int, settings: Settings) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"[bold]roost[/bold] listens on [bold]http://{_address(host, port)}[/bold]")
    console.print(f"  database        {database_name(settings.database_url)}", markup=False)
    if is_loopback(host):
        console.print("  network         this machine only (loopback)")
    if settings.auth_strategy == "noauth2":
        console.print("  authentication  none: noauth2 accepts every token (development)")
        if is_loopback(host):
            console.print(f"  try             {_command(host, port)}", markup=False)
        else:
            console.print(
                "  [bold red]Everybody who reaches this address can change everything.[/bold red]"
            )
    if settings.has_console:
        url = f"http://{_address(host, port)}{settings.url_prefix}{console_paths.HOME}"
        console.print(f"  console         {url}", markup=False)
    if settings.has_docs:
        url = f"http://{_address(host, port)}{settings.url_prefix}{console_paths.DOCS}"
        console.print(f"  API             {url}", markup=False)


def _command(host: str, port: int) -> str:
    """A command that talks to this service, as it can be typed in another terminal."""
    program = Path(sys.argv[0]).absolute()
    on_path = shutil.which("roost")
    if program.name != "roost":
        words = [sys.executable, "-m", "roost"]
    elif on_path is not None and program.samefile(on_path):
        words = ["roost"]
    else:
        words = [str(program)]
    url = f"http://{_address(host, port)}"
    return shlex.join([*words, "tree", *(("--url", url) if url != URL_DEFAULT else ())])


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
