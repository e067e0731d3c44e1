"""The database itself instead of a service, for `roost agent migrate --offline`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from roost.cli.options import read_settings
from roost.cli.output import BadInput, Failure, one_line
from roost.cli.tables import tables_version
from roost.client import Client, ClientError, direct
from roost.progress import Progress
from roost.settings import SettingsError
from roost.store.connection.shown_url import database_name


@contextmanager
def open_direct(
    database: str | None, config_files: tuple[Path, ...], progress: Progress
) -> Iterator[Client]:
    """A client without a server. Its errors end the command with one line."""
    settings = read_settings(config_files, database)
    progress.stage("connecting to the database")
    if tables_version(settings) is None:
        where = database_name(settings.database_url)
        raise Failure(f"{where} has no tables of roost yet: run `roost db sync`")
    try:
        with direct(database, config_files=config_files, progress=progress) as client:
            # Any request loads the index. This one does so before stages of the command begin.
            client.traits()
            yield client
    except SettingsError as error:
        raise BadInput(one_line(error)) from error
    except ClientError as error:
        raise Failure(one_line(error)) from error
