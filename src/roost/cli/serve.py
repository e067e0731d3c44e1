"""`roost serve`: the API over HTTP."""

import gc
from pathlib import Path

import click

from roost.cli.options import config_file_option, database_option, read_settings
from roost.observe import metrics_files


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    default=8778,
    show_default=True,
    type=click.IntRange(1, 65535),
    help="The port to listen on.",
)
@database_option
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="The number of processes that answer requests.",
)
@click.option(
    "--threads",
    default=4,
    show_default=True,
    type=click.IntRange(1),
    help="The number of requests that each process handles at once. Two keep a processor busy; "
    "with more, requests that wait for the database do not hold up the others.",
)
@click.option(
    "--auth",
    type=click.Choice(["keystone", "noauth2"]),
    help="How tokens are checked; noauth2 accepts every token. "
    "Default: the configured strategy; noauth2 if there is no configuration.",
)
@click.option(
    "--allow-remote-noauth2",
    is_flag=True,
    help="Let noauth2 listen on other addresses than loopback. Everybody who reaches them can "
    "then change everything.",
)
@click.option("--prefix", help="Serve the API below this path, such as /placement.")
@click.option(
    "--console/--no-console",
    default=None,
    help="Serve pages for browsers at /console, or not. Default: as configured; if nothing says, "
    "only with the embedded database.",
)
@config_file_option
def serve(
    host: str,
    port: int,
    database: str | None,
    workers: int,
    threads: int,
    auth: str | None,
    allow_remote_noauth2: bool,
    prefix: str | None,
    console: bool | None,
    config_files: tuple[Path, ...],
) -> None:
    """Serve the API over HTTP until SIGTERM or Ctrl-C.

    After SIGTERM, requests in flight have up to 30 seconds to finish; Ctrl-C hardly waits. Worker
    processes that die are replaced.

    Without configuration it listens on the loopback address only, uses an embedded SQLite database,
    does not authenticate, and has a console for browsers. It first creates or migrates the tables,
    unless [placement_database]sync_on_startup is false.

    Exit code 0: stopped by a signal; 1: it could not start, as when the port is taken or the
    database cannot be used; 2: wrong usage or settings.

    \b
    Examples:
      roost serve
      roost serve --host 0.0.0.0 --workers 4 --config-file placement.conf
    """
    settings = read_settings(
        config_files,
        database,
        {
            ("api", "auth_strategy"): auth,
            ("roost", "allow_remote_noauth2"): allow_remote_noauth2 or None,
            ("roost", "url_prefix"): prefix,
            ("roost", "console"): console,
        },
    )
    with metrics_files.shared_folder(workers):
        # What is imported stays, so there is no garbage to look for: a tenth of the start.
        gc.disable()
        # Imported only now: metrics choose their files when they are imported.
        from roost.cli.server import run_server

        gc.enable()
        run_server(settings, host=host, port=port, workers=workers, threads=threads)
