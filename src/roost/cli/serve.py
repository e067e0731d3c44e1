"""`roost serve`: the API over HTTP."""

from pathlib import Path

import click

from roost.cli.options import config_file_option, database_option
from roost.observe import metrics_files


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=8778, show_default=True, type=click.IntRange(1, 65535), help="The port."
)
@database_option
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="How many processes answer requests.",
)
@click.option(
    "--threads",
    default=4,
    show_default=True,
    type=click.IntRange(1),
    help="How many requests each process works on at once. Two keep a processor busy; more keep "
    "requests that wait for the database from holding up the others.",
)
@click.option(
    "--auth",
    type=click.Choice(["keystone", "noauth2"]),
    help="Who checks tokens; noauth2 believes every token. "
    "Default: as configured; noauth2 where nothing is configured.",
)
@click.option(
    "--allow-remote-noauth2",
    is_flag=True,
    help="Let noauth2 listen on other addresses than this machine's own. Everybody who reaches "
    "them can then change everything.",
)
@click.option("--prefix", help="Serve the API below this path, such as /placement.")
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
    config_files: tuple[Path, ...],
) -> None:
    """Serve the API over HTTP.

    Without any configuration: on this machine only, with an embedded database, and without
    authentication. Tables are created or migrated first, unless
    [placement_database]sync_on_startup is false.
    """
    from roost.cli.configuration import read_settings

    settings = read_settings(
        config_files,
        database,
        {
            ("api", "auth_strategy"): auth,
            ("roost", "allow_remote_noauth2"): allow_remote_noauth2 or None,
            ("roost", "url_prefix"): prefix,
        },
    )
    with metrics_files.shared_folder(workers):
        # Only here, since it imports what looks for the folder.
        from roost.cli.server import run_server

        run_server(settings, host=host, port=port, workers=workers, threads=threads)
